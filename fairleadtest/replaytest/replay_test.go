package replaytest_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Each session has the same answers, whatever revision of the protocol was recorded and is asked in.
func TestReplayAtAnotherRevision(t *testing.T) {
	t.Parallel()
	calls := [][2]string{
		{"get_note", `{"id":1}`}, {"list_notes", `{}`}, {"add_note", `{"text":"call Ada"}`}, {"list_notes", `{}`}, {"say", `{"fail":"it failed"}`},
	}
	for _, recorded := range mcptest.Versions {
		file, want, _ := record(t, notes(), recorded, calls...)
		for _, asked := range append(mcptest.Versions, "2024-11-05") {
			session := replay(t, file, asked, replaytest.Rules{})
			if got := session.InitializeResult().ProtocolVersion; got != asked {
				t.Errorf("the replay speaks %s, want %s", got, asked)
			}
			for i, c := range calls {
				if got := text(t, session, c[0], c[1]); got != want[i] {
					t.Errorf("recorded at %s, asked at %s: %s is %q, want %q", recorded, asked, c[0], got, want[i])
				}
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 4 || tools.Tools[0].Description != "Adds a note." {
				t.Errorf("the tools are %v (%v)", tools, err)
			}
		}
	}
}

func TestReadsByArgumentsAndWritesInOrder(t *testing.T) {
	t.Parallel()
	file, _, _ := record(t, notes(), "", [][2]string{
		{"list_notes", `{"of":"ada","most":10}`}, {"add_note", `{"text":"a"}`}, {"list_notes", `{"most":10,"of":"ada"}`},
		{"add_note", `{"text":"b"}`}, {"get_note", `{"id":1}`}, {"get_note", `{"id":2}`},
	}...)
	for name, c := range map[string]struct {
		rules replaytest.Rules
		calls [][2]string // the call, and its answer
	}{
		"reads in any order, then the last again": {calls: [][2]string{
			{`get_note {"id":2}`, "a"}, {`get_note {"id":1}`, "buy milk"}, {`get_note {"id":2}`, "a"},
			{`list_notes {"most":10,"of":"ada"}`, "buy milk"}, {`list_notes {"of":"ada","most":10}`, "buy milk, a"}, {`list_notes {"of":"ada","most":10}`, "buy milk, a"},
		}},
		"a read that was not recorded": {calls: [][2]string{
			{`get_note {"id":3}`, "error: calling \"tools/call\": replay: get_note was not recorded: it differs in /id: recorded 1, now 3; it is the nearest recorded call, calls/4: ask as recorded, or record anew"},
			{`list_notes {"of":"bob","most":10}`, "error: calling \"tools/call\": replay: list_notes was not recorded: it differs in /of: recorded \"ada\", now \"bob\"; it is the nearest recorded call, calls/0: ask as recorded, or record anew"},
			{`get_note {"id":1,"raw":true}`, "error: calling \"tools/call\": replay: get_note was not recorded: it differs in /raw: not recorded, now true; it is the nearest recorded call, calls/4: ask as recorded, or record anew"},
			{`get_note {}`, "error: calling \"tools/call\": replay: get_note was not recorded: it differs in /id: recorded 1, now absent; it is the nearest recorded call, calls/4: ask as recorded, or record anew"},
			{`get_note {"id":2,"password":"A-secret-of-today"}`, "error: calling \"tools/call\": replay: get_note was not recorded: it differs in /password: not recorded, now \"[redacted]\"; it is the nearest recorded call, calls/5: ask as recorded, or record anew"},
			{`say {}`, "error: calling \"tools/call\": replay: no call of say was recorded; record anew with one"},
		}},
		"writes": {calls: [][2]string{
			{`add_note {"text":"b"}`, "error: calling \"tools/call\": replay: add_note was not recorded: it differs in /text: recorded \"a\", now \"b\"; it is the next recorded call of the tool, calls/1: make the calls in the recorded order, or record anew"},
			{`add_note {"text":"a"}`, "note 2"},
			{`add_note {"text":"b"}`, "note 3"},
			{`add_note {"text":"b"}`, "error: calling \"tools/call\": replay: add_note was called more often than recorded; record anew, or simulate writes"},
		}},
		"simulated writes": {replaytest.Rules{SimulateWrites: true}, [][2]string{
			{`add_note {"text":"c"}`, "note 3"},
			{`add_note {"text":"a"}`, "note 2"},
			{`get_note {"id":3}`, "error: calling \"tools/call\": replay: get_note was not recorded: it differs in /id: recorded 1, now 3; it is the nearest recorded call, calls/4: ask as recorded, or record anew"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := replay(t, file, "", c.rules)
			for _, one := range c.calls {
				tool, arguments, _ := strings.Cut(one[0], " ")
				if got := text(t, session, tool, arguments); got != one[1] {
					t.Errorf("%s is %s\nwant %s", one[0], got, one[1])
				}
			}
		})
	}
}

// What a tool declares counts for the replay only if it is trusted or stricter.
func TestTrust(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	tool := mcptest.Tool("frobnicate", "")
	tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcptest.Add(server, tool, func(_ context.Context, raw json.RawMessage) (*mcp.CallToolResult, error) {
		return mcptest.Text(string(raw)), nil
	})
	file, _, _ := record(t, server, "", [2]string{"frobnicate", `{"id":1}`}, [2]string{"frobnicate", `{"id":2}`})
	for trust, want := range map[bool]bool{false: false, true: true} {
		got := text(t, replay(t, file, "", replaytest.Rules{Trust: trust}), "frobnicate", `{"id":2}`)
		if (got == `{"id":2}`) != want {
			t.Errorf("with trust %v the second call comes first: %s", trust, got)
		}
	}
	server, yes := mcptest.New(), true
	tool = mcptest.Tool("get_note", "")
	tool.Annotations = &mcp.ToolAnnotations{DestructiveHint: &yes}
	mcptest.Add(server, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text("done"), nil })
	file, _, _ = record(t, server, "", [2]string{"get_note", `{"id":1}`}, [2]string{"get_note", `{"id":2}`})
	if got := text(t, replay(t, file, "", replaytest.Rules{}), "get_note", `{"id":2}`); got == "done" {
		t.Error("what declares itself destructive is answered in any order")
	}
}

// A test in which a call was not recorded fails, whatever the agent makes of the error.
func TestUnrecordedCallFailsTheTest(t *testing.T) {
	t.Parallel()
	f := run(t, func(tt testing.TB) {
		text(t, replaytest.Connect(tt, filepath.Join("testdata", "notes.json"), replaytest.Options{}), "get_note", `{"id":7}`)
	})
	if len(f.failures) != 1 || !strings.Contains(f.failures[0], "/id: recorded 1, now 7") {
		t.Errorf("the failures are %q", f.failures)
	}
}
