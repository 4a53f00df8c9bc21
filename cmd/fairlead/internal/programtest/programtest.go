// Package programtest builds the commands for the tests of a package, once: to link them takes seconds.
package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Tests runs the tests of a package and then removes the program that they have built. It is for TestMain:
//
//	mcptest.Main(programtest.Tests{M: m}, servers)
type Tests struct{ M *testing.M }

// Run returns the exit code of the tests.
func (t Tests) Run() int {
	code := t.M.Run()
	if folder != "" {
		_ = os.RemoveAll(folder)
	}
	return code
}

var folder string // of the program, once it is built

var build = sync.OnceValues(func() (string, error) {
	var err error
	if folder, err = os.MkdirTemp("", "fairlead-test-program"); err != nil {
		return "", err
	}
	const command = "github.com/fairlead-go/fairlead/cmd/fairlead"
	if out, err := exec.Command("go", "build", "-o", folder, command, command+"/fairlead-hook").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(folder, "fairlead"), nil
})

// Path returns the command fairlead as go install makes it, with fairlead-hook beside it. All tests of a process share
// them: a test that changes a file makes a copy.
func Path(tb testing.TB) string {
	tb.Helper()
	path, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}
