package browsertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// middle returns the middle of an element on the screen.
func middle(d *desk, css string) (x, y float64) {
	d.t.Helper()
	at := got[[]float64](d, d.browser, "(b => [b.left + b.width / 2, b.top + b.height / 2])(document.querySelector("+quoted(css)+").getBoundingClientRect())")
	return at[0], at[1]
}

// three asks about three calls, and decides about a first one, as somebody does who has the page open for long.
func three(d *desk) []<-chan error {
	d.t.Helper()
	before := d.calls(`{"path":"before.txt"}`)
	d.do(d.browser, click("article:not(.over) .no"), reads("files/delete_file: denied."))
	if err := <-before; !errors.Is(err, hitl.ErrDenied) {
		d.t.Error(err)
	}
	var over []<-chan error
	for i := range 3 {
		over = append(over, d.calls(fmt.Sprintf(`{"path":"%d.txt"}`, i)))
		d.do(d.browser, reads(fmt.Sprintf("%d waiting", i+1)))
	}
	return over
}

// Two clicks in one place approve one call, however long the pause between them: nothing that approves comes under the
// pointer, and what has just appeared does nothing.
func TestDoubleClickApprovesOne(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	three(d)
	for n, pause := range []time.Duration{60, 120, 200, 300, 450} {
		executed := d.executed.Load()
		// With the line about an earlier decision over the list, a page that closed up would have the next button there.
		before := got[string](d, d.browser, `document.querySelector("[data-past]").dataset.past`)
		d.do(d.browser, chromedp.Navigate(d.origin+"/approvals/?done="+before), visible(".done"), until(isReady("article:not(.over) .yes")))
		x, y := middle(d, "article:not(.over) .yes")
		d.do(d.browser, chromedp.MouseClickXY(x, y), chromedp.Sleep(pause*time.Millisecond), chromedp.MouseClickXY(x, y), reads("files/delete_file: approved."))
		if n := d.executed.Load() - executed; n != 1 {
			t.Errorf("%v ms: %d calls were approved", int(pause), n)
		}
		if n < 4 {
			d.calls(fmt.Sprintf(`{"path":"more-%d.txt"}`, n))
			d.do(d.browser, reads("3 waiting"))
		}
	}
}

// The second click of a double click on one question's own page lands on the list, where another's button is.
func TestDoubleClickOnAQuestionsPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	three(d)
	for _, pause := range []time.Duration{60, 300} {
		executed := d.executed.Load()
		d.do(d.browser, click("article:not(.over) .open"))
		for decided := false; !decided; { // again if the page was read anew under the pointer, and so held the click back
			d.do(d.browser, until(isReady(".decide .yes")))
			x, y := middle(d, ".decide .yes")
			// The list's first button is where the other page has its own.
			d.do(d.browser, chromedp.MouseClickXY(x, y), chromedp.Sleep(pause*time.Millisecond))
			for range 3 {
				spot := got[[]float64](d, d.browser, `(b => b ? [b.left + 5, b.top + 5] : [1, 1])(document.querySelector("article:not(.over) .yes, .decide .yes")?.getBoundingClientRect())`)
				d.do(d.browser, chromedp.MouseClickXY(spot[0], spot[1]))
			}
			const approved = `document.body.innerText.includes("files/delete_file: approved.")`
			d.do(d.browser, until(approved+` || (b => b && performance.now() - place(b) >= 3000)(document.querySelector(".decide .yes")) === true`))
			decided = got[bool](d, d.browser, approved)
		}
		if n := d.executed.Load() - executed; n != 1 {
			t.Errorf("%v ms: %d calls were approved", int(pause), n)
		}
	}
}

