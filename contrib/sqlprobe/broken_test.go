package sqlprobe_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/sqlprobe"
)

// A parser that has broken down is never asked again. It would stay broken for the
// other tests, so it is broken in a process of its own.
func TestBrokenParserReadsNothing(t *testing.T) {
	t.Parallel()
	if os.Getenv("SQLPROBE_BREAK") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenParserReadsNothing$")
		cmd.Env = append(os.Environ(), "SQLPROBE_BREAK=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := sqlprobe.ParsePostgreSQL("SELECT " + strings.Repeat("1+", 20000) + "1"); err == nil {
		t.Fatal("the parser bore 20000 levels; break it otherwise")
	}
	if got := sqlprobe.PostgreSQL("SELECT 1"); got.Annotations.Safety() != risky || !strings.Contains(got.Why, "broke down earlier") {
		t.Errorf("a read after the breakdown: %v: %s", got.Annotations.Safety(), got.Why)
	}
	if got := sqlprobe.MySQL("SELECT 1"); got.Annotations.Safety() != read {
		t.Errorf("the other dialect: %v: %s", got.Annotations.Safety(), got.Why)
	}
}
