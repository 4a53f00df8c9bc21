// Package browsertest drives a real Chromium over the pages of the inbox, and over the
// one that fairlead inspect writes. It is a module of its own, so that the driver is
// nobody's dependency.
//
// FAIRLEAD_CHROMIUM names the browser; without it the usual names are looked for.
// FAIRLEAD_AXE names a file axe.min.js, and FAIRLEAD_SCREENSHOTS a directory.
package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
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

// The card of a call that waits, as a person sees it first. With -update it is the picture in the README.
func TestApprovalPicture(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	size := emulation.SetDeviceMetricsOverrideParams{Width: 760, Height: 700, DeviceScaleFactor: 1}
	if _, err := chromedp.Call(d.browser, emulation.SetDeviceMetricsOverride, size); err != nil {
		t.Fatal(err)
	}
	d.enter()
	over := d.calls(`{"path":"drafts/2026/plan.md"}`)
	d.do(d.browser, reads("1 waiting"), visible("article .yes"), reads("files/delete_file"), reads("drafts/2026/plan.md"))
	card, err := chromedp.Run(d.browser, chromedp.Screenshot(chromedp.CSS("article")))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("../../../docs/explanation/approval.png", card, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.do(d.browser, click("article .yes"), reads("files/delete_file: approved."))
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func TestApproveDenyEdit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	over := d.calls(`{"path":"a.txt"}`)
	d.do(d.browser, reads("1 waiting"), visible("article .yes")) // it came without reloading
	d.screenshot(d.browser, "list")
	d.do(d.browser, click("article .yes"), reads("files/delete_file: approved."))
	if err := <-over; err != nil {
		t.Error(err)
	}
	d.wantExecuted(1, `{"path":"a.txt"}`)

	over = d.calls(`{"path":"b.txt"}`)
	d.do(d.browser, click("article:not(.over) .open"), visible("#reason"))
	d.screenshot(d.browser, "question")
	d.do(d.browser, chromedp.SendKeys(chromedp.CSS("#reason"), "archive it instead"), click("#reason ~ button.no"), reads("files/delete_file: denied."))
	if denied, ok := errors.AsType[*hitl.DeniedError](<-over); !ok || denied.Reason != "archive it instead" || denied.By != "ada" {
		t.Errorf("got %+v", denied)
	}
	d.wantExecuted(1, "")

	over = d.calls(`{"path":"b.txt"}`)
	d.do(d.browser, click("article .open"), visible("#arguments"),
		chromedp.SetValue(chromedp.CSS("#arguments"), `{"path":"c.txt"}`), click(`button[value="edit"]`), reads("approved as edited"))
	if err := <-over; err != nil {
		t.Error(err)
	}
	d.wantExecuted(2, `{"path":"c.txt"}`)

	over = d.calls(`{"path":"d.txt"}`)
	d.do(d.browser, click("article .open"), click(`input[value="arguments-session"]`),
		click(`.remember button[value="approve"]`), reads("files/delete_file: approved."))
	if err := errors.Join(<-over, <-d.calls(`{"path":"d.txt"}`)); err != nil {
		t.Error(err)
	}
	d.wantExecuted(4, `{"path":"d.txt"}`)
}

// From a question that waits to a rule, which answers for the next calls that fit until it is
// taken back. After three equal approvals the page suggests it.
func TestRememberedAndTakenBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	const sentence = "path under drafts/, any name"
	for i, path := range []string{"drafts/a", "drafts/b", "drafts/c", "drafts/d"} {
		over := d.calls(`{"path":"` + path + `"}`)
		d.do(d.browser, visible("article:not(.over) .open"), click("article:not(.over) .open"), visible("#reason"))
		text := got[string](d, d.browser, "document.body.innerText")
		if suggested := strings.Contains(text, "you may remember: "+sentence); suggested != (i == 3) {
			t.Errorf("question %d: a rule is suggested: %t\n%s", i, suggested, text)
		}
		if i == 3 {
			d.screenshot(d.browser, "remember")
			if first := got[string](d, d.browser, `document.querySelector("[name=remember]:checked").value`); first != "arguments-session" {
				t.Errorf("%q is chosen, want the shortest", first)
			}
			d.do(d.browser, click(`input[value="arguments-always-1-week"]`), click(`input[name="free-0"]`), click(`.remember button[value="approve"]`))
		} else {
			d.do(d.browser, click(`.decide button[value="approve"]`))
		}
		d.do(d.browser, reads("files/delete_file: approved."))
		if err := <-over; err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(<-d.calls(`{"path":"drafts/e"}`), <-d.calls(`{"path":"drafts/f"}`)); err != nil {
		t.Error(err)
	}
	d.wantExecuted(6, `{"path":"drafts/f"}`)
	all, err := d.store.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Uses != 2 || all[0].By != "ada" || all[0].String() != "files/delete_file with "+sentence || all[0].Until.Sub(all[0].Since).Round(time.Second) != 7*24*time.Hour {
		t.Fatalf("got %+v, %v", all, err)
	}
	for _, path := range []string{"drafts-old/a", "drafts/../a"} {
		over := d.calls(`{"path":"` + path + `"}`)
		d.do(d.browser, visible("article:not(.over) .no"), click("article:not(.over) .no"), reads("denied."))
		if err := <-over; !errors.Is(err, hitl.ErrDenied) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	other, err := approvals.OpenFile(d.file, nil) // as another process has it
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	d.do(d.browser, reads("Do not ask about files/delete_file with "+sentence+`, for "session 1", until `), reads("by ada, since "), reads("used 2 times"))
	d.screenshot(d.browser, "remembered")
	d.do(d.browser, chromedp.Evaluate[chromedp.Void](`document.querySelector("#remembered button").focus()`))
	if err := <-d.calls(`{"path":"drafts/f"}`); err != nil { // the page is read again, with another count of uses
		t.Error(err)
	}
	over := d.calls(`{"path":"elsewhere"}`)
	d.do(d.browser, reads("used 3 times"), visible("article:not(.over) .no"))
	if !got[bool](d, d.browser, `document.activeElement.matches("#remembered button")`) {
		t.Error("the button that had the focus lost it when the page was read again")
	}
	d.do(d.browser, chromedp.KeyEvent(kb.Enter),
		reads("files/delete_file with "+sentence+": taken back."), reads("Nothing is remembered."))
	if left, err := other.List(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("another process has %+v, %v", left, err)
	}
	d.do(d.browser, click("article:not(.over) .no"), until(`document.querySelector("article:not(.over)") === null`))
	if err := <-over; !errors.Is(err, hitl.ErrDenied) {
		t.Errorf("elsewhere: got %v", err)
	}
	over = d.calls(`{"path":"drafts/g"}`)
	d.do(d.browser, click("article:not(.over) .no"))
	if err := <-over; !errors.Is(err, hitl.ErrDenied) {
		t.Errorf("after it was taken back: got %v", err)
	}
	d.wantExecuted(7, "")
}

func TestExpires(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 20*time.Second) // for a slow browser to show it while it counts
	d.enter()
	over := d.calls(`{"path":"a.txt"}`)
	d.do(d.browser, visible("article .left"), reads("s left"))
	if err := <-over; !errors.Is(err, hitl.ErrDenied) {
		t.Errorf("got error %v", err)
	}
	d.do(d.browser, reads("nobody answered in time"), until(`document.querySelector("article .yes") === null`))
	d.wantExecuted(0, "")
}

// What one tab decides the other one sees; its buttons do not move, and are gone.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	second, closeSecond := chromedp.NewContext(d.browser)
	defer closeSecond()
	d.do(second, chromedp.Navigate(d.origin+"/approvals/"), visible("#waiting"))
	a, b := d.calls(`{"path":"a.txt"}`), d.calls(`{"path":"b.txt"}`)
	for _, tab := range []context.Context{d.browser, second} {
		d.do(tab, reads("2 waiting"))
	}
	const top = `document.querySelectorAll("article")[1].getBoundingClientRect().top + scrollY`
	before := got[float64](d, second, top)
	d.do(d.browser, click("article .yes"), reads("approved."))
	d.do(second, reads("1 waiting"), until(`document.querySelectorAll("article.over").length === 1`))
	if after := got[float64](d, second, top); math.Abs(before-after) >= 1 {
		t.Errorf("the second question moved from %v to %v", before, after)
	}
	d.do(second, click("article:not(.over) .no"), reads("denied."))
	d.do(d.browser, reads("Nothing waits"))
	first, other := <-a, <-b
	if (first == nil) == (other == nil) {
		t.Errorf("got errors %v and %v, want one", first, other)
	}
	d.wantExecuted(1, "")
}

