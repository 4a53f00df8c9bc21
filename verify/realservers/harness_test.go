package realservers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

// patience bounds each wait for a process. It is long, because the machine may be busy.
const patience = time.Minute

// bin is the directory of the programs that the tests build.
var bin string

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "realservers"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(bin)
	os.Exit(code)
}

var programs = map[string]func() (string, error){
	"fairlead": sync.OnceValues(func() (string, error) { return build("fairlead", "../../cmd/fairlead") }),
	"mcpgo":    sync.OnceValues(func() (string, error) { return build("mcpgo", "./mcpgo") }),
	"sdk":      sync.OnceValues(linked),
}

func build(name, dir string) (string, error) {
	path := filepath.Join(bin, name)
	if out, err := exec.Command("go", "build", "-C", dir, "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build of %s: %w\n%s", dir, err, out)
	}
	return path, nil
}

// linked puts the server of the TypeScript SDK beside the packages that it imports.
func linked() (string, error) {
	source, err := os.ReadFile("testdata/sdk.mjs")
	if err != nil {
		return "", err
	}
	path := filepath.Join(bin, "sdk.mjs")
	return path, errors.Join(os.WriteFile(path, source, 0o600), os.Symlink(os.Getenv("FAIRLEAD_TS_SDK"), filepath.Join(bin, "node_modules")))
}

func program(t *testing.T, name string) string {
	t.Helper()
	path, err := programs[name]()
	if err := errors.Join(err, repo.DependsOnCode()); err != nil {
		t.Fatal(err)
	}
	return path
}

// installed returns the path of a program, and skips the test if it is not installed.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: there is no %s: a real server is not attacked; .ci/run --install installs it", name)
	}
	return path
}

// A realServer is a server that runs as a process of its own.
type realServer struct {
	name    string
	command func(t *testing.T) []string
}

var realServers = []realServer{
	{"mcp-go", func(t *testing.T) []string { return []string{program(t, "mcpgo")} }},
	{"TypeScript SDK", func(t *testing.T) []string {
		if _, err := os.Stat(filepath.Join(os.Getenv("FAIRLEAD_TS_SDK"), "@modelcontextprotocol/sdk")); err != nil {
			t.Skip("SKIPPED: FAIRLEAD_TS_SDK names no node_modules with @modelcontextprotocol/sdk: its server is not attacked; .ci/run race:verify installs it")
		}
		return []string{installed(t, "node"), program(t, "sdk")}
	}},
	{"plain", func(t *testing.T) []string { return []string{installed(t, "python3"), "testdata/plain.py"} }},
}

// eachServer runs a test against each server in a subtest, with an empty ledger.
func eachServer(t *testing.T, test func(t *testing.T, s realServer, command []string, l ledger)) {
	t.Helper()
	for _, s := range realServers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s, s.command(t), ledger(filepath.Join(t.TempDir(), "ledger")))
		})
	}
}

// A ledger is a server's record of its executions, a file.
type ledger string

func (l ledger) env() string { return "LEDGER=" + string(l) }

// executed returns what the server executed, without the reads that harm nothing.
func (l ledger) executed(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(string(l))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var one struct {
			Tool      string
			Arguments struct{ Path string }
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(one.Tool, "get_") {
			all = append(all, strings.TrimSpace(one.Tool+" "+one.Arguments.Path))
		}
	}
	return all
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18",
	"capabilities":{"elicitation":{}},"clientInfo":{"name":"attacker","version":"1"}}}`

// accept writes a lock file of the server's tools as they are now.
func accept(t *testing.T, lock string, command ...string) {
	t.Helper()
	args := append([]string{"lock", "accept", "--yes", "--lock", lock, "--"}, command...)
	if out, err := exec.CommandContext(t.Context(), program(t, "fairlead"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// outcomes returns what came of each call in a record, by its tool.
func outcomes(t *testing.T, record string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r struct{ Kind, Tool, Outcome string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "end" {
			all = append(all, r.Tool+" "+r.Outcome)
		}
	}
	return all
}
