// Package readers_test compares three readers of what the proxy forwards: the proxy itself, package encoding/json, and the
// client of the TypeScript SDK, in a process of node. Where two of them read differently, what was judged is not what is
// shown.
package readers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
)

// A client is one of the TypeScript SDK that reads lines.
type client struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

// reading is what a client makes of a line.
type reading struct{ Tree, Shown, Error string }

var node = sync.OnceValues(func() (*client, error) {
	modules := os.Getenv("FAIRLEAD_TS_SDK")
	if _, err := os.Stat(filepath.Join(modules, "@modelcontextprotocol/sdk")); modules == "" || err != nil {
		return nil, errors.New("FAIRLEAD_TS_SDK names no node_modules with @modelcontextprotocol/sdk; .ci/run race:verify installs it")
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile("testdata/reader.mjs")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "readers")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "reader.mjs")
	if err := errors.Join(os.WriteFile(script, source, 0o600), os.Symlink(modules, filepath.Join(dir, "node_modules"))); err != nil {
		return nil, err
	}
	cmd := exec.Command(path, script) // it ends with its input, which ends with this process
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	c := &client{in: in, out: bufio.NewReader(out)}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, err = c.read([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)) // it has read its files after that
	return c, errors.Join(err, os.RemoveAll(dir))
})

// read returns what the client makes of a line.
func (c *client) read(line []byte) (r reading, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.in.Write(append(bytes.Clone(line), '\n')); err != nil {
		return r, err
	}
	answer, err := c.out.ReadBytes('\n')
	if err != nil {
		return r, fmt.Errorf("node has ended: %w", err)
	}
	return r, json.Unmarshal(answer, &r)
}

// without returns a value without the members that the SDK drops from what it shows.
func without(v any) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = without(e)
		}
	case map[string]any:
		delete(v, "__proto__")
		for name, e := range v {
			v[name] = without(e)
		}
	}
	return v
}

// form writes a value as testdata/reader.mjs does.
func form(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		var out strings.Builder
		for _, r := range v {
			out.WriteString(strconv.FormatInt(int64(r), 16) + " ")
		}
		return `"` + out.String() + `"`
	case json.Number:
		f, _ := v.Float64() // an infinity where it is out of range, as in JavaScript
		return strconv.FormatUint(math.Float64bits(f), 16)
	case []any:
		all := make([]string, len(v))
		for i, e := range v {
			all[i] = form(e)
		}
		return "[" + strings.Join(all, ",") + "]"
	case map[string]any:
		all := make([]string, 0, len(v))
		for name, e := range v {
			all = append(all, form(name)+":"+form(e))
		}
		slices.Sort(all)
		return "{" + strings.Join(all, ",") + "}"
	}
	panic(fmt.Sprintf("%T is not of JSON", v))
}

// tree decodes a text with the digits of its numbers.
func tree(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// exact decodes a part of a message, nil for one that is absent or invalid.
func exact(text json.RawMessage) any {
	v, err := tree(text)
	if err != nil {
		return nil
	}
	return v
}

// A tool is as package json reads one, in any case of its names.
type tool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               struct {
		Title                                                        any
		ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint any
	}
}

// hints returns the annotations that the protocol has.
func (t tool) hints() []any {
	a := t.Annotations
	return []any{a.Title, a.ReadOnlyHint, a.DestructiveHint, a.IdempotentHint, a.OpenWorldHint}
}

// shown returns the parts of an answer that a client shows as package json reads them, "" for one that it does not read.
func shown(line []byte) string {
	var m struct {
		Result struct {
			Tools   []tool
			Content []struct {
				Type string
				Text string
			}
			StructuredContent json.RawMessage
			IsError           bool
		}
	}
	if json.Unmarshal(line, &m) != nil {
		return ""
	}
	if m.Result.Tools != nil {
		all := make([]any, len(m.Result.Tools))
		for i, t := range m.Result.Tools {
			all[i] = []any{t.Name, t.Title, t.Description, exact(t.InputSchema), exact(t.OutputSchema), t.hints()}
		}
		return form(without(all))
	}
	if m.Result.Content == nil {
		return ""
	}
	content := make([]any, len(m.Result.Content))
	for i, c := range m.Result.Content {
		if content[i] = c.Type; c.Type == "text" {
			content[i] = c.Text
		}
	}
	return form(without([]any{content, exact(m.Result.StructuredContent), m.Result.IsError}))
}

