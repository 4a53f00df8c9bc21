// Command calltrace follows one approved call through a chain with every slot filled, and one through the proxy. It prints
// the functions in the order in which they call each other, how often each fact about the call is computed, and what the
// context carries where the call leaves.
//
//	go -C verify run ./calltrace
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/internal/callstate"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "calltrace:", err)
		os.Exit(1)
	}
}

// run prints both traces.
func run(out io.Writer) error {
	for _, one := range []struct {
		title string
		call  func(*trace) error
	}{{"A call through every slot of a chain", throughChain}, {"A call through the proxy", throughProxy}} {
		t := &trace{counts: make(map[string]int)}
		callstate.Observe = t.observe
		err := one.call(t)
		callstate.Observe = func(string) {}
		if err != nil {
			return fmt.Errorf("%s: %w", one.title, err)
		}
		if _, err := fmt.Fprintf(out, "%s\n\n%s\n", one.title, t); err != nil {
			return err
		}
	}
	return nil
}

// A trace is what is seen of one call. It is safe for concurrent use.
type trace struct {
	mu       sync.Mutex
	counts   map[string]int
	frames   []string
	contexts []string
}

func (t *trace) observe(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what]++
}

// begin forgets what was computed before the call.
func (t *trace) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.counts)
}

// here keeps the functions of this module that have led here, or with a function's name those that have led to it, if
// they are more than before.
func (t *trace) here(last string) {
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	var all []string
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		name, ours := strings.CutPrefix(f.Function, "github.com/fairlead-go/fairlead/")
		if ours && !strings.HasPrefix(name, "verify/") && !strings.HasPrefix(name, "middleware.ToolCallerFunc.") {
			all = append(all, name)
		}
	}
	if last != "" {
		all = all[max(0, slices.Index(all, last)):]
		if len(all) > 0 && all[0] != last {
			return
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(all) > len(t.frames) {
		slices.Reverse(all)
		t.frames = all
	}
}

// leaves keeps what a context carries: from the innermost outwards.
func (t *trace) leaves(ctx context.Context) {
	var all []string
	for ctx != nil {
		v := reflect.Indirect(reflect.ValueOf(ctx))
		if v.Kind() != reflect.Struct {
			break
		}
		switch name := strings.TrimPrefix(v.Type().String(), "context."); name {
		case "valueCtx":
			all = append(all, "a value under "+v.FieldByName("key").Elem().Type().String())
		case "cancelCtx", "timerCtx", "backgroundCtx", "withoutCancelCtx", "afterFuncCtx", "stopCtx":
		default:
			all = append(all, name)
		}
		field := v.FieldByName("Context")
		if !field.IsValid() {
			field = v.FieldByName("c")
		}
		if !field.IsValid() || !field.CanInterface() {
			break
		}
		ctx, _ = reflect.TypeAssert[context.Context](field)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.contexts = slices.Compact(all)
}

func (t *trace) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, f := range t.frames {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	b.WriteString("computed:")
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&b, " %s %d,", what, t.counts[what])
	}
	return strings.TrimSuffix(b.String(), ",") + "\ncontext, innermost first: " + strings.Join(t.contexts, ", ") + "\n"
}

// A watched context keeps how it has come to where the proxy sends the call, which reads it there.
type watched struct {
	context.Context

	trace *trace
}

func (w watched) Value(key any) any {
	w.trace.here("cmd/fairlead/proxy.(*server).exchangeCall")
	return w.Context.Value(key)
}
