package hitl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
)

// TestNothingIsSaidToWaitThatDoesNot goes through the ways in which a question ends, and
// holds what the model and the log are told of each.
func TestNothingIsSaidToWaitThatDoesNot(t *testing.T) {
	t.Parallel()
	by := func(d hitl.Decision, err error) hitl.Confirmer {
		return hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return d, err })
	}
	silent := hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
		<-ctx.Done()
		return hitl.Decision{}, ctx.Err()
	})
	ends := []struct {
		name  string
		by    hitl.Confirmer
		o     hitl.Options
		waits bool
	}{
		{name: "no confirmer"},
		{name: "silence", by: silent},
		{name: "a confirmer that fails", by: by(hitl.Decision{}, errors.New("the page is gone"))},
		{name: "a confirmer that panics", by: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { panic("x") })},
		{name: "a confirmer that ends its goroutine", by: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			runtime.Goexit()
			return hitl.Decision{}, nil
		})},
		{name: "the end of the input", by: terminal.New(strings.NewReader(""), new(screen))},
		{name: "a no", by: by(hitl.Decision{}, nil)},
		{name: "a no of Ann", by: by(hitl.Decision{By: "ann"}, nil)},
		{name: "a no with guidance", by: by(hitl.Decision{Reason: "archive it instead"}, nil)},
		{name: "one person of two", by: hitl.TwoPeople(by(hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil), by(hitl.Decision{Verdict: hitl.Approved, By: "Ann "}, nil))},
		{name: "an edit that is not an object", by: by(hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`[]`)}, nil)},
		{name: "a question that outlives its call", by: silent, o: hitl.Options{
			WaitLimit: func(context.Context) (time.Duration, string) { return time.Second, "on the approvals page" },
		}, waits: true},
		{name: "a form that the client shows", by: by(hitl.Decision{}, &hitl.PendingError{State: "s"}), waits: true},
	}
	var told strings.Builder
	for _, end := range ends {
		synctest.Test(t, func(t *testing.T) {
			c := hitl.New(end.by, end.o)(guarded(new(executor)))
			_, err := c.CallTool(t.Context(), middleware.Call{Tool: tool(t, "delete", annotation.Destructive()), Arguments: json.RawMessage(`{"path":"a.txt"}`)})
			model, log := middleware.ForModel(err), fmt.Sprint(err)
			if waits := strings.Contains(model+log, "wait"); waits != end.waits {
				t.Errorf("%s: it is said to wait: %v\n%s\n%s", end.name, waits, model, log)
			}
			fmt.Fprintf(&told, "%s\n  model: %s\n  log:   %s\n", end.name, model, log)
			time.Sleep(time.Hour) // the question that is open expires
		})
	}
	name := filepath.Join("testdata", "ends.txt")
	want, err := os.ReadFile(name)
	if err != nil || string(want) != told.String() {
		t.Errorf("%s (%v) is not what is told:\n%s", name, err, &told)
	}
}

func TestGuidanceReachesTheModel(t *testing.T) {
	t.Parallel()
	p := &person{decision: hitl.Decision{Reason: "archive it instead", By: "ann"}}
	res, err := hitl.New(p, hitl.Options{})(guarded(new(executor))).CallTool(t.Context(), deletes(t))
	if denied := wantDenied(t, res, err); denied.Reason != "archive it instead" || denied.By != "ann" || denied.Err != nil {
		t.Errorf("got %+v", denied)
	}
}

func TestPendingErrorTexts(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("outer: %w", &hitl.PendingError{Tool: deletes(t).Tool})
	if got := middleware.ForModel(err); !strings.Contains(got, "waits for the user's agreement") {
		t.Errorf("for a model: %q", got)
	}
	if got := err.Error(); got != "outer: hitl: files/delete waits for a person's answer; call it again with the input that is asked for" {
		t.Errorf("got %q", got)
	}
}
