package mcptest

// A server in a process of its own is the test binary, started again: TestMain calls [Main], which runs a server if the
// environment names one. So a test needs no other program.

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const childKey = "FAIRLEAD_TEST_CHILD"

// Main runs the tests of a package, or in a process of [ChildTransport] a server. Call it from TestMain, with its
// *testing.M or with what runs it and tidies up.
func Main(m interface{ Run() int }, servers map[string]func() *mcp.Server) {
	name := os.Getenv(childKey)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := servers[name]().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// ChildTransport returns a transport over stdio that starts the test binary as one of the servers of [Main].
func ChildTransport(t testing.TB, name string) mcp.Transport {
	t.Helper()
	exe, env := Child(t, name)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), env)
	return &mcp.CommandTransport{Command: cmd}
}

// Child returns the program of such a process and what its environment needs.
func Child(t testing.TB, name string) (exe, env string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe, childKey + "=" + name
}
