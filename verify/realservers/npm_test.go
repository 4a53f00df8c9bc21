package realservers_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A listed server is a line of testdata/servers.txt.
type listed struct {
	name            string
	args            []string
	tool, arguments string
}

func listedServers(t *testing.T, dir string) (all []listed) {
	t.Helper()
	file, err := os.ReadFile("testdata/servers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.Split(strings.TrimSpace(strings.ReplaceAll(line, "DIR", dir)), "|")
		if len(part) != 4 {
			t.Fatalf("a line has %d parts, want 4: %s", len(part), line)
		}
		name := part[0][:strings.LastIndexByte(part[0], '@')]
		all = append(all, listed{name, strings.Fields(part[1]), part[2], part[3]})
	}
	return all
}

// command returns the command line of a server, by the first program of its package.
func (s listed) command(t *testing.T, packages string) []string {
	t.Helper()
	dir := filepath.Join(packages, s.name)
	var about struct{ Bin json.RawMessage }
	file, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &about); err != nil {
		t.Fatal(err)
	}
	var one string
	if json.Unmarshal(about.Bin, &one) != nil {
		var several map[string]string
		if err := json.Unmarshal(about.Bin, &several); err != nil {
			t.Fatal(err)
		}
		one = several[s.name[strings.LastIndexByte(s.name, '/')+1:]]
		for _, program := range several {
			if one == "" {
				one = program
			}
		}
	}
	return append([]string{filepath.Join(os.Getenv("FAIRLEAD_NPM_CONFORMANCE"), ".bin", "node"), filepath.Join(dir, one)}, s.args...)
}

// instant is a time at which a server answered, which is another for each answer.
var instant = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)

// Servers of many authors list the same tools behind the proxy, are inspected, and a read has the bytes of the direct
// answer.
func TestServersOfNpm(t *testing.T) {
	packages := os.Getenv("FAIRLEAD_NPM_MANY")
	if packages == "" {
		t.Skip("SKIPPED: FAIRLEAD_NPM_MANY names no folder node_modules with the packages of testdata/servers.txt, which .ci/nightly installs: no server of npm is read")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MEMORY_BANK_ROOT", dir)
	for _, s := range listedServers(t, dir) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			command := s.command(t, packages)
			l := ledger(filepath.Join(t.TempDir(), "ledger"))
			s.inspect(t, command)
			direct, behind := start(t, l, command...), proxied(t, l, []string{"--approve", "elicit", "--"}, command...)
			const list = `{"jsonrpc":"2.0","id":"ID","method":"tools/list"}`
			if diff := cmp.Diff(toolNames(t, direct, list), toolNames(t, behind, list)); diff != "" {
				t.Errorf("the list (-direct +proxy)\n%s", diff)
			}
			call := `{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"` + s.tool + `","arguments":` + s.arguments + `}}`
			want, got := direct.await(direct.call(call)), behind.await(behind.call(call))
			if string(instant.ReplaceAll(want.Result, nil)) != string(instant.ReplaceAll(got.Result, nil)) || string(want.Error) != string(got.Error) || len(want.Result) == 0 {
				t.Errorf("got  %.2000s %s\nwant %.2000s %s", got.Result, got.Error, want.Result, want.Error)
			}
		})
	}
}

// inspect requires that fairlead inspect prints the tool. Its exit code is 1 if it has a finding.
func (s listed) inspect(t *testing.T, command []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t, "fairlead"), append([]string{"inspect", "--"}, command...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) || !strings.Contains(string(out), s.tool) {
		t.Errorf("inspect: %v\n%s", err, out)
	}
}

func toolNames(t *testing.T, c *client, list string) (names []string) {
	t.Helper()
	var all struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(c.await(c.call(list)).Result, &all); err != nil {
		t.Fatal(err)
	}
	for _, tool := range all.Tools {
		names = append(names, tool.Name)
	}
	return names
}
