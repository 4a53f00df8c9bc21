package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The checksums are signed by the key that the environment names, as docs/howto/install.md verifies them, and without a key
// not at all.
func TestChecksumsAreSigned(t *testing.T) {
	t.Parallel()
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("SKIPPED, NOT TESTED: there is no ssh-keygen, which signs the checksums of a release")
	}
	r := release{out: t.TempDir()}
	sums := filepath.Join(r.out, sumsName)
	if err := os.WriteFile(sums, []byte("00  fairlead.zip\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.sign(""); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(sums + ".sig"); err == nil {
		t.Fatal("there is a signature without a key")
	}
	if err := r.sign(filepath.Join(r.out, "none")); err == nil {
		t.Error("a key that is not there signs")
	}
	keys := t.TempDir()
	key := filepath.Join(keys, "key")
	if out, err := exec.CommandContext(t.Context(), keygen, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for range 2 { // the second one replaces the first
		if err := r.sign(key); err != nil {
			t.Fatal(err)
		}
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(keys, "signers")
	if err := os.WriteFile(signers, append([]byte("releases@fairlead-go "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := func(text string) error {
		cmd := exec.CommandContext(t.Context(), keygen, "-Y", "verify", "-f", signers, "-I", "releases@fairlead-go", "-n", namespace, "-s", sums+".sig")
		in, err := os.CreateTemp(keys, "sums")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if _, err := in.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = in
		return cmd.Run()
	}
	if err := verify("00  fairlead.zip\n"); err != nil {
		t.Errorf("the signature does not verify: %v", err)
	}
	if verify("01  fairlead.zip\n") == nil {
		t.Error("the signature is one of other checksums too")
	}
}
