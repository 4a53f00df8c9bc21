package screen_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/agent/screen"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func none(string) string { return "" }

func result(text string, structured any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: structured}
}

// show draws the same things on any screen.
func show(s screen.Screen) {
	s.Start(screen.Start{Planner: "rules, no model", Hint: "set X for one", Server: "files", Folder: "/tmp/x"})
	s.Tools([]screen.Tool{
		{Name: "read_file", Declared: "—", Inferred: "read-only", Class: "safe", Will: "run · remember · retry"},
		{Name: "a_tool_with_a_name_that_is_longer_than_any_column", Declared: "destructive", Inferred: "destructive, confirm", Class: "dangerous",
			Will: "ask first · never cache · retry if not sent"},
		{Name: "evil\x1b[2J", Declared: "—", Inferred: "—", Class: "unknown", Will: "ask first"},
	})
	s.Say("What is there?")
	s.Problem("files/evil\x1b[31m: its name has a character that no name may have, and this line is long enough to be wrapped")
	s.Progress(screen.Progress{Done: 1, Total: 2, Message: "half"})
	long := strings.Repeat("word ", 40)
	for _, c := range []screen.Call{
		{Tool: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`), State: plan.Done, From: "server", Tries: 3, Took: 1200 * time.Millisecond,
			Result: result("", map[string]any{"path": "a.txt", "text": long, "lines": []any{1, 2}, "next": nil})},
		{Tool: "read_file", Arguments: json.RawMessage(`{}`), State: plan.Done, From: "memory", Took: 10 * time.Microsecond, Result: result("plain \x1b[2Jtext\nmore", nil)},
		{Tool: "delete_file", Arguments: json.RawMessage(`{"path":"` + strings.Repeat("long/", 30) + `"}`), State: plan.Denied, From: "nowhere", Answer: "denied", Trouble: "nobody is here to ask"},
		{Tool: "move_file", Arguments: json.RawMessage(`{"from":"a","to":"b"}`), State: plan.Unknown, From: "server", Answer: "allowed", By: "you", Edited: true, Waited: 100 * time.Millisecond, Trouble: "it may have happened: " + long},
		{Tool: "read_file", Arguments: json.RawMessage(`[1`), State: plan.Errored, From: "nowhere", Trouble: "the arguments are refused: " + long},
	} {
		s.Call(c)
	}
	s.Ledger(screen.Ledger{Effects: 3, Twice: []string{"delete_file x"}, Folder: "/tmp/x"})
	s.Summary(screen.Counts{Calls: 5, Denied: 1, Asked: 1})
}

func TestATranscriptFitsItsWidthAndIsSafeToShow(t *testing.T) {
	t.Parallel()
	var out, bar bytes.Buffer
	show(screen.Text(&out, &bar, none))
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
	if strings.ContainsRune(out.String(), '\x1b') || bar.Len() > 0 {
		t.Errorf("without a terminal there is no colour and no bar:\n%q\n%q", out.String(), bar.String())
	}
	for _, want := range []string{
		"planner: rules, no model (set X for one)\n", `evil\x1b`, "3 tries ·  1.2s", "memory ·  <1ms", "2 lines, no next, text of 20…",
		"denied ·  <1ms", "allowed · edited · server · waited 100ms ·  <1ms", "a → b", "? move_file", "happened more than once: delete_file x",
		"    the arguments are refused: word word",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the transcript does not say %q:\n%s", want, out.String())
		}
	}
}

func TestEventsAreOneObjectALine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	show(screen.JSON(&out))
	var kinds []string
	last := ""
	for line := range strings.Lines(out.String()) {
		var e struct {
			Event string `json:"event"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Event == "" {
			t.Fatalf("%q is no event: %v", line, err)
		}
		kinds, last = append(kinds, e.Event), line
	}
	if got, want := strings.Join(kinds, " "), "start tool tool tool say problem call call call call call ledger summary"; got != want {
		t.Errorf("the events are %q, want %q", got, want)
	}
	want := `{"event":"summary","calls":5,"server_calls":0,"cache_hits":0,"retries":0,"asked":1,"allowed":0,"denied":1,"waited":0,"limited":0,"unknown":0}`
	if strings.TrimSpace(last) != want {
		t.Errorf("the summary is %s, want %s", last, want)
	}
}
