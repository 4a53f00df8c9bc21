package replaytest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/replaytest"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	mcptest.Main(m, map[string]func() *mcp.Server{"notes": notes})
}

// notes is a server whose answers depend on the calls before.
func notes() *mcp.Server {
	s, all := mcptest.New(), []string{"buy milk"}
	add := func(name, description string, answer func(arguments map[string]any) (*mcp.CallToolResult, error)) {
		mcptest.Add(s, mcptest.Tool(name, description), func(_ context.Context, raw json.RawMessage) (*mcp.CallToolResult, error) {
			var arguments map[string]any
			if err := json.Unmarshal(raw, &arguments); err != nil {
				return nil, err
			}
			return answer(arguments)
		})
	}
	add("get_note", "Gets a note.", func(arguments map[string]any) (*mcp.CallToolResult, error) {
		id, _ := arguments["id"].(float64)
		if int(id) < 1 || int(id) > len(all) {
			return nil, fmt.Errorf("there is no note %v", arguments["id"])
		}
		return mcptest.Text(all[int(id)-1]), nil
	})
	add("list_notes", "Lists the notes.", func(map[string]any) (*mcp.CallToolResult, error) {
		return mcptest.Text(strings.Join(all, ", ")), nil
	})
	add("add_note", "Adds a note.", func(arguments map[string]any) (*mcp.CallToolResult, error) {
		all = append(all, fmt.Sprint(arguments["text"]))
		return mcptest.Text(fmt.Sprintf("note %d", len(all))), nil
	})
	add("say", "", func(arguments map[string]any) (*mcp.CallToolResult, error) {
		if text, ok := arguments["fail"].(string); ok {
			return nil, errors.New(text)
		}
		text, _ := arguments["text"].(string)
		return mcptest.Text(text), nil
	})
	return s
}

// A tb is a test that may fail.
type tb struct {
	testing.TB

	failures, logs []string
	cleanups       []func()
}

func (f *tb) Helper()           {}
func (f *tb) Cleanup(do func()) { f.cleanups = append(f.cleanups, do) }
func (f *tb) Log(args ...any)   { f.logs = append(f.logs, fmt.Sprint(args...)) }
func (f *tb) Error(args ...any) { f.failures = append(f.failures, fmt.Sprint(args...)) }
func (f *tb) Fatal(args ...any) { f.Error(args...); runtime.Goexit() }
func (f *tb) Fatalf(format string, args ...any) {
	f.Fatal(fmt.Sprintf(format, args...))
}

// run runs a test that may fail.
func run(t *testing.T, test func(t testing.TB)) *tb {
	t.Helper()
	f := &tb{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, do := range slices.Backward(f.cleanups) {
				do()
			}
		}()
		test(f)
	}()
	<-done
	return f
}

func text(t *testing.T, session *mcp.ClientSession, tool, arguments string) string {
	t.Helper()
	res, err := session.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "error: " + err.Error()
	}
	if res.IsError {
		return "failed: " + output.Text(res)
	}
	return output.Text(res)
}

