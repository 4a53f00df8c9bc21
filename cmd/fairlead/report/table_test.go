package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
)

func TestPipesGetALinePerTool(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100)
	r := reportOn(t, tool("get_"+long, "", readOnly), tool("delete_"+long, "", nil))
	table := written(t, r)["table"]
	for _, name := range []string{"get_" + long, "delete_" + long} {
		if !strings.Contains(table, name) {
			t.Errorf("%s was cut:\n%s", name, table)
		}
	}
	if strings.Contains(table, "\x1b") {
		t.Errorf("there are colours in a pipe:\n%q", table)
	}
}

func TestNarrowTerminalIsKeptTo(t *testing.T) {
	t.Parallel()
	r := reportOn(t, tool("delete_account", "", readOnly), tool("get_account", "", readOnly))
	for line := range strings.Lines(written(t, r)["narrow"]) {
		if n := tty.Wide(strings.TrimRight(line, "\n")); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := reportOn(t, tool("delete_account", "", readOnly)).Table(&b, tty.Style{Width: 200, Live: true, Colour: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\x1b[31mdangerous") {
		t.Errorf("what is dangerous is not red: %q", b.String())
	}
}
