package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// chromium finds the browser, and skips loudly where there is none.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("FAIRLEAD_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("SKIPPED: no Chromium: nobody looks at the inbox with a real browser; set FAIRLEAD_CHROMIUM")
	return ""
}

// open starts a browser with one tab; both end with the test.
func open(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path := chromium(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1000, 900),
		chromedp.WSURLReadTimeout(5*time.Minute)) // for the first start on a machine with much else to do
	options = append(options, more...)
	allocated, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	tab, closeTab := chromedp.NewContext(allocated)
	t.Cleanup(closeTab)
	if err := chromedp.Do(tab); err != nil { // the first one begins the browser
		t.Fatal(err)
	}
	bounded, cancel := context.WithTimeout(tab, 5*time.Minute)
	t.Cleanup(cancel)
	return bounded
}

// A desk is an inbox with a chain behind it and a browser in front of it.
type desk struct {
	t        *testing.T
	in       *inbox.Inbox
	file     string
	store    *approvals.File
	origin   string
	caller   middleware.ToolCaller
	tool     *middleware.Tool
	executed atomic.Int64
	last     atomic.Value
	browser  context.Context // the first tab
	stop     func()          // ends the page's server
}

func newDesk(t *testing.T, lifetime time.Duration) *desk {
	t.Helper()
	d := &desk{t: t, file: filepath.Join(t.TempDir(), "approvals.jsonl")}
	var err error
	if d.store, err = approvals.OpenFile(d.file, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.store.Close() })
	d.in = inbox.New(inbox.Options{Store: d.store})
	ready, stopped := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	d.stop = stop
	go func() { stopped <- d.in.ListenAndServe(ctx, "127.0.0.1:0", func(origin string) { ready <- origin }) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	d.origin = <-ready
	executor := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		d.executed.Add(1)
		d.last.Store(string(call.Arguments))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil
	})
	d.caller = chain.Standard{Confirm: hitl.New(d.in, hitl.Options{
		Timeout: lifetime, Remember: hitl.Always, AlwaysAtOnce: true, OfferMembers: true, OfferTool: true, Store: d.store,
	})}.Then(executor)
	d.tool, err = middleware.NewTool("files", &mcp.Tool{Name: "delete_file", Description: "Delete a file."}, annotation.Destructive())
	if err != nil {
		t.Fatal(err)
	}
	d.browser = open(t)
	return d
}

// enter opens a link and goes in.
func (d *desk) enter() {
	d.t.Helper()
	d.do(d.browser, chromedp.Navigate(d.in.Link(d.origin, "ada")), click("button.yes"), visible("#waiting"))
}

func (d *desk) do(tab context.Context, actions ...chromedp.Action[chromedp.Void]) {
	d.t.Helper()
	if err := chromedp.Do(tab, actions...); err != nil {
		d.t.Fatal(err)
	}
}

// got evaluates an expression.
func got[T any](d *desk, tab context.Context, expression string, o ...chromedp.EvaluateOption) T {
	d.t.Helper()
	value, err := chromedp.Run(tab, chromedp.Evaluate[T](expression, o...))
	if err != nil {
		d.t.Fatal(err)
	}
	return value
}

// until waits for an expression to hold, on whatever page the tab is by then.
func until(expression string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		end := time.After(time.Minute)
		for {
			holds, err := chromedp.Evaluate[bool](expression)(ctx, tab)
			if err == nil && holds { // an error is a page that is being left
				return chromedp.Void{}, nil
			}
			select {
			case <-tick.C:
			case <-end:
				text, _ := chromedp.Evaluate[string]("document.body.innerText")(ctx, tab)
				return chromedp.Void{}, fmt.Errorf("it is never so: %s (last error: %v); the page says\n%s", expression, err, text)
			case <-ctx.Done():
				return chromedp.Void{}, context.Cause(ctx)
			}
		}
	}
}

func reads(text string) chromedp.Action[chromedp.Void] {
	return until("document.body.innerText.includes(" + quoted(text) + ")")
}

func visible(css string) chromedp.Action[chromedp.Void] { return until(isVisible(css)) }

func isVisible(css string) string {
	return "document.querySelector(" + quoted(css) + ")?.checkVisibility({visibilityProperty: true}) === true"
}

// isReady is whether a control can be pressed: one that approves cannot be in its first moment, nor for a while after it has
// moved, which the page's script measures.
func isReady(css string) string {
	return "(c => c?.checkVisibility({visibilityProperty: true}) && !c.disabled && " +
		"(!c.matches('.yes') || typeof place !== 'function' || performance.now() - place(c) >= 600))(document.querySelector(" + quoted(css) + ")) === true"
}

// click waits until a control can be pressed, and presses it.
func click(css string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		if v, err := until(isReady(css))(ctx, tab); err != nil {
			return v, err
		}
		return chromedp.Click(chromedp.CSS(css))(ctx, tab)
	}
}

// press clicks a control until it has had its effect, as a person does. A page without JavaScript shows one that approves
// by an animation, and a browser on a loaded machine finds it under the pointer some frames after it reports it visible: a
// click before that does nothing.
func press(css, effect string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		for range 30 {
			if v, err := until("("+isReady(css)+") || ("+isVisible(effect)+")")(ctx, tab); err != nil {
				return v, err
			}
			if over, err := chromedp.Evaluate[bool](isVisible(effect))(ctx, tab); err == nil && over {
				break
			}
			_, _ = chromedp.Click(chromedp.CSS(css))(ctx, tab) // an error is a page that is being left
			_, _ = chromedp.Sleep(2*time.Second)(ctx, tab)
		}
		return visible(effect)(ctx, tab)
	}
}

func quoted(text string) string {
	form, _ := json.Marshal(text)
	return string(form)
}

// calls begins a call.
func (d *desk) calls(arguments string) <-chan error {
	over := make(chan error, 1)
	go func() {
		_, err := d.caller.CallTool(d.t.Context(), middleware.Call{Tool: d.tool, Arguments: json.RawMessage(arguments), Scope: "session 1"})
		over <- err
	}()
	return over
}

func (d *desk) wantExecuted(times int64, last string) {
	d.t.Helper()
	if got := d.executed.Load(); got != times || last != "" && d.last.Load() != last {
		d.t.Errorf("executed %d times, the last one with %v; want %d and %s", got, d.last.Load(), times, last)
	}
}

func (d *desk) screenshot(tab context.Context, name string) {
	d.t.Helper()
	dir := os.Getenv("FAIRLEAD_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// accessible runs axe-core over the page as it is, and looks whether it fits.
func (d *desk) accessible(tab context.Context, name, source string) {
	d.t.Helper()
	got[chromedp.Void](d, tab, source)
	problems := got[[]string](d, tab, `axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html + " " + n.failureSummary).join("; ")))`, chromedp.EvalAwaitPromise)
	tooWide := got[bool](d, tab, `document.documentElement.scrollWidth > innerWidth`)
	if len(problems) > 0 || tooWide {
		d.t.Errorf("%s: too wide: %t\n%s", name, tooWide, strings.Join(problems, "\n"))
	}
}
