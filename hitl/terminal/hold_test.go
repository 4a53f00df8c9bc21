package terminal_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
)

// While a question is open nothing else is written to its terminal; it comes afterwards, in order, up to a bound.
func TestHoldKeepsOthersOffTheQuestion(t *testing.T) {
	for name, more := range map[string]int{"a few lines": 0, "a flood": 5000} {
		synctest.Test(t, func(t *testing.T) {
			hold, out, typed := new(terminal.Hold), new(screen), make(chan string, 1)
			in, person := io.Pipe()
			go func() { _, _ = io.WriteString(person, <-typed) }()
			server, log := hold.Writer(out), hold.Writer(out)
			fmt.Fprintln(server, "files | before")
			decided := make(chan hitl.Decision)
			go func() {
				d, _ := terminal.Sharing(hold, in, out).Confirm(t.Context(), asks(t, `{"path":"a.txt"}`))
				decided <- d
			}()
			synctest.Wait()
			fmt.Fprintln(server, strings.Repeat("\n", 60)+"files | Allow reading a.txt? [y]es")
			fmt.Fprintln(log, "a log")
			for i := range more {
				fmt.Fprintf(server, "files | line %d\n", i)
			}
			if shown := out.String(); !strings.HasPrefix(shown, "files | before\n\n  ╭─ ") || !strings.HasSuffix(shown, "left): ") {
				t.Errorf("%s: while the question is open the terminal shows\n%s", name, shown)
			}
			typed <- "y\n"
			if d := <-decided; d.Verdict != hitl.Approved {
				t.Errorf("%s: got %+v", name, d)
			}
			_, after, _ := strings.Cut(out.String(), "left): ")
			if !strings.HasPrefix(after, strings.Repeat("\n", 60)+"files | Allow reading a.txt? [y]es\na log\n") || len(after) > 80<<10 {
				t.Errorf("%s: afterwards it shows %d bytes\n%.500s", name, len(after), after)
			}
			if lost := strings.Contains(after, " lines more came while a question was open"); lost != (more > 0) {
				t.Errorf("%s: what is left out is counted: %t", name, lost)
			}
			fmt.Fprintln(server, "files | at once")
			if !strings.HasSuffix(out.String(), "files | at once\n") {
				t.Errorf("%s: it is held back although no question is open", name)
			}
			_ = person.Close()
		})
	}
}
