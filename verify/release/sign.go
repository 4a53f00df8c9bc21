package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The variable that names the SSH key that signs the checksums, or the public half of one that an agent holds; and what
// keeps a signature from counting for anything else that was signed with the key.
const (
	keyVariable = "FAIRLEAD_RELEASE_KEY"
	namespace   = "fairlead-release"
)

// sign writes the signature of the checksums beside them. Without a key it writes none, and reports that.
func (r release) sign(key string) error {
	sums := filepath.Join(r.out, sumsName)
	if key == "" {
		fmt.Fprintf(os.Stderr, "release: %s is not signed; %s names the SSH key that signs it\n", sumsName, keyVariable)
		return nil
	}
	cmd := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key, sums)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr
	if err := os.Remove(sums + ".sig"); err != nil && !os.IsNotExist(err) { // it would ask whether to replace it
		return err
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s is not signed by the key that %s names: %w", sumsName, keyVariable, err)
	}
	return nil
}