// A path is a proxy between a server that speaks by bytes and a client that keeps what it gets by bytes.
type path struct {
	in  io.Writer
	out *bufio.Reader
	ids int

	mu     sync.Mutex
	answer func(method string, id json.RawMessage) string // lines; "" for the usual one
	said   int                                            // how often it was used
	asked  []hitl.Request                                 // of the person, who approves
}

func newPath(t testing.TB) *path {
	t.Helper()
	p := new(path)
	// A tool that is not asked about would be judged without a trace.
	rules, err := policy.Parse("p.json", []byte(`{"rules":[{"tool":"*","decide":"ask"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	front, err := proxy.New(proxy.Options{
		Servers: []proxy.Server{{Name: "bytes", Open: p.open}}, Policy: func() *policy.Policy { return rules },
		Confirm: hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.asked = append(p.asked, r)
			return hitl.Decision{Verdict: hitl.Approved, By: "test"}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	p.in, p.out = toProxy, bufio.NewReaderSize(fromProxy, 1<<20)
	ended := make(chan error, 1)
	go func() { ended <- front.ServeLines(context.Background(), in, out) }()
	t.Cleanup(func() {
		go func() { _, _ = io.Copy(io.Discard, p.out) }()
		_ = toProxy.Close()
		<-ended
	})
	p.ask(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	return p
}

const usual = `{"name":"read_thing","description":"Reads a thing.","inputSchema":{"type":"object"}}`

// open starts the server.
func (p *path) open() (io.ReadWriteCloser, error) {
	here, there := net.Pipe()
	go func() {
		for in := bufio.NewReader(there); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" {
				continue
			}
			result := map[string]string{
				"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bytes","version":"1"}}`,
				"tools/list": `{"tools":[` + usual + `]}`,
			}[m.Method]
			if result == "" {
				result = `{"content":[{"type":"text","text":"the usual answer"}]}`
			}
			p.mu.Lock()
			hostile := ""
			if p.answer != nil {
				hostile = p.answer(m.Method, m.ID)
			}
			p.mu.Unlock()
			// The usual answer follows one that may not be one. It is dropped where the first was taken.
			_, _ = fmt.Fprintf(there, "%s"+`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", hostile, m.ID, result)
		}
	}()
	return here, nil
}

// ask makes a request and returns the lines that the client got, the response last.
func (p *path) ask(t testing.TB, method, params string) (lines [][]byte) {
	t.Helper()
	p.ids++
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", p.ids, method, params); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &m) == nil && m.Method == "" && string(m.ID) == strconv.Itoa(p.ids) {
			return lines
		}
	}
}

// says has the server write a line before its usual answers to a method. The id of the request replaces @.
func (p *path) says(method, line string) {
	line = strings.NewReplacer("\n", " ", "\r", " ").Replace(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.said = nil, 0
	p.answer = func(of string, id json.RawMessage) string {
		if of != method || line == "" {
			return ""
		}
		p.said++
		return strings.ReplaceAll(line, "@", string(id)) + "\n"
	}
}

// agree checks that the readers agree about a line that was forwarded, and returns what the client read.
func agree(t testing.TB, line []byte) reading {
	t.Helper()
	c, err := node()
	if err != nil {
		t.Skip("SKIPPED: no client of the TypeScript SDK reads along: ", err)
	}
	theirs, err := c.read(line)
	if err != nil {
		t.Fatal(err)
	}
	if theirs.Error != "" {
		return theirs // it shows nothing
	}
	ours, err := tree(line)
	if err != nil {
		t.Errorf("the client reads %q, package json does not: %v", line, err)
		return theirs
	}
	if got := form(ours); got != theirs.Tree {
		t.Errorf("%q\nis to package json %s\nand to the client %s", line, got, theirs.Tree)
	}
	if theirs.Shown != "" {
		if got := shown(line); got != theirs.Shown {
			t.Errorf("%q\nis shown by package json as %s\nand by the client as %s", line, got, theirs.Shown)
		}
	}
	return theirs
}

// definitionsAgree checks that what a client reads of each tool is what the proxy judges.
func definitionsAgree(t testing.TB, p *path, line string) {
	t.Helper()
	p.says("tools/list", line)
	lines := p.ask(t, "tools/list", `{}`)
	p.says("", "")
	for _, line := range lines {
		agree(t, line)
	}
	var list struct{ Result struct{ Tools []tool } }
	if json.Unmarshal(lines[len(lines)-1], &list) != nil {
		return
	}
	for _, tool := range list.Result.Tools {
		p.says("tools/list", line) // a call may have the server asked again
		name, err := json.Marshal(tool.Name)
		if err != nil {
			t.Fatal(err)
		}
		answer := p.ask(t, "tools/call", `{"name":`+string(name)+`,"arguments":{}}`)
		p.mu.Lock()
		asked := slices.Clone(p.asked)
		p.mu.Unlock()
		if len(asked) != 1 {
			if !bytes.Contains(answer[len(answer)-1], []byte("the usual answer")) {
				continue // refused: by its arguments, or as one that cannot be called
			}
			t.Errorf("%q was executed, and nobody was asked: %s", tool.Name, line)
			continue
		}
		judged := asked[0].Tool.Definition
		schema, err := json.Marshal(judged.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		got := form([]any{judged.Name, judged.Title, judged.Description, exact(schema)})
		if want := form([]any{tool.Name, tool.Title, tool.Description, exact(tool.InputSchema)}); got != want {
			t.Errorf("%s:\njudged is %s\nshown is  %s", line, got, want)
		}
	}
}

// resultsAgree checks that the readers agree about a result that is forwarded.
func resultsAgree(t testing.TB, p *path, line string) {
	t.Helper()
	p.says("", "")
	p.ask(t, "tools/list", `{}`)
	p.says("tools/call", line)
	other := fmt.Sprintf(`{"name":"read_thing","arguments":{"n":%d}}`, p.ids) // which no earlier answer is for
	for _, line := range p.ask(t, "tools/call", other) {
		agree(t, line)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said == 0 && line != "" {
		t.Errorf("%s was not said: the call was not made", line)
	}
}

func response(result string) string { return `{"jsonrpc":"2.0","id":@,"result":` + result + `}` }

// oddValues are texts of JSON, or nearly so, about which readers differ.
var oddValues = []string{
	`"\ud800"`, `"a\udc00b"`, `"\ud83d\ude00"`, `"\ude00\ud83d"`, `"\u0000"`, "\"\xff\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"\xf0\x9f\x98\"", "\"\u2028\u2029\"", "\"\ufeff\"", "\ufeff\"a\"", `"\x41"`, "\"\t\"", "\"\x7f\"",
	`9007199254740991`, `9007199254740993`, `-9007199254740993`, `18446744073709551616`, `1e400`, `-1e400`, `1e-400`, `-0`, `-0.0`, `0e1`, `1.10`, `19.99`, `1E5`, `01`, `+1`, `.5`, `1.`, `0x10`, `NaN`, `Infinity`, `-Infinity`, `undefined`,
	`null`, `true`, `[]`, `{}`, `[1,]`, `{"a":1,}`, `{'a':1}`, `{a:1}`, `// a comment` + "\n1", `{"a":1,"a":2}`, `{"a":1,"A":2}`, `{"a":{"b":1,"b":2}}`, `{"__proto__":{"x":1}}`, `{"constructor":1,"toString":2,"__proto__":null}`, `{"":1}`, `{"\ud800":1}`, `{"\ud800":1,"\ud801":2}`,
	strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat(`{"a":`, 1200) + "1" + strings.Repeat("}", 1200), strings.Repeat("9", 400), "0." + strings.Repeat("1", 400),
}

// lists returns lines that answer a list, with an odd value in each place of a definition.
func lists() (all []string) {
	for _, v := range oddValues {
		for _, definition := range []string{
			`{"name":` + v + `,"description":"Reads a thing.","inputSchema":{"type":"object"}}`,
			`{"name":"a","title":` + v + `,"inputSchema":{"type":"object"}}`,
			`{"name":"a","description":` + v + `,"inputSchema":{"type":"object"}}`,
			`{"name":"a","description":"Reads.","Description":` + v + `,"inputSchema":{"type":"object"}}`,
			`{"name":"a","description":"Reads.","description":` + v + `,"inputSchema":{"type":"object"}}`,
			`{"name":"a","inputSchema":` + v + `}`,
			`{"name":"a","inputSchema":{"type":"object","properties":{"n":{"default":` + v + `}}}}`,
			`{"name":"a","inputSchema":{"type":"object","description":` + v + `}}`,
			`{"name":"a","inputSchema":{"type":"object","required":` + v + `}}`,
			`{"name":"a","inputSchema":{"type":"object"},"outputSchema":` + v + `}`,
			`{"name":"a","inputSchema":{"type":"object"},"annotations":` + v + `}`,
			`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":` + v + `}}`,
			`{"name":"a","inputSchema":{"type":"object"},"_meta":{"a":` + v + `}}`,
			`{"name":"a","inputSchema":{"type":"object"},"icons":` + v + `}`,
			`{"name":"a","inputSchema":{"type":"object"},"execution":` + v + `}`,
			`{"name":"a","inputSchema":{"type":"object"},"other":` + v + `}`,
			v,
		} {
			all = append(all, response(`{"tools":[`+usual+`,`+definition+`]}`))
		}
		all = append(all, response(`{"tools":`+v+`}`), response(`{"tools":[`+usual+`],"_meta":`+v+`}`), response(`{"tools":[`+usual+`],"nextCursor":`+v+`}`), response(`{"tools":[`+usual+`],"Tools":`+v+`}`))
	}
	return all
}

// results returns lines that answer a call, with an odd value in each place of a result and of its message.
func results() (all []string) {
	for _, v := range oddValues {
		for _, result := range []string{
			v, `{"content":` + v + `}`, `{"content":[` + v + `]}`, `{"content":[{"type":"text","text":` + v + `}]}`,
			`{"content":[{"type":"text","text":"a","Text":` + v + `}]}`, `{"content":[{"type":"text","text":"a","text":` + v + `}]}`,
			`{"content":[{"type":` + v + `,"text":"a"}]}`, `{"content":[{"type":"text","text":"a","annotations":` + v + `}]}`,
			`{"content":[{"type":"text","text":"a","_meta":{"a":` + v + `}}]}`, `{"content":[{"type":"image","data":` + v + `,"mimeType":"image/png"}]}`,
			`{"content":[{"type":"resource","resource":{"uri":"a:b","text":` + v + `}}]}`, `{"content":[{"type":"resource_link","uri":"a:b","name":` + v + `}]}`,
			`{"content":[],"structuredContent":{"a":` + v + `}}`, `{"content":[],"structuredContent":` + v + `}`, `{"content":[],"isError":` + v + `}`,
			`{"content":[],"_meta":{"a":` + v + `}}`, `{"content":[],"resultType":` + v + `}`, `{"content":[],"other":` + v + `}`, `{"content":[],"Content":` + v + `}`,
		} {
			all = append(all, response(result))
		}
		all = append(all,
			`{"jsonrpc":"2.0","id":@,"error":`+v+`}`, `{"jsonrpc":"2.0","id":@,"error":{"code":`+v+`,"message":"a"}}`,
			`{"jsonrpc":"2.0","id":@,"error":{"code":1,"message":`+v+`,"data":1}}`, `{"jsonrpc":"2.0","id":@,"error":{"code":1,"message":"a","data":`+v+`}}`,
			`{"jsonrpc":`+v+`,"id":@,"result":{"content":[]}}`, `{"jsonrpc":"2.0","id":@,"result":{"content":[]},"Result":`+v+`}`, `{"jsonrpc":"2.0","id":@,"result":{"content":[]},"other":`+v+`}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":`+v+`}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":`+v+`}`,
			`{"jsonrpc":"2.0","method":`+v+`,"params":{}}`,
		)
	}
	return all
}

func TestReadersAgreeAboutDefinitions(t *testing.T) {
	t.Parallel()
	p := newPath(t)
	for _, line := range lists() {
		definitionsAgree(t, p, line)
	}
}

func TestReadersAgreeAboutResults(t *testing.T) {
	t.Parallel()
	p := newPath(t)
	for _, line := range results() {
		resultsAgree(t, p, line)
	}
}

func FuzzDefinitionsAgree(f *testing.F) {
	for _, line := range lists() {
		f.Add(line)
	}
	p := newPath(f)
	f.Fuzz(func(t *testing.T, line string) { definitionsAgree(t, p, line) })
}

func FuzzResultsAgree(f *testing.F) {
	for _, line := range results() {
		f.Add(line)
	}
	p := newPath(f)
	f.Fuzz(func(t *testing.T, line string) { resultsAgree(t, p, line) })
}
