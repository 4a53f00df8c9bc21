package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
	"github.com/fairlead-go/fairlead/cmd/fairlead/report"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// onePage is a report of inspect as a file, in which a server has written what it
// should not.
func onePage(t *testing.T) string {
	t.Helper()
	r := &report.Report{Servers: []report.Server{{ID: "files", Target: "npx files"}, {ID: "gone", Target: "npx gone", Error: "it said nothing"}}}
	for _, tool := range []struct {
		name  string
		class annotation.Safety
		a     annotation.Annotations
	}{
		{"get_file", annotation.Safe, annotation.ReadOnly()},
		{"delete_file", annotation.Dangerous, annotation.Destructive()},
		{"make_file_with_a_name_that_is_as_long_as_names_may_be_and_then_some_more_of_it", annotation.Moderate, annotation.Write()},
		{"</td><script>window.ran = 1</script>", annotation.Unknown, annotation.Annotations{}},
	} {
		r.Tools = append(r.Tools, report.Tool{Server: "files", Name: tool.name, Effective: tool.a, Safety: tool.class, Evidence: tool.a.Evidence, Will: []string{"ask first", "never cache"}})
		r.Findings = append(r.Findings, report.Finding{Level: report.Error, Rule: "doubted", Server: "files", Tool: tool.name, Text: "<img src=x onerror='window.ran = 1'>"})
	}
	var b bytes.Buffer
	if err := r.HTML(&b, time.Now()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tools.html")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

const names = `[...document.querySelectorAll("tbody th")].map(e => e.textContent.trim().slice(0, 8)).join()`

// The page of inspect runs its own script under its own policy and nothing else: a
// click on a head sorts, by class from the worst one on.
func TestInspectPageSorts(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, browser: open(t)}
	d.do(d.browser, chromedp.Navigate(onePage(t)), visible("thead button"))
	if ran := got[bool](d, d.browser, `"ran" in window`); ran {
		t.Error("a server's words ran")
	}
	sorted := func(column int, want string) {
		t.Helper()
		d.do(d.browser, click("thead th:nth-child("+string(rune('0'+column))+") button"))
		if got := got[string](d, d.browser, names); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	const worst, mildest = "</td><sc,delete_f,make_fil,get_file", "get_file,make_fil,delete_f,</td><sc"
	if got := got[string](d, d.browser, names); got != worst {
		t.Errorf("got %s, want %s", got, worst)
	}
	sorted(3, worst)
	sorted(3, mildest)
	sorted(2, "</td><sc,delete_f,get_file,make_fil")
	if state := got[string](d, d.browser, `document.querySelectorAll("th[aria-sort]").length + " " + document.querySelector("thead th:nth-child(2)").ariaSort`); state != "1 ascending" {
		t.Errorf("a screen reader hears %q", state)
	}
}

// The page of inspect for two servers, as the command writes it. With -update it is the picture in the docs.
func TestInspectPicture(t *testing.T) {
	t.Parallel()
	args := []string{"inspect", "--format", "html", "--fail-on", "none"}
	servers := map[string][]*mcp.Tool{
		"files": {
			annotation.Declare(mcptest.Tool("read_file", "Read a file."), annotation.ReadOnly()),
			annotation.Declare(mcptest.Tool("delete_draft", "Delete a draft."), annotation.ReadOnly()),
			annotation.Declare(mcptest.Tool("write_file", "Overwrite a file."), annotation.Destructive()),
		},
		"notes": {mcptest.Tool("list_notes", "List the notes."), mcptest.Tool("create_note", "Create a note."), mcptest.Tool("frobnicate", "")},
	}
	for _, id := range []string{"files", "notes"} {
		server := mcptest.New()
		for _, tool := range servers[id] {
			mcptest.Add(server, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text(""), nil })
		}
		at, _ := mcptest.HTTPTransport(t, server, mcptest.Legacy)
		args = append(args, "--server", id+"="+at.Endpoint)
	}
	path := filepath.Join(t.TempDir(), "tools.html")
	page, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if code := command.Run(t.Context(), args, strings.NewReader(""), page, os.Stderr); code != 0 || page.Close() != nil {
		t.Fatalf("inspect ended with %d", code)
	}
	d := &desk{t: t, browser: open(t)}
	d.do(d.browser, chromedp.Navigate("file://"+path), visible("thead button"), reads("files/delete_draft"), reads("notes/frobnicate"))
	keep(d, "../../../docs/reference/inspect.png")
}

func TestInspectPageIsAccessible(t *testing.T) {
	t.Parallel()
	source := axe(t)
	d := &desk{t: t, browser: open(t)}
	address := onePage(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1000, 320} {
			d.do(d.browser, chromedp.EmulateViewport(width, 700), media(scheme, ""), chromedp.Navigate(address), visible("tbody th"))
			d.accessible(d.browser, strings.Join([]string{"inspect", scheme, map[int64]string{1000: "wide", 320: "phone"}[width]}, "-"), source)
		}
	}
	d.do(d.browser, chromedp.EmulateViewport(700, 900), media("light", "print"), chromedp.Navigate(address))
	if head := got[string](d, d.browser, `getComputedStyle(document.querySelector("thead")).display + " " + getComputedStyle(document.body).backgroundColor`); head != "table-header-group rgb(255, 255, 255)" {
		t.Errorf("on paper it is %s", head)
	}
}

// media sets what the browser says of itself.
func media(scheme, kind string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: kind, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return chromedp.Void{}, err
	}
}

// What the example agent prints under an attack, at a terminal. With -update it is the picture in the docs.
func TestTerminalPicture(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// By way of the module: go test notes changes of such files only.
	printed, err := os.ReadFile(here + "/../../../examples/agent/testdata/attack.golden")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "terminal.html")
	page := `<!doctype html><meta charset="utf-8"><body style="margin:0;background:#181818;color:#ddd"><pre style="padding:1em">`
	if err := os.WriteFile(path, []byte(page+html.EscapeString(string(printed))), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, browser: open(t)}
	d.do(d.browser, chromedp.Navigate("file://"+path), visible("pre"), reads("Allow?"))
	keep(d, "../../../docs/explanation/terminal.png")
}

// keep writes the picture of a page with -update.
func keep(d *desk, path string) {
	d.t.Helper()
	if !*update {
		return
	}
	png, err := chromedp.Run(d.browser, chromedp.FullScreenshot(100))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		d.t.Fatal(err)
	}
}