// A page whose program has ended says so.
func TestProgramEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	d.calls(`{"path":"a.txt"}`)
	d.do(d.browser, reads("1 waiting"))
	d.stop()
	d.do(d.browser, reads("The program does not answer"))
}

// Without a pointer: keys move, Enter presses.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	over := d.calls(`{"path":"a.txt"}`)
	d.do(d.browser, reads("1 waiting"), visible("article .yes"),
		chromedp.KeyEvent("y"), chromedp.KeyEvent("j"), chromedp.KeyEvent("y"))
	d.wantExecuted(0, "") // a key alone decides nothing
	const focused = `document.activeElement.getAttribute("aria-label") ?? ""`
	if focused := got[string](d, d.browser, focused); focused != "Approve: Delete file a.txt of files" {
		t.Errorf("the focus is on %q", focused)
	}
	d.do(d.browser, chromedp.KeyEvent("n"), chromedp.KeyEvent(kb.Enter), reads("files/delete_file: denied."))
	if err := <-over; !errors.Is(err, hitl.ErrDenied) {
		t.Errorf("got error %v", err)
	}
	over = d.calls(`{"path":"b.txt"}`)
	d.do(d.browser, reads("1 waiting"), visible("article:not(.over) .yes"))
	for range 40 { // with the tabulator alone
		d.do(d.browser, chromedp.KeyEvent(kb.Tab))
		if strings.HasPrefix(got[string](d, d.browser, focused), "Approve") {
			break
		}
	}
	d.do(d.browser, chromedp.KeyEvent(kb.Enter), reads("files/delete_file: approved."))
	if err := <-over; err != nil {
		t.Error(err)
	}
	d.wantExecuted(1, `{"path":"b.txt"}`)
}

