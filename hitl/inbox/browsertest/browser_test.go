// Package browsertest drives a real Chromium over the pages of the inbox, and over the
// one that fairlead inspect writes. It is a module of its own, so that the driver is
// nobody's dependency.
//
// FAIRLEAD_CHROMIUM names the browser; without it the usual names are looked for.
// FAIRLEAD_AXE names a file axe.min.js, and FAIRLEAD_SCREENSHOTS a directory.
package browsertest

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

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
	if focused := got[string](d, d.browser, focused); focused != "Approve: Delete file a.txt of the server files" {
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
			if label := got[string](d, d.browser, `document.querySelector(":checked").labels[0].innerText.trim()`); label != "Decide this one: Delete file a.txt of the server files" {
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
