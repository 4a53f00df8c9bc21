package conformance_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	args, user, scenario := proxyArgs(dir, url), &browser{log: os.Stderr}, os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if strings.HasPrefix(scenario, signsIn) {
		more, err := signInArgs(dir, scenario, url)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		args = slices.Insert(args, 1, more...)
	}
	through, end, err := launch(ctx, serving, user, filepath.Join(bin, "fairlead"), args...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer end() // the suite waits for the end of its connections
	run := func() error {
		if scenario == skillsScenario {
			return listSkills(ctx, through)
		}
		client := exec.CommandContext(ctx, filepath.Join(bin, "client"), through)
		client.Stdout, client.Stderr = os.Stdout, os.Stderr
		if strings.HasPrefix(scenario, signsIn) { // a list and a call, whoever signs in; the client does not know all of them
			client.Env = append(os.Environ(), "MCP_CONFORMANCE_SCENARIO=auth/metadata-default")
		}
		return client.Run()
	}
	err = run()
	user.busy.Wait()
	if user.opened.Load() > 1 { // a call does not wait for its user to sign in, and is made again afterwards
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// signsIn begins the names of the scenarios about OAuth.
const signsIn = "auth/"

// mostTries is how often a scenario is run until no check fails: one of them measures time, on a machine that may be
// busy.
const mostTries = 3

// Where the suite is the server, no check fails of what the proxy sends to it that does not fail for the client itself.
// For scenarios about OAuth see TestProxySignsIn.
func TestClientIsNoWorseThanDirect(t *testing.T) {
	suite, bin := needed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var rows []*string // in the order of the suite, each written by its own test
	t.Run("scenarios", func(t *testing.T) {
		for _, revision := range []string{"2025-11-25", "2026-07-28"} {
			for _, scenario := range clientScenarios(t, suite, revision, false) {
				row := new(string)
				rows = append(rows, row)
				t.Run(revision+" "+scenario, func(t *testing.T) {
					t.Parallel()
					direct, failed := client(t, suite, revision, scenario, filepath.Join(bin, "client"))
					proxied, err := client(t, suite, revision, scenario, self+" "+bin)
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

// client runs a scenario against a client, until no check fails.
func client(t *testing.T, suite, revision, scenario, command string) (all map[check]counts, err error) {
	t.Helper()
	for range mostTries {
		all, err = run(t, suite, 1, "client", "--force", "--command", command, "--scenario", scenario, "--spec-version", revision,
			"--timeout", strconv.FormatInt((patience*3/4).Milliseconds(), 10))
		if err == nil {
			break
		}
	}
	return all, err
}

// clientScenarios are those of a revision in which the suite is the server: those about OAuth, or the others.
func clientScenarios(t *testing.T, suite, revision string, oauth bool) (all []string) {
	t.Helper()
	out, err := node(t, suite, t.TempDir(), "list", "--client", "--spec-version", revision)
	for _, m := range regexp.MustCompile(`(?m)^ *- (\S+)`).FindAllStringSubmatch(string(out), -1) {
		if strings.HasPrefix(m[1], signsIn) == oauth {
			all = append(all, m[1])
		}
	}
	if err != nil || len(all) < 5 {
		t.Fatalf("%v: the suite lists %q for a client of %s\n%s", err, all, revision, out)
	}
	return all
}