// After a reload, back and forward the first click, key and touch do nothing for a moment.
func TestWhatHasJustAppearedDoesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	three(d)
	d.do(d.browser, visible("article:not(.over) .yes"))
	for name, appear := range map[string]chromedp.Action[chromedp.Void]{
		"a reload": chromedp.Reload(),
		"back": func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
			if v, err := click("article:not(.over) .open")(ctx, tab); err != nil {
				return v, err
			}
			if v, err := visible("#reason")(ctx, tab); err != nil {
				return v, err
			}
			return chromedp.NavigateBack()(ctx, tab)
		},
	} {
		for _, way := range []string{"pointer", "key", "touch"} {
			d.do(d.browser, appear, until(`document.querySelector("article .yes") !== null && document.documentElement.classList.contains("scripted")`))
			x, y := middle(d, "article .yes")
			switch way {
			case "pointer":
				d.do(d.browser, chromedp.MouseClickXY(x, y))
			case "key":
				d.do(d.browser, chromedp.Evaluate[chromedp.Void](`document.querySelector("article .yes").focus()`), chromedp.KeyEvent(kb.Enter))
			case "touch":
				for _, kind := range []input.DispatchTouchEventType{"touchStart", "touchEnd"} {
					p := input.DispatchTouchEventParams{Type: kind, TouchPoints: []*input.TouchPoint{}}
					if kind == "touchStart" {
						p.TouchPoints = append(p.TouchPoints, &input.TouchPoint{X: x, Y: y})
					}
					if _, err := chromedp.Call(d.browser, input.DispatchTouchEvent, p); err != nil {
						t.Fatal(err)
					}
				}
			}
			d.do(d.browser, visible("article .yes"), reads("3 waiting"))
			if n := d.executed.Load(); n != 0 {
				t.Fatalf("after %s a %s approved %d", name, way, n)
			}
		}
	}
	d.do(d.browser, click("article .yes"), reads("files/delete_file: approved."))
	d.wantExecuted(1, "")
}

// Without JavaScript the list is read again every ten seconds, and closes up: it has nothing that approves.
func TestListWithoutJavaScriptApprovesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.do(d.browser, chromedp.Navigate("about:blank"))
	if _, err := chromedp.Call(d.browser, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	d.enter()
	d.calls(`{"path":"a.txt"}`)
	d.calls(`{"path":"b.txt"}`)
	d.do(d.browser, reads("2 waiting"), until(`[...document.querySelectorAll(".yes")].every(b => !b.checkVisibility())`))
	d.do(d.browser, click("article .open"), visible(".decide .yes"))
	x, y := middle(d, ".decide .yes")
	const decided = `["1 waiting", "This was decided already"].some(t => document.body.innerText.includes(t))`
	for range 30 { // a browser on a loaded machine drops clicks before it has painted the page
		d.do(d.browser, chromedp.MouseClickXY(x, y), chromedp.Sleep(100*time.Millisecond), chromedp.MouseClickXY(x, y), chromedp.Sleep(2*time.Second))
		if over, err := chromedp.Run(d.browser, chromedp.Evaluate[bool](decided)); err == nil && over {
			break
		}
	}
	d.do(d.browser, until(decided)) // the second click came before the list was there
	list := d.origin + "/approvals/"
	d.do(d.browser, chromedp.Navigate(list), reads("1 waiting"), chromedp.MouseClickXY(x, y), chromedp.Navigate(list), reads("1 waiting"))
	d.wantExecuted(1, "")
}

// What is longer than the list has room for is approved on its own page, and there once its end was on the screen.
func TestUnseenIsNotApproved(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.enter()
	over := d.calls(`{"path":"a.txt","body":"` + strings.Repeat(`a line\n`, 700) + `rm -rf ~\n"}`)
	d.do(d.browser, reads("1 waiting"), reads(" lines are not shown."))
	if buttons := got[int](d, d.browser, `document.querySelectorAll("article .yes").length`); buttons != 0 {
		t.Errorf("the list has %d buttons that approve", buttons)
	}
	for _, size := range [][2]int64{{1000, 900}, {390, 844}} {
		d.do(d.browser, chromedp.EmulateViewport(size[0], size[1]), click("article .open"), visible(".decide .yes"))
		const state = `(() => { const b = document.querySelector(".decide .yes"), r = b.getBoundingClientRect(); return [b.disabled, r.top >= 0 && r.bottom <= innerHeight].join() })()`
		if got := got[string](d, d.browser, state); got != "true,true" {
			t.Errorf("%v: at first, disabled and on the screen: %s", size, got)
		}
		x, y := middle(d, ".decide .yes")
		d.do(d.browser, chromedp.MouseClickXY(x, y))
		d.wantExecuted(0, "")
		if size[0] == 1000 {
			d.do(d.browser, chromedp.NavigateBack(), visible("article .open"))
		}
	}
	d.screenshot(d.browser, "unread-phone")
	d.do(d.browser, chromedp.Evaluate[chromedp.Void](`document.getElementById("end").scrollIntoView()`), click(".decide .yes"), reads("files/delete_file: approved."))
	if err := <-over; err != nil {
		t.Error(err)
	}
	d.wantExecuted(1, "")
}