// record returns the file of a session with a server, the session's last text for each call, and the warnings.
func record(t *testing.T, server *mcp.Server, version string, calls ...[2]string) (file string, answers, warnings []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "session.json")
	r := replaytest.NewRecorder(file, func(text string) { warnings = append(warnings, text) })
	session := mcptest.Dial(t, nil, r.Transport(mcptest.MemoryTransport(t, server)), version)
	for range 2 { // the last list counts
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range calls {
		answers = append(answers, text(t, session, c[0], c[1]))
	}
	if err := errors.Join(session.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	return file, answers, warnings
}

func replay(t *testing.T, file, version string, rules replaytest.Rules) *mcp.ClientSession {
	t.Helper()
	recording, err := replaytest.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.ConnectVersion(t, recording.Server(rules), nil, version)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The file of the examples is what the server answers today.
func TestConnect(t *testing.T) {
	t.Parallel()
	session := replaytest.Connect(t, filepath.Join("testdata", "notes.json"), replaytest.Options{
		Real: func(context.Context) (mcp.Transport, error) { return mcptest.ChildTransport(t, "notes"), nil },
	})
	var got []string
	for _, c := range [][2]string{
		{"get_note", `{"id":1}`}, {"list_notes", `{}`}, {"add_note", `{"text":"call Ada"}`}, {"list_notes", `{}`}, {"get_note", `{"id":9}`},
	} {
		got = append(got, text(t, session, c[0], c[1]))
	}
	want := []string{"buy milk", "buy milk", "note 2", "buy milk, call Ada", "error: calling \"tools/call\": there is no note 9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

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

const planted = "Tr0ub4dor-and-3"

func TestSecretsAreNotInTheFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		calls [][2]string
		want  []string // in the file
		asked [2]string
		got   string
	}{
		"everywhere": {
			[][2]string{
				{"say", `{"text":"{\"a\": 1, \"list\": [\"` + planted + `\"]}", "password":"` + planted + `"}`},
				{"say", `{"fail":"no user ` + planted + ` here"}`},
				{"say", `{"text":"` + planted + `"}`},
			},
			[]string{`"password": "{secret 1}"`, `"no user {secret 1} here"`, `"text": "{secret 1}"`},
			[2]string{"say", `{"text":"{\"a\": 1, \"list\": [\"` + planted + `\"]}", "password":"` + planted + `"}`},
			`{"a": 1, "list": ["{secret 1}"]}`,
		},
		"known only later": {
			[][2]string{{"say", `{"text":"` + planted + `"}`}, {"say", `{"password":"` + planted + `"}`}},
			[]string{`"text": "{secret 1}"`, `"password": "{secret 1}"`},
			[2]string{"say", `{"text":"other"}`}, "{secret 1}",
		},
		"known only later, a number and a word of ours": {
			[][2]string{{"say", `{"text":"x 73128 y", "id": 73128, "ids": 731289, "password":"` + planted + `"}`}, {"say", `{"pin":73128}`}, {"say", `{"token":"secret"}`}},
			[]string{`"text": "x {secret 2} y"`, `"id": "{secret 2}"`, `"ids": 731289`, `"password": "{secret 1}"`, `"pin": "{secret 2}"`, `"token": "{secret 3}"`},
			[2]string{"say", `{"text":"x 73128 y", "id": 73128, "ids": 731289, "password":"A"}`}, "x {secret 2} y",
		},
		"several": {
			[][2]string{{"say", `{"password":"` + planted + `","token":"second-0ne","text":"` + planted + ` second-0ne"}`}},
			[]string{`"password": "{secret 1}"`, `"token": "{secret 2}"`, `"text": "{secret 1} {secret 2}"`},
			[2]string{"say", `{"password":"a","token":"b","text":"a b"}`}, "{secret 1} {secret 2}",
		},
		"of several values": {
			[][2]string{{"say", `{"text":"x","password":{"parts":["` + planted + `",12345678]}}`}},
			[]string{`"password": "{secret 1}"`},
			[2]string{"say", `{"text":"x","password":["any"]}`}, "x",
		},
		"no secret, but looks like the mark": {
			[][2]string{{"say", `{"text":"[redacted] {secret 7}"}`}},
			[]string{`"text": "[redacted] {secret 7}"`},
			[2]string{"say", `{"text":"[redacted] {secret 7}"}`}, "[redacted] {secret 7}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, _, warnings := record(t, notes(), "", c.calls...)
			written := read(t, file)
			if strings.Contains(written, planted) || len(warnings) > 0 {
				t.Errorf("the secret is in the file, or %q", warnings)
			}
			for _, want := range c.want {
				if !strings.Contains(written, want) {
					t.Errorf("%s is not in the file", want)
				}
			}
			if got := text(t, replay(t, file, "", replaytest.Rules{}), c.asked[0], c.asked[1]); got != c.got {
				t.Errorf("it is answered %q, want %q", got, c.got)
			}
			if t.Failed() {
				t.Log(written)
			}
		})
	}
}

// What a server sends is recorded without its secrets, whatever it is, and a definition is not taken for one.
func TestSecretsOfTheServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "session.json")
	var warnings []string
	r := replaytest.NewRecorder(file, func(text string) { warnings = append(warnings, text) })
	id := 0
	for _, c := range [][3]string{
		{"initialize", `{}`, `"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"x","version":"1"},"instructions":"token=Tr0ub4dor-and-0"}`},
		{"tools/list", `{}`, `"result":{"tools":[{"name":"get","description":"token=Tr0ub4dor-and-1","inputSchema":{"type":"object","properties":{"password":{"type":"string"},
			"pin code":{"type":"string"},"of":{"type":"string","writeOnly":true}}}}]}`},
		{"tools/call", `{"name":"get","arguments":{"of":"Tr0ub4dor-and-2"}}`, `"result":{"content":[],"structuredContent":{"z":1,"password":"Tr0ub4dor-and-3","a":1.50}}`},
		{"tools/call", `{"name":"get"}`, `"error":{"code":-32000,"message":"no","data":{"token":"Tr0ub4dor-and-4"}}`},
		{"tools/call", `{"name":"get"}`, `"result":{"content":[],"structuredContent":{"password":"Tr0ub4dor-and-5","password":"other-than-5"}}`},
		{"tools/call", `{"name":"get"}`, `"result":{"content":[{"type":"text","text":"{\"password\":\"Tr0ub4dor-and-6\",\"password\":\"other-than-6\"}"}]}`},
		{"tools/call", `{"name":"get"}`, `"result":{"content":[],"structuredContent":{"names":{"ghp_16C7e42F292c6912E7710c838347Ae178B4a":1}}}`},
		{"tools/call", `{"name":"get"}`, `"result":{"content":[{"type":"text","text":"` + strings.Repeat("word ", 1<<18) + `"}]}`},
	} {
		id++
		r.Sent(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, c[0], c[1]))
		r.Received(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,%s}`, id, c[2]))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	written := read(t, file)
	if strings.Contains(written, "Tr0ub4dor-") || strings.Contains(written, "ghp_") || strings.Contains(written, "other-than") {
		t.Error("a secret is in the file")
	}
	for _, want := range []string{
		`"instructions": "token={secret 1}"`, `"description": "token={secret 2}"`, "\"password\": {\n            \"type\"", `"of": "{secret 3}"`,
		"\"z\": 1,\n          \"password\": \"{secret 4}\",\n          \"a\": 1.50", `"names": "{secret`,
		"its answer is not recorded: 13107", `"missing": "its answer is not recorded: the member \"password\" is given twice`,
	} {
		if !strings.Contains(written, want) {
			t.Errorf("%s is not in the file", want)
		}
	}
	if len(warnings) != 2 {
		t.Errorf("the warnings are %q", warnings)
	}
	if t.Failed() {
		t.Log(written)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 2<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	random := "qP7vX2mK9sL4tR8wZ1nB6cD3"
	picture := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\x0D\x0A\x1A\x0A"), noise...))
	long := strings.Repeat("word ", 1<<18)
	file, _, warnings := record(t, notes(), "", [][2]string{
		{"say", `{"text":"see ` + random + `"}`},
		{"say", `{"text":"0c6a3b44-7d6e-4f0e-9b5e-0d3c5f0f3a11 TestSafetyOfAll27Combinations"}`},
		{"say", `{"text":"` + picture + `"}`},
		{"say", `{"text":"` + long + `"}`},
	}...)
	const suspect = ` may hold a secret: 24 random characters that begin with "qP7v"; look at them before you share the file`
	want := []string{
		"calls/0/arguments" + suspect, "calls/0/result" + suspect,
		"calls/3/arguments is not recorded: 1310731 bytes are more than 1048576",
	}
	slices.Sort(warnings)
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	session := replay(t, file, "", replaytest.Rules{})
	for range 2 {
		text(t, session, "say", `{"text":"see `+random+`"}`)
	}
	text(t, session, "say", `{"text":"0c6a3b44-7d6e-4f0e-9b5e-0d3c5f0f3a11 TestSafetyOfAll27Combinations"}`)
	if got := text(t, session, "say", `{"text":"`+picture+`"}`); got != picture {
		t.Errorf("the picture is %.80q", got)
	}
	if got := text(t, session, "say", `{}`); !strings.Contains(got, "calls/3 of say has no answer in the recording: its arguments are not recorded: 1310731 bytes") {
		t.Errorf("the long one is %.200q", got)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	file, _, _ := record(t, notes(), "", [2]string{"get_note", `{"id":1}`})
	whole := read(t, file)
	for name, c := range map[string]struct{ text, want string }{
		"cut":              {whole[:len(whole)/2], "not valid JSON: unexpected E"},
		"empty":            {"", "line 1: not valid JSON"},
		"no recording":     {`{"calls": []}`, `line 1: not a recording: its first member is not "format"`},
		"format not first": {strings.Replace(strings.Replace(whole, "\"format\": \"fairlead recording 1\",", "", 1), `"calls": [`, `"format": "fairlead recording 1", "calls": [`, 1), "its first member is not"},
		"another name":     {strings.Replace(whole, `"format":`, `"kind":`, 1), "its first member is not"},
		"another version":  {strings.Replace(whole, "recording 1", "recording 2", 1), `line 2: "format": is "fairlead recording 2", and this version of fairlead reads "fairlead recording 1"`},
		"unknown member":   {strings.Replace(whole, `"server":`, `"servers":`, 1), `"servers": is not a member of a recording`},
		"of a call":        {strings.Replace(whole, `"milliseconds":`, `"seconds":`, 1), `"calls": "0": json: unknown field "seconds"`},
		"twice":            {strings.Replace(whole, `"tools": [`, `"calls": [], "tools": [`, 1), `"calls": is given twice`},
		"two servers":      {whole + whole, "there is more after its end"},
		"two tools":        {strings.Replace(whole, `"name": "list_notes"`, `"name": "get_note"`, 1), `a second tool is called "get_note"`},
		"without calls":    {`{"format": "fairlead recording 1", "server": {}, "tools": []}`, `"calls" is missing`},
		"no answer":        {strings.Replace(whole, `"result": {`, `"error": null, "result": {`, 1), "one of result, error and missing"},
		"another kind":     {strings.Replace(whole, `"arguments": {`, `"arguments": 1, "x": {`, 1), `json: unknown field "x"`},
		"no arguments":     {strings.Replace(whole, "\"id\": 1", "\"id\": 1, \"ID\": 2", 1), "differ only in case"},
		"not of its kind":  {strings.Replace(whole, `"tool": "get_note"`, `"tool": 7`, 1), `json: cannot unmarshal number`},
		"a list of calls":  {strings.Replace(whole, `"calls": [`, `"calls": 7, "x": [`, 1), "the calls must be a list"},
		"text after it":    {whole + "x", "there is more after its end"},
		"not valid JSON":   {strings.Replace(whole, `"id": 1`, `"id": `, 1), "not valid JSON: invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "edited.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := replaytest.Load(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "edited.json: line ") ||
				!strings.HasSuffix(err.Error(), "; a file holds one session of one server: restore it, or record anew") {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
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

func TestRecordAnew(t *testing.T) { // it sets the environment
	file := filepath.Join(t.TempDir(), "notes.json")
	changed := func() *mcp.Server {
		s := notes()
		s.RemoveTools("say")
		tool := mcptest.Tool("list_notes", "Lists and deletes the notes.")
		tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"all":{"type":"boolean"}}}`)
		mcptest.Add(s, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text("none"), nil })
		return s
	}
	session := func(mode string, server func() *mcp.Server) *tb {
		t.Setenv("FAIRLEAD_RECORD", mode)
		return run(t, func(tt testing.TB) {
			s := replaytest.Connect(tt, file, replaytest.Options{
				Real: func(context.Context) (mcp.Transport, error) { return mcptest.MemoryTransport(t, server()), nil },
			})
			if got := text(t, s, "get_note", `{"id":1}`); got != "buy milk" {
				tt.Error("the note is " + got)
			}
		})
	}
	if f := session("1", notes); f.failures != nil {
		t.Fatal(f.failures)
	}
	first := read(t, file)
	if f := session("", nil); f.failures != nil {
		t.Errorf("the replay: %q", f.failures)
	}
	want := []string{
		"replaytest: " + file + `: the definition of list_notes/description: recorded "Lists the notes.", now "Lists and deletes the notes."`,
		"replaytest: " + file + `: the definition of list_notes/inputSchema/properties: not recorded, now {"all":{"type":"boolean"}}`,
		"replaytest: " + file + `: the definition of say: recorded {"inputSchema":{"type":"object"},"name":"say"}, now absent`,
	}
	for _, mode := range []string{"check", "1"} {
		if diff := cmp.Diff(want, session(mode, changed).failures); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
		if same := read(t, file) == first; same != (mode == "check") {
			t.Errorf("%s: the file is the same: %v", mode, same)
		}
	}
	if f := session("1", changed); f.failures != nil {
		t.Errorf("once more: %q", f.failures)
	}
	if f := session("yes", notes); len(f.failures) != 1 || !strings.Contains(f.failures[0], `"yes"; write 1 or check`) {
		t.Errorf("another word: %q", f.failures)
	}
}

// A module that has only this one tests with a file, offline.
func TestInAModuleOfItsOwn(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.sum": read(t, filepath.Join(root, "go.sum")), "testdata/notes.json": read(t, filepath.Join("testdata", "notes.json")),
		"agent_test.go": `package agent

import (
	"testing"

	"github.com/fairlead-go/fairlead/replaytest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestAgent(t *testing.T) {
	session := replaytest.Connect(t, "testdata/notes.json", replaytest.Options{})
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_note", Arguments: map[string]any{"id": 1}})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != "buy milk" {
		t.Error(res, err)
	}
}
`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const module = "github.com/fairlead-go/fairlead"
	for _, args := range [][]string{
		{"mod", "init", "example.com/agent"},
		{"mod", "edit", "-require", module + "@v0.0.0", "-replace", module + "=" + root},
		{"test", "./..."},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PWD="+dir, "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "FAIRLEAD_RECORD=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