// Without JavaScript: forms, links, and a page that looks again by itself.
func TestWithoutJavaScript(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.do(d.browser, chromedp.Navigate("about:blank"))
	if _, err := chromedp.Call(d.browser, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	d.enter()
	over := d.calls(`{"path":"a.txt"}`)
	d.do(d.browser, visible("article .open"), click("article .open"), // after at most ten seconds
		visible("#reason"), chromedp.SendKeys(chromedp.CSS("#reason"), "not today"), click("#reason ~ button.no"), visible(".done"))
	if denied, ok := errors.AsType[*hitl.DeniedError](<-over); !ok || denied.Reason != "not today" {
		t.Errorf("got %+v", denied)
	}
	over = d.calls(`{"path":"b.txt"}`)
	d.do(d.browser, visible("article .open"))
	if listed := got[bool](d, d.browser, `document.querySelector("article .yes").checkVisibility()`); listed {
		t.Error("the list, which closes up when it is read again, has a button to approve")
	}
	d.do(d.browser, click("article .open"), press(".decide .yes", ".done"))
	if err := <-over; err != nil {
		t.Error(err)
	}
	d.wantExecuted(1, `{"path":"b.txt"}`)
}

// Several questions of one tool, with the keyboard, and again without JavaScript. Only what is
// ticked is decided.
func TestTogether(t *testing.T) {
	t.Parallel()
	for _, script := range []bool{true, false} {
		d := newDesk(t, 5*time.Minute) // a page of the one before may still be loading
		d.do(d.browser, chromedp.Navigate("about:blank"))
		if _, err := chromedp.Call(d.browser, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !script}); err != nil {
			t.Fatal(err)
		}
		d.enter()
		before := d.executed.Load()
		long := d.calls(`{"path":"long.txt","body":"` + strings.Repeat("word ", 100) + `"}`)
		d.do(d.browser, visible("article"))
		a := d.calls(`{"path":"a.txt"}`)
		d.do(d.browser, reads("a.txt"))
		b := d.calls(`{"path":"b.txt"}`)
		d.do(d.browser, visible(`a[href*="together"]`), click(`article:last-of-type a[href*="together"]`), visible(`button[value="approve"]`), reads("3 shown"))
		if boxes := got[int](d, d.browser, `document.querySelectorAll("article input[type=checkbox]").length`); boxes != 2 {
			t.Errorf("%d questions can be ticked, want the two that are whole", boxes)
		}
		if script {
			d.screenshot(d.browser, "together")
			c := d.calls(`{"path":"c.txt"}`)
			d.do(d.browser, reads("c.txt"), chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("y"), chromedp.KeyEvent(" "))
			if label := got[string](d, d.browser, `document.querySelector(":checked").labels[0].innerText.trim()`); label != "Decide this one: Delete file a.txt of files" {
				t.Errorf("the box that is ticked is %q", label)
			}
			press := []chromedp.Action[chromedp.Void]{chromedp.Evaluate[chromedp.Void](`document.querySelector('button[value="approve"]').focus()`), chromedp.KeyEvent(kb.Enter)}
			d.do(d.browser, press...) // the button has moved, since a question was added
			d.do(d.browser, reads("That button had just moved, so nothing was decided."), chromedp.Sleep(time.Second))
			d.do(d.browser, press...)
			d.do(d.browser, reads("files/delete_file: approved."))
			if err := <-a; err != nil {
				t.Error(err)
			}
			d.do(d.browser, click(`article:last-of-type a[href*="together"]`), reads("3 shown"), chromedp.Evaluate[chromedp.Void](
				`for (const box of document.querySelectorAll("[type=checkbox]")) box.click()`), click(`button[value="deny"]`), visible(".done"))
			d.do(d.browser, reads(`{"path":"b.txt"}: denied.`), reads(`{"path":"c.txt"}: denied.`))
			if err := <-c; !errors.Is(err, hitl.ErrDenied) {
				t.Error(err)
			}
		} else {
			d.do(d.browser, click("article:nth-of-type(2) [type=checkbox]"), click("article:nth-of-type(3) [type=checkbox]"),
				click(`button[value="deny"]`), reads(`{"path":"a.txt"}: denied.`), reads(`{"path":"b.txt"}: denied.`))
			if err := <-a; !errors.Is(err, hitl.ErrDenied) {
				t.Error(err)
			}
		}
		if err := <-b; !errors.Is(err, hitl.ErrDenied) {
			t.Error(err)
		}
		d.do(d.browser, reads("1 waiting"), click("article:not(.over) .no"), visible(".done"))
		if err := <-long; !errors.Is(err, hitl.ErrDenied) {
			t.Error(err)
		}
		if got := d.executed.Load() - before; script && got != 1 || !script && got != 0 {
			t.Errorf("%d calls were made", got)
		}
	}
}