// On a phone both buttons of a question are on the first screen, in the list and on its own page.
func TestPhoneShowsBothButtons(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.do(d.browser, chromedp.EmulateViewport(390, 844))
	d.enter()
	d.tool.Definition.Description = strings.Repeat("It deletes a file of the workspace. ", 20)
	d.calls(`{"path":"some/folder/with/a/long/name/that/goes/on/file-with-a-name.txt","reason":"It is not used any more, as far as I can see."}`)
	d.do(d.browser, reads("1 waiting"), visible("article .yes"))
	for _, page := range []string{"list", "question"} {
		if page == "question" {
			d.do(d.browser, click("article .open"), visible(".decide .yes"))
		}
		for _, css := range []string{".yes", ".no"} {
			bottom := got[float64](d, d.browser, "document.querySelector("+quoted(css)+").getBoundingClientRect().bottom")
			if bottom <= 0 || bottom > 844 {
				t.Errorf("%s: %s ends at %v of 844", page, css, bottom)
			}
		}
		if wide := got[bool](d, d.browser, `document.documentElement.scrollWidth > innerWidth`); wide {
			t.Errorf("%s: it is wider than the screen", page)
		}
		d.screenshot(d.browser, "phone-"+page)
	}
}

// Many values leave the button to deny on a phone's first screen, and a value that is read from the right is in the order of
// the sentence.
func TestPhoneShowsShortValuesBesideTheirNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 5*time.Minute)
	d.do(d.browser, chromedp.EmulateViewport(390, 844))
	d.enter()
	arguments := `{"path":"\u05e7\u05d5\u05d1\u05e5.txt"`
	for i := range 40 {
		arguments += fmt.Sprintf(`,"option_%02d":%d`, i, i)
	}
	d.calls(arguments + "}")
	d.do(d.browser, reads("1 waiting"), visible("article .no"))
	if bottom := got[float64](d, d.browser, `document.querySelector("article .no").getBoundingClientRect().bottom`); bottom <= 0 || bottom > 844 {
		t.Errorf("Deny ends at %v of 844", bottom)
	}
	if as := got[string](d, d.browser, `getComputedStyle(document.querySelector(".arguments pre")).direction`); as != "ltr" {
		t.Errorf("the path is read %s", as)
	}
	d.screenshot(d.browser, "phone-values")
}

// A comparison shows its marks, also on a phone, and no row of a line that is broken begins with a mark of its own.
func TestComparisonOnAPhone(t *testing.T) {
	d := newDesk(t, 5*time.Minute)
	d.do(d.browser, chromedp.EmulateViewport(390, 844))
	d.enter()
	tool := *d.tool
	tool.Definition = &mcp.Tool{Name: "edit_file", Description: "Edit a file.", InputSchema: map[string]any{"type": "object"}}
	d.tool = &tool
	d.calls(`{"path":"a.go","old_str":"one\nx","new_str":"one\n` + strings.Repeat("- <b>two</b> ", 12) + `"}`)
	d.do(d.browser, reads("1 waiting"), visible("article .yes"), visible(".compared .added"))
	if text := got[string](d, d.browser, `document.querySelector(".compared").innerText`); !strings.HasPrefix(text, "  one\n- x\n+ - <b>two</b> ") {
		t.Errorf("it reads %q", text)
	}
	lefts := `(() => { const r = document.createRange(); r.selectNodeContents(document.querySelector(".compared .added")); const all = [...r.getClientRects()]; const first = Math.min(...all.map(x => x.left)); const top = Math.min(...all.map(x => x.top)); return all.filter(x => x.top > top + 8 && x.left < first + 8).length + (all.some(x => x.top > top + 8) ? 0 : 100) })()`
	if n := got[float64](d, d.browser, lefts); n != 0 {
		t.Errorf("%v rows of a broken line begin where marks are", n)
	}
	if bottom := got[float64](d, d.browser, `document.querySelector(".yes").getBoundingClientRect().bottom`); bottom <= 0 || bottom > 844 {
		t.Errorf("Approve ends at %v of 844", bottom)
	}
	d.screenshot(d.browser, "phone-comparison")
}
