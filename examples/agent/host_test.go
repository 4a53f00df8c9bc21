package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

func TestBadFolders(t *testing.T) {
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), script(t, "")} {
		r := playReal(t, "", "--dir", dir)
		if r.code != exitError || strings.Count(r.errs, "\n") != 1 || !strings.Contains(r.errs, dir) || !strings.Contains(r.errs, "choose one") {
			t.Errorf("exit %d, %q", r.code, r.errs)
		}
	}
}

// child is the command line of this binary as a server.
func child(t *testing.T, name string) string {
	t.Helper()
	exe, env := mcptest.Child(t, name)
	key, value, _ := strings.Cut(env, "=")
	t.Setenv(key, value)
	return "'" + exe + "'"
}

func TestServerThatDiesMidwayIsAnError(t *testing.T) {
	r := playReal(t, "", "--server", child(t, "dies"), "--json")
	if r.code != exitError || !strings.Contains(r.errs, "out of cheese") || !strings.Contains(r.errs, "1 call could not be made") {
		t.Errorf("exit %d, %q", r.code, r.errs)
	}
}

func TestBadServers(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for server, want := range map[string]string{
		"no-such-command-here --now": "no-such-command-here",
		"false":                      `the server "false" failed`,
		"http://127.0.0.1:1":         "http://127.0.0.1:1",
		web.URL:                      web.URL,
		"'x":                         "quote",
	} {
		r := playReal(t, "", "--server", server)
		if r.code != exitError || strings.Count(r.errs, "\n") != 1 || !strings.Contains(r.errs, want) {
			t.Errorf("%s: exit %d, %q", server, r.code, r.errs)
		}
	}
}

func TestEveryCallIsRecorded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	r := play(t, "", "--yes", "all", "--audit", name)
	report, err := audit.Verify(name)
	if r.code != exitDone || !strings.Contains(r.out, "record:  "+name) || err != nil || report.State != audit.Whole || len(report.Open) != 0 {
		t.Fatalf("exit %d, %+v, %v, %s%s", r.code, report, err, r.out, r.errs)
	}
	raw, err := os.ReadFile(name)
	if err != nil || strings.Count(string(raw), `"kind":"end"`) != 19 || strings.Count(string(raw), `"kind":"intent"`) < 5 {
		t.Errorf("not every call has its records (%v):\n%s", err, raw)
	}
	r = play(t, "", "--audit", name) // it goes on where it was
	if more, err := audit.Verify(name); r.code != exitDenied || err != nil || more.State != audit.Whole || more.Records <= report.Records {
		t.Errorf("exit %d, %+v, %v, %s", r.code, more, err, r.errs)
	}
	name = filepath.Join(name, "no", "calls.jsonl")
	if r = play(t, "", "--audit", name); r.code != exitError || !strings.Contains(r.errs, "--audit "+name) || strings.Count(r.errs, "\n") != 1 {
		t.Errorf("exit %d, %q", r.code, r.errs)
	}
}
