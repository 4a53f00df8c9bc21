package command

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
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
		"a time to come":      {[]string{"--since", "-1h"}, exitUsage, "--since -1h0m0s"},
		"no time at all":      {[]string{"--since", "0"}, exitUsage, "--since 0s"},
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

func TestMissingWordsAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"audit show":         {[]string{"audit", "show"}, "FILE is missing: fairlead audit show FILE"},
		"audit verify":       {[]string{"audit", "verify", "a", "b"}, `"b" is one word too many`},
		"policy check":       {[]string{"policy", "check"}, "FILE is missing"},
		"policy explain":     {[]string{"policy", "explain"}, "FILE is missing"},
		"call":               {[]string{"call"}, "TOOL is missing"},
		"approvers, spelled": {[]string{"proxy", "--approve", "Webb", "--", "true"}, `"webb" is none of elicit`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, stdout, stderr := program(t, "", c.args...); code != exitUsage || !strings.Contains(stderr, c.want) || stdout != "" {
				t.Errorf("exit %d; stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

// A disk that is full is no mistake in the command line.
func TestASchemaThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	full, ours := io.Pipe()
	_ = full.Close()
	var errs bytes.Buffer
	if code := Run(t.Context(), []string{"policy", "schema"}, strings.NewReader(""), ours, &errs); code != exitFindings || !strings.Contains(errs.String(), "writing the schema") {
		t.Errorf("exit %d: %s", code, &errs)
	}
}
