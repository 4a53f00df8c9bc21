package command

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// trail is a file with the record of one dangerous call that was denied.
func trail(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	file, err := audit.OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := audit.Record{Time: time.Now(), Kind: audit.End, Run: "r", N: 1, Server: "files", Tool: "delete_file", Class: "dangerous", Outcome: audit.Denied}
	if err := file.Write(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAuditShowTakesWordsInAnyCaseAndNoOthers(t *testing.T) {
	t.Parallel()
	path := trail(t)
	for name, c := range map[string]struct {
		args []string
		code int
		want string // on standard output, or else on standard error
	}{
		"a class":             {[]string{"--class", "dangerous"}, exitOK, "files/delete_file"},
		"a class as in prose": {[]string{"--class", "Dangerous"}, exitOK, "files/delete_file"},
		"another class":       {[]string{"--class", "SAFE"}, exitOK, ""},
		"no class":            {[]string{"--class", "deadly"}, exitUsage, "safe, moderate, dangerous, unknown"},
		"an outcome":          {[]string{"--outcome", "Denied"}, exitOK, "files/delete_file"},
		"no outcome":          {[]string{"--outcome", "denyed"}, exitUsage, "denied, refused, not_sent"},
		"a time":              {[]string{"--since", "1h"}, exitOK, "files/delete_file"},
		"a time to come":      {[]string{"--since", "-1h"}, exitUsage, "--since: want a time of more than 0, such as 24h or 7d, got -1h0m0s"},
		"no time at all":      {[]string{"--since", "0"}, exitUsage, "--since: want a time of more than 0, such as 24h or 7d, got 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, "", append([]string{"audit", "show", path}, c.args...)...)
			got := stdout
			if c.code != exitOK {
				got = stderr
			}
			if code != c.code || !strings.Contains(got, c.want) || c.want == "" && got != "" || c.code != exitOK && stdout != "" {
				t.Errorf("exit %d, want %d; stdout %q, stderr %q", code, c.code, stdout, stderr)
			}
		})
	}
}

// The record of a stale answer gives its reason: it was cached, how long ago, and how long
// the chain takes it to stay true.
func TestAuditShowHasTheAgeOfAnAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	file, err := audit.OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		std := chain.Standard{Audit: audit.New(file, audit.Options{}), Infer: infer.New(infer.Options{}), Cache: cache.New(cache.Options{})}
		caller := std.Then(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "v1"}}}, nil
		}))
		for range 2 {
			call := middleware.Call{Tool: &middleware.Tool{Server: "docs", Definition: &mcp.Tool{Name: "get_schema", InputSchema: map[string]any{"type": "object"}}}}
			if _, err := caller.CallTool(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			time.Sleep(12 * time.Second)
		}
	})
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	want := "docs/get_schema (safe) ok in <1ms from=cache · cache: hit (from the cache, 12s old, stable)"
	if code, stdout, stderr := program(t, "", "audit", "show", path); code != exitOK || !strings.Contains(stdout, want) {
		t.Errorf("exit %d; stdout %q, stderr %q; want %q", code, stdout, stderr, want)
	}
}

// One command answers what was deleted last week and who allowed it, on the record of a
// real run.
func TestAuditAnswersWhatWasDeletedAndByWhom(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	record, rules := filepath.Join(folder, "calls.jsonl"), filepath.Join(folder, "policy.json")
	if err := os.WriteFile(rules, []byte("{\"rules\": [\n{\"tool\": \"command.test/send_message\", \"decide\": \"allow\", \"class\": \"dangerous\"}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, env := mcptest.Child(t, "lying")
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Run(t.Context(), []string{"proxy", "--policy", rules, "--audit", record, "--", "env", env, exe}, in, out, io.Discard)
		_ = out.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			answer := "allow"
			if strings.Contains(r.Params.Message, "boss") {
				answer = "deny"
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": answer}}, nil
		},
	})
	cs := mcptest.Dial(t, client, &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, "2025-11-25")
	for _, call := range [][2]string{{"send_message", "carol"}, {"delete_account", "bob"}, {"delete_account", "boss"}, {"get_account", "ann"}, {"send_message", "ann"}} {
		if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: call[0], Arguments: map[string]any{"id": call[1], "password": "hunter2"}}); err != nil {
			t.Fatal(err)
		}
	}
	_ = toProxy.Close()
	<-ended
	show := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := program(t, "", append([]string{"audit", "show"}, args...)...)
		if code != exitOK {
			t.Errorf("exit %d: %s", code, stderr)
		}
		return stdout
	}
	for _, from := range []string{record, folder} {
		got := show(from, "--tool", "delete*", "--outcome", "ok", "--since", "168h")
		for _, want := range []string{"/delete_account (dangerous) ok in ", " call=3 ", " by=the user via=form waited=", ` arguments={"id":"bob","password":"[redacted]"}`} {
			if strings.Count(got, want) != 1 || strings.Count(got, "\n") != 1 {
				t.Errorf("got %q, want one line with %q", got, want)
			}
		}
	}
	if got := show(record, "--outcome", "denied"); !strings.Contains(got, "by=the user via=form") || !strings.Contains(got, `"id":"boss"`) {
		t.Errorf("denied: %q", got)
	}
	if got := show(record, "--tool", "send*", "--outcome", "ok"); !strings.Contains(got, "policy.json:2 via=policy") {
		t.Errorf("by the policy: %q", got)
	}
	if got := show(record, "--flow", "6"); !strings.Contains(got, " call=6 ") || !strings.Contains(got, "\n  password: from command.test/") || strings.Count(got, "hunter2") > 0 {
		t.Errorf("flow: %q", got)
	}
	if code, stdout, stderr := program(t, "", "audit", "verify", folder); code != exitOK || !strings.Contains(stdout, record) || !strings.Contains(stdout, "whole") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(filepath.Join(folder, "other.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := program(t, "", "audit", "verify", folder); code != exitFindings || !strings.Contains(stderr, "other.jsonl") {
		t.Errorf("exit %d with a damaged file: %s", code, stderr)
	}
	if code, _, stderr := program(t, "", "audit", "verify", t.TempDir()); code != exitUsage || !strings.Contains(stderr, "holds no .jsonl file") {
		t.Errorf("exit %d without a file: %s", code, stderr)
	}
}

func TestShortCallIsShownAsShort(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	file, err := audit.OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, took := range []time.Duration{121 * time.Microsecond, 1991806 * time.Microsecond} {
		if err := file.Write(t.Context(), audit.Record{Time: time.Now(), Kind: audit.End, Server: "shop", Tool: "get_status", Outcome: audit.OK, Took: took}); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	_, stdout, stderr := program(t, "", "audit", "show", path)
	if !strings.Contains(stdout, "ok in <1ms\n") || !strings.Contains(stdout, "ok in 1.992s\n") {
		t.Errorf("got %q, want a call of less than a millisecond and one of 1.992s; %s", stdout, stderr)
	}
}

// A record that somebody wrote by hand moves no cursor.
func TestForgedRecordIsText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(path, []byte(`{"kind":"intent\u001b[2J","run":"r","n":1,"tool":"t","class":"safe"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stdout, stderr := program(t, "", "audit", "show", path); !strings.Contains(stdout, "intent") || strings.Contains(stdout+stderr, "\x1b") {
		t.Errorf("got %q and %q", stdout, stderr)
	}
}