// A page of the server's text runs nothing, and the browser has nothing to say
// against the page.
func TestHostileText(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	d.tool.Definition.Description = `</dd><script>window.ran = 1</script><img src=x onerror="window.ran = 1">`
	over := d.calls(`{"path":"<script>window.ran = 1</script>"}`)
	d.do(d.browser, visible("article .open"), click("article .open"), visible("#reason"))
	ran := got[bool](d, d.browser, `"ran" in window`)
	if text := got[string](d, d.browser, "document.body.innerText"); ran || !strings.Contains(text, "<script>window.ran") {
		t.Errorf("it ran: %t\n%s", ran, text)
	}
	d.do(d.browser, click("button.no"))
	<-over
}

// axe is the source of axe-core.
func axe(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(os.Getenv("FAIRLEAD_AXE"))
	if err != nil {
		t.Skip("SKIPPED: FAIRLEAD_AXE names no axe.min.js: nobody checks that everybody can use the pages")
	}
	return string(source)
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

// axe-core finds nothing, in the light, in the dark and on a phone.
func TestAccessible(t *testing.T) {
	t.Parallel()
	source := axe(t)
	d := newDesk(t, 5*time.Minute)
	over := []<-chan error{d.calls(`{"path":"a.txt","body":"` + strings.Repeat("word ", 40) + `"}`)}
	d.enter()
	d.do(d.browser, click("article .yes"), reads("approved."))
	over = append(over, d.calls(`{"path":"b.txt"}`))
	d.do(d.browser, reads("1 waiting"), visible("article .open"))
	for _, path := range []string{"list", "question"} {
		if path == "question" {
			d.do(d.browser, click("article .open"), visible("#reason"))
		}
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1000, 320} {
				name := path + "-" + scheme + map[int64]string{1000: "", 320: "-phone"}[width]
				d.do(d.browser, chromedp.EmulateViewport(width, 700))
				if _, err := chromedp.Call(d.browser, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
					t.Fatal(err)
				}
				d.accessible(d.browser, name, source)
				d.screenshot(d.browser, name)
			}
		}
	}
	d.do(d.browser, click("button.no"))
	for _, o := range over {
		<-o
	}
}
