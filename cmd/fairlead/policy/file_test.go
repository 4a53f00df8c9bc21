package policy_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	if name == "" {
		name = filepath.Join(t.TempDir(), "p.json")
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestB199FileThatOthersMayWriteIsRefused(t *testing.T) {
	t.Parallel()
	name := write(t, "", "{}")
	for _, c := range []struct {
		mode os.FileMode
		ok   bool
	}{{0o600, true}, {0o644, true}, {0o664, true}, {0o666, false}, {0o602, false}} {
		if err := os.Chmod(name, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := policy.Load(name); (err == nil) != c.ok {
			t.Errorf("%04o: got %v", c.mode, err)
		} else if err != nil && !strings.Contains(err.Error(), "chmod o-w") {
			t.Errorf("%04o: %v says not what to do", c.mode, err)
		}
	}
}

func TestB199FileOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	name := write(t, "", "{}")
	if err := os.Chown(name, os.Geteuid()+4321, -1); err != nil {
		t.Skipf("SKIPPED: only root can give a file away: %v", err)
	}
	if _, err := policy.Load(name); err == nil || !strings.Contains(err.Error(), "belongs to the user") {
		t.Errorf("got %v", err)
	}
}

func TestFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := policy.OpenLive(filepath.Join(t.TempDir(), "p.json"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("it was opened")
	}
}

func TestB197InvalidFileChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := write(t, "", `{"rules": [{"tool": "s/a", "decide": "deny"}]}`)
		var log strings.Builder
		live, err := policy.OpenLive(name, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		verdict := func() policy.Verdict {
			time.Sleep(2 * time.Second) // of the bubble
			v, _ := live.Now().Decide("s", "a", annotation.Safe)
			return v
		}
		check := func(what string, want policy.Verdict, failures int) {
			t.Helper()
			got := verdict()
			current, err := live.Current()
			if valid := what == "as it was" || what == "mended"; got != want || live.Failures() != failures || (err == nil) != valid || (current != nil) != valid {
				t.Errorf("%s: got %v, %d failures and %v, want %v and %d", what, got, live.Failures(), err, want, failures)
			}
		}
		check("as it was", policy.Deny, 0)
		write(t, name, `{"rules": [{"tool": "s/a", "decide": "allowed"}]}`)
		check("invalid", policy.Deny, 1)
		check("still invalid, and told once", policy.Deny, 1)
		if !strings.Contains(log.String(), "allowed") {
			t.Errorf("the log does not say what is wrong: %s", log.String())
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		check("gone", policy.Deny, 2)
		check("still gone", policy.Deny, 2)
		write(t, name, `{"rules": [{"tool": "s/a", "decide": "ask", "reason": "mended"}]}`)
		check("mended", policy.Ask, 2)
	})
}

func TestEditThatKeepsTimeAndSizeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "p.json")
		edit := func(text string) {
			t.Helper()
			write(t, name, text)
			if err := os.Chtimes(name, time.Time{}, time.Unix(1_700_000_000, 0)); err != nil {
				t.Fatal(err)
			}
		}
		edit(`{"rules": [{"tool": "s/b", "decide": "deny"}]}`)
		live, err := policy.OpenLive(name, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			text     string
			want     policy.Verdict
			failures int
		}{
			{`{"rules": [{"tool": "s/a", "decide": "deny"}]}`, policy.Deny, 0},
			{`{"rules": [{"tool": "s/a", "decide": "dent"}]}`, policy.Deny, 1},
			{`{"rules": [{"tool": "s/b", "decide": "deny"}]}`, policy.None, 1},
		} {
			edit(c.text)
			time.Sleep(2 * time.Second) // of the bubble
			got, _ := live.Now().Decide("s", "a", annotation.Safe)
			if got != c.want || live.Failures() != c.failures {
				t.Errorf("%s: got %v and %d failures, want %v and %d", c.text, got, live.Failures(), c.want, c.failures)
			}
		}
	})
}
