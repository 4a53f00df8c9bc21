package repo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// WithProgram builds the command fairlead, stores its path in program, and returns what run does; 1 if it cannot be built.
// It is for TestMain:
//
//	os.Exit(repo.WithProgram(m.Run, &program))
func WithProgram(run func() int, program *string) int {
	root, err := Root()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "fairlead")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	*program = filepath.Join(dir, "fairlead")
	build := exec.CommandContext(context.Background(), "go", "-C", filepath.Join(root, "cmd", "fairlead"), "build", "-o", *program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the program cannot be built: %v\n%s", err, out)
		return 1
	}
	return run()
}
