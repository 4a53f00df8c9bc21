package conformance_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// between is the command that the suite starts as its client: the SDK's conformance client, on a proxy in front of the
// suite's server. It returns the exit code.
func between(bin, url string) int {
	ctx, stop := context.WithTimeout(context.Background(), patience/2) // before the suite ends its client
	defer stop()
	dir, err := os.MkdirTemp("", "between")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	through, end, err := launch(ctx, serving, os.Stderr, filepath.Join(bin, "fairlead"), proxyArgs(dir, url)...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer end() // the suite waits for the end of its connections
	client := exec.CommandContext(ctx, filepath.Join(bin, "client"), through)
	client.Stdout, client.Stderr = os.Stdout, os.Stderr
	if err := client.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// mostTries is how often a scenario is run until no check fails: one of them measures time, on a machine that may be
// busy.
const mostTries = 3

// Where the suite is the server, no check fails of what the proxy sends to it that does not fail for the client itself.
// Scenarios about OAuth are left out: there the proxy has an account of its own, and not the client's.
func TestClientIsNoWorseThanDirect(t *testing.T) {
	suite, bin := needed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	of := func(t *testing.T, revision, scenario, command string) (all map[check]counts, err error) {
		t.Helper()
		for range mostTries {
			all, err = run(t, suite, 1, "client", "--command", command, "--scenario", scenario, "--spec-version", revision,
				"--timeout", strconv.FormatInt((patience*3/4).Milliseconds(), 10))
			if err == nil {
				break
			}
		}
		return all, err
	}
	var rows []*string // in the order of the suite, each written by its own test
	t.Run("scenarios", func(t *testing.T) {
		for _, revision := range []string{"2025-11-25", "2026-07-28"} {
			for _, scenario := range clientScenarios(t, suite, revision) {
				row := new(string)
				rows = append(rows, row)
				t.Run(revision+" "+scenario, func(t *testing.T) {
					t.Parallel()
					direct, failed := of(t, revision, scenario, filepath.Join(bin, "client"))
					proxied, err := of(t, revision, scenario, self+" "+bin)
					worse(t, revision, direct, proxied)
					if err != nil && failed == nil {
						t.Errorf("%s, %s: %v through the proxy, and no error directly", revision, scenario, err)
					}
					d, p := sum(direct), sum(proxied)
					*row = fmt.Sprintf("| %s | %s | %d | %d | %d | %d |\n", revision, scenario, d.passed, p.passed, d.failed, p.failed)
				})
			}
		}
	})
	var table strings.Builder
	table.WriteString("| revision | scenario of a client | pass directly | pass through the proxy | fail directly | fail through the proxy |\n|---|---|---|---|---|---|\n")
	for _, row := range rows {
		table.WriteString(*row)
	}
	t.Logf("\n%s", table.String())
	compare(t, table.String())
}

// clientScenarios are those of a revision in which the suite is the server, without those about OAuth.
func clientScenarios(t *testing.T, suite, revision string) (all []string) {
	t.Helper()
	out, err := node(t, suite, t.TempDir(), "list", "--client", "--spec-version", revision)
	for _, m := range regexp.MustCompile(`(?m)^ *- (\S+)`).FindAllStringSubmatch(string(out), -1) {
		if !strings.HasPrefix(m[1], "auth/") {
			all = append(all, m[1])
		}
	}
	if err != nil || len(all) < 5 {
		t.Fatalf("%v: the suite lists %q for a client of %s\n%s", err, all, revision, out)
	}
	return all
}
