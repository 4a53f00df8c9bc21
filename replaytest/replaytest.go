// Package replaytest records what an MCP server answers in one session, in a file without secrets that is reviewed like
// code, and answers from that file, so that a test needs no server. Tests use [Connect]; the commands fairlead record and
// fairlead replay are made of the rest. Resources and prompts are not recorded.
//
// A test records anew with FAIRLEAD_RECORD=1 in its environment, and compares the tools of the real server with the
// recorded ones with FAIRLEAD_RECORD=check. This is not a flag, since a package under test may have one called -update.
package replaytest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/internal/wholefile"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [Connect]. The zero value replays only.
type Options struct {
	Rules

	// Real returns the way to the real server; over HTTP, what it sends outside of calls does not arrive. Nil means that the
	// file is never recorded anew.
	Real func(context.Context) (mcp.Transport, error)
	// Client connects; nil means one without options.
	Client *mcp.Client
}

// Connect returns a session with a server that answers from a file, such as testdata/notes.json, until the test ends. A
// call that was not recorded fails the test.
//
// When the file is recorded anew, or checked, the session is with the real server, and a tool whose definition has changed
// since fails the test.
func Connect(tb testing.TB, file string, o Options) *mcp.ClientSession {
	tb.Helper()
	mode := os.Getenv("FAIRLEAD_RECORD")
	if mode == "" || o.Real == nil {
		recorded, err := Load(file)
		if err != nil {
			tb.Fatal(err)
		}
		theirs, ours := mcp.NewInMemoryTransports()
		session, err := recorded.serve(o.Rules, func(err error) { tb.Error(err) }).Connect(context.Background(), theirs, nil)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = session.Close() })
		return dial(tb, o.Client, ours)
	}
	if mode != "1" && mode != "check" {
		tb.Fatalf("replaytest: FAIRLEAD_RECORD is %q; write 1 or check", mode)
	}
	before, err := Load(file)
	if err != nil && (mode == "check" || !os.IsNotExist(err)) {
		tb.Log(err)
	}
	server, err := o.Real(tb.Context())
	if err != nil {
		tb.Fatalf("replaytest: the real server: %v", err)
	}
	written := file
	if mode == "check" {
		written = filepath.Join(tb.TempDir(), "check.json")
	}
	r := NewRecorder(written, func(text string) { tb.Log("replaytest: " + text) })
	tb.Cleanup(func() {
		if before != nil {
			for _, change := range before.changes(&r.recording) {
				tb.Error("replaytest: " + file + ": " + change)
			}
		}
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	session := dial(tb, o.Client, r.Transport(server))
	if _, err := session.ListTools(tb.Context(), nil); err != nil { // the test may not list them
		tb.Fatalf("replaytest: the tools of the real server: %v", err)
	}
	return session
}

func dial(tb testing.TB, client *mcp.Client, transport mcp.Transport) *mcp.ClientSession {
	tb.Helper()
	if client == nil {
		client = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	}
	session, err := client.Connect(tb.Context(), transport, nil)
	if err != nil {
		tb.Fatalf("replaytest: %v", err)
	}
	tb.Cleanup(func() { _ = session.Close() })
	return session
}

// changes lists the definitions that differ in a later recording.
func (r *Recording) changes(now *Recording) (all []string) {
	named := func(tools []json.RawMessage) map[string]any {
		by := make(map[string]any)
		for _, tool := range tools {
			by[nameOf(tool)] = tree(tool)
		}
		return by
	}
	for _, d := range differences(named(r.tools), named(now.tools), "") {
		all = append(all, "the definition of "+strings.TrimPrefix(d, "/"))
	}
	slices.Sort(all)
	return all
}

// format names what a file is, and its version.
const format = "fairlead recording 1"

// A Recording is what one server answered in one session.
type Recording struct {
	server json.RawMessage // the result of its initialization, nil for none
	tools  []json.RawMessage
	calls  []call
}

// A call is one of tools/call with one of result, error and missing.
type call struct {
	Tool         string          `json:"tool"`
	Arguments    json.RawMessage `json:"arguments"`
	Result       json.RawMessage `json:"result,omitempty"`
	Error        json.RawMessage `json:"error,omitempty"`
	Missing      string          `json:"missing,omitempty"` // why there is no answer
	Milliseconds int64           `json:"milliseconds"`
}

// write replaces the file.
func (r *Recording) write(path string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(struct {
		Format string            `json:"format"`
		Server json.RawMessage   `json:"server"`
		Tools  []json.RawMessage `json:"tools"`
		Calls  []call            `json:"calls"`
	}{format, r.server, append([]json.RawMessage{}, r.tools...), append([]call{}, r.calls...)})
	if err != nil {
		return fmt.Errorf("replaytest: %w", err)
	}
	if err := wholefile.Replace(path, text.Bytes()); err != nil {
		return fmt.Errorf("replaytest: the recording was not saved: %w", err)
	}
	return nil
}

// Load reads the file of a recording, and refuses anything unknown; the error names the line.
func Load(path string) (*Recording, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the file that the caller names
	if err != nil {
		return nil, fmt.Errorf("replaytest: %w; record it first", err)
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("replaytest: %s: %w; a file holds one session of one server: restore it, or record anew", path, err)
	}
	return r, nil
}

func parse(text []byte) (*Recording, error) {
	root, err := strictjson.Parse(text)
	if err != nil {
		return nil, err
	}
	members, err := root.Object("a recording")
	if err != nil {
		return nil, err
	}
	var version string
	if len(members) == 0 || members[0].Name() != "format" || json.Unmarshal(members[0].Raw(), &version) != nil {
		return nil, root.Errorf(`not a recording: its first member is not "format"`)
	}
	if version != format {
		return nil, members[0].Errorf("is %q, and this version of fairlead reads %q", version, format)
	}
	r := new(Recording)
	readers := map[string]func(strictjson.Value) error{
		"server": func(v strictjson.Value) error { r.server = compact(v.Raw()); return nil },
		"tools":  r.readTools, "calls": r.readCalls,
	}
	for _, m := range members[1:] {
		read := readers[m.Name()]
		if read == nil {
			return nil, m.Errorf("is not a member of a recording")
		}
		if err := read(m); err != nil {
			return nil, err
		}
		delete(readers, m.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		return nil, root.Errorf("%q is missing", name)
	}
	return r, nil
}

func (r *Recording) readTools(v strictjson.Value) error {
	all, err := v.List("the tools")
	seen := make(map[string]bool)
	for _, tool := range all {
		name := nameOf(tool.Raw())
		if seen[name] {
			return tool.Errorf("a second tool is called %q", name)
		}
		seen[name] = true
		r.tools = append(r.tools, compact(tool.Raw()))
	}
	return err
}

func (r *Recording) readCalls(v strictjson.Value) error {
	all, err := v.List("the calls")
	for _, one := range all {
		var c call
		d := json.NewDecoder(bytes.NewReader(one.Raw()))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return one.Errorf("%w", err)
		}
		if c.Arguments, err = canonical.AppendObject(nil, c.Arguments); err != nil {
			return one.Errorf("its arguments: %w", err)
		}
		if answers := min(len(c.Result), 1) + min(len(c.Error), 1) + min(len(c.Missing), 1); c.Tool == "" || answers != 1 {
			return one.Errorf("needs a tool, and one of result, error and missing")
		}
		c.Result, c.Error = compact(c.Result), compact(c.Error)
		r.calls = append(r.calls, c)
	}
	return err
}

// compact returns JSON on one line; what is no JSON is returned as it is.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func nameOf(tool json.RawMessage) string {
	var t struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(tool, &t) // one without a name has none
	return t.Name
}

// maxValue is how many bytes of arguments, of a result or of a definition are recorded, without pictures.
const maxValue = 1 << 20

// secrets takes secrets out of all values of a session. The same secret gets the same placeholder.
type secrets struct {
	redact.Redactor

	numbers map[string]int
	fresh   []string // what was found since this was last emptied
}

var placeholder = regexp.MustCompile(`\{secret \d+\}`)

// A hiding is a method of a Redactor.
type hiding func(raw []byte, schema any) json.RawMessage

// clean returns a value without its secrets, otherwise as it was written.
func (s *secrets) clean(raw json.RawMessage, hide hiding, schema any) (json.RawMessage, error) {
	if _, err := canonical.Append(nil, raw); err != nil {
		return nil, err
	}
	seen := []byte(jsontree.Encode(withoutMedia(tree(raw))))
	if len(seen) > maxValue {
		return nil, fmt.Errorf("%d bytes are more than %d", len(seen), maxValue)
	}
	hidden, err := jsontree.Decode(hide(seen, schema))
	if err != nil {
		return nil, err
	}
	return json.RawMessage(s.within(string(compact(raw)), hidden)), nil
}

// texts is a hiding by the texts alone, for a definition: the schema of a member called "password" is no secret.
func (s *secrets) texts(raw []byte, _ any) json.RawMessage {
	return json.RawMessage(jsontree.Encode(eachText(tree(raw), s.Text)))
}

// withoutMedia empties pictures, sounds and other files of a known format, in which no text is looked for.
func withoutMedia(v any) any {
	return eachText(v, func(text string) string {
		const least = 512 // bytes
		data, err := base64.StdEncoding.DecodeString(text)
		kind := http.DetectContentType(data)
		if err != nil || len(data) < least || kind == "application/octet-stream" || strings.HasPrefix(kind, "text/") {
			return text
		}
		return ""
	})
}

// eachText replaces the texts in v, which it writes into, and a number by a mark.
func eachText(v any, by func(string) string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = eachText(v[i], by)
		}
	case map[string]any:
		for name := range v {
			v[name] = eachText(v[name], by)
		}
	case json.Number:
		if by(string(v)) == redact.Mark {
			return redact.Mark
		}
	case string:
		return by(v)
	}
	return v
}

// within returns JSON with placeholders where hidden, the same value after redaction, has marks. Its members keep their
// order, and it keeps its white space, if that is possible.
func (s *secrets) within(text string, hidden any) string {
	masked := s.mask(tree([]byte(text)), hidden)
	whole := jsontree.Encode(masked)
	_, err := canonical.Append(nil, []byte(text))
	known := slices.SortedFunc(maps.Keys(s.numbers), func(a, b string) int { return len(b) - len(a) })
	for _, secret := range known {
		if name := s.number(secret); strings.Contains(whole, name) {
			text = strings.ReplaceAll(text, inText(secret), name)
		}
	}
	if err == nil && jsontree.Same(tree([]byte(text)), masked) {
		return text
	}
	return whole
}

// mask returns a value with placeholders.
func (s *secrets) mask(v, hidden any) any {
	switch hidden := hidden.(type) {
	case map[string]any:
		if v, ok := v.(map[string]any); ok && slices.Equal(slices.Sorted(maps.Keys(v)), slices.Sorted(maps.Keys(hidden))) {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				v[name] = s.mask(v[name], hidden[name])
			}
			return v
		}
	case []any:
		if v, ok := v.([]any); ok && len(v) == len(hidden) {
			for i := range v {
				v[i] = s.mask(v[i], hidden[i])
			}
			return v
		}
	case string:
		if text, ok := v.(string); ok {
			return s.text(text, hidden)
		}
	default:
		return v
	}
	return s.number(jsontree.Encode(v))
}

// text returns a text with a placeholder for each mark in what was made of it.
func (s *secrets) text(text, hidden string) string {
	if !strings.Contains(hidden, redact.Mark) {
		return text // at most JSON within it is written differently
	}
	if v, err := jsontree.Decode([]byte(hidden)); err == nil && jsontree.Likely(text) {
		return s.within(text, v)
	}
	found := around(strings.Split(hidden, redact.Mark)).FindStringSubmatch(text)
	if found == nil {
		return s.number(text)
	}
	for _, secret := range found[1:] {
		hidden = strings.Replace(hidden, redact.Mark, s.number(secret), 1)
	}
	return hidden
}

// around matches a text with something between its parts.
func around(parts []string) *regexp.Regexp {
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`^(?s:` + strings.Join(parts, `(.+?)`) + `)$`)
}

// inText is a text as it is within one of JSON.
func inText(s string) string {
	quoted := jsontree.Encode(s)
	return quoted[1 : len(quoted)-1]
}

// number returns the placeholder of a secret, with the quotes around it.
func (s *secrets) number(secret string) string {
	bare := strings.Trim(secret, "\"'\\ ")
	if bare == "" || bare == redact.Mark || placeholder.FindString(bare) == bare {
		return secret
	}
	n, known := s.numbers[bare]
	if !known {
		if s.numbers == nil {
			s.numbers = make(map[string]int)
		}
		n = len(s.numbers) + 1
		s.numbers[bare] = n
		s.fresh = append(s.fresh, bare)
	}
	return strings.Replace(secret, bare, "{secret "+strconv.Itoa(n)+"}", 1)
}

// again takes what was found since then out of a value that is clean otherwise.
func (s *secrets) again(raw json.RawMessage) json.RawMessage {
	const ours = "secret" // of the placeholders
	var parts []string
	for _, secret := range s.fresh {
		for _, part := range append(strings.Fields(secret), secret) {
			least := 8 // bytes, as of package redact: what is shorter is everywhere
			if part == secret {
				least = 4
			}
			if len(part) >= least && !strings.Contains(ours, part) && strings.Contains(string(raw), inText(part)) {
				parts = append(parts, part)
			}
		}
	}
	if parts == nil {
		return raw
	}
	return json.RawMessage(s.within(string(raw), eachText(tree(raw), func(text string) string {
		for _, part := range parts {
			text = strings.ReplaceAll(text, part, redact.Mark)
		}
		return text
	})))
}

var (
	token = regexp.MustCompile(`[A-Za-z0-9+_=-]{24,}`)
	uuid  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// suspects returns what looks random in a clean value, as a secret does.
func suspects(clean json.RawMessage) []string {
	all := token.FindAllString(jsontree.Encode(withoutMedia(tree(clean))), -1)
	return slices.DeleteFunc(all, func(token string) bool {
		different, turns, last := make(map[rune]bool), 0, 'a'
		for _, c := range token {
			if different[c] = true; (c <= '9') != (last <= '9') {
				turns++
			}
			last = c
		}
		const enough = 10
		return len(different) < enough || turns <= len(token)/8 || uuid.MatchString(token)
	})
}

// The methods whose answers are recorded.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodListTools  = "tools/list"
	methodCallTool   = "tools/call"
)

// A Recorder writes the recording of one session. It is safe for concurrent use.
type Recorder struct {
	path string
	warn func(string)

	mu        sync.Mutex
	secrets   secrets
	asked     map[string]asked // by the id of the request
	recording Recording
	schemas   map[string]schemas
	written   time.Time
	took      time.Duration
}

type asked struct {
	method    string
	firstPage bool
	call      int
	began     time.Time
}

type schemas struct {
	InputSchema  any `json:"inputSchema"`
	OutputSchema any `json:"outputSchema"`
}

// NewRecorder returns a recorder of a session to a file, which is replaced as calls end and by [Recorder.Close]. warn is
// called before a value is written that may hold a secret which was not recognized, or that cannot be recorded.
func NewRecorder(path string, warn func(string)) *Recorder {
	r := &Recorder{path: path, warn: warn, asked: make(map[string]asked), schemas: make(map[string]schemas)}
	r.secrets.Max = maxValue
	return r
}

// message is one of JSON-RPC.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Cursor    string          `json:"cursor"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Sent records a message of the client.
func (r *Recorder) Sent(text []byte) {
	var m message
	if json.Unmarshal(text, &m) != nil || m.Method == "" || m.ID == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := asked{method: m.Method, firstPage: m.Params.Cursor == "", call: len(r.recording.calls), began: time.Now()}
	switch m.Method {
	case methodCallTool:
		c := call{Tool: m.Params.Name, Arguments: json.RawMessage("{}"), Missing: "no answer came"}
		if m.Params.Arguments != nil {
			clean, err := r.clean(fmt.Sprintf("calls/%d/arguments", a.call), m.Params.Arguments, r.secrets.JSON, r.schemas[c.Tool].InputSchema)
			if err == nil {
				c.Arguments = clean
			} else {
				c.Missing = "its arguments are not recorded: " + err.Error()
			}
		}
		r.recording.calls = append(r.recording.calls, c)
	case methodInitialize, methodDiscover, methodListTools:
	default:
		return
	}
	r.asked[string(m.ID)] = a
}

// Received records a message of the server.
func (r *Recorder) Received(text []byte) {
	var m message
	if json.Unmarshal(text, &m) != nil || m.Method != "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.asked[string(m.ID)]
	delete(r.asked, string(m.ID))
	switch {
	case !ok:
	case a.method == methodCallTool:
		r.answered(a, m)
	case m.Result == nil:
	case a.method == methodListTools:
		r.listed(a, m.Result)
	default:
		r.recording.server, _ = r.clean("server", m.Result, r.secrets.JSON, nil)
	}
}

func (r *Recorder) listed(a asked, result json.RawMessage) {
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(result, &list) != nil {
		return
	}
	if a.firstPage {
		r.recording.tools = nil
	}
	for _, tool := range list.Tools {
		name := nameOf(tool)
		var s schemas
		if json.Unmarshal(tool, &s) == nil {
			r.schemas[name] = s
		}
		// By its texts alone: the schema of a parameter that is called "password" is no secret.
		clean, err := r.clean("tools/"+name, tool, r.secrets.texts, nil)
		if err == nil {
			r.recording.tools = append(r.recording.tools, clean)
		}
	}
}

func (r *Recorder) answered(a asked, m message) {
	c := &r.recording.calls[a.call]
	c.Milliseconds = time.Since(a.began).Milliseconds()
	if c.Missing != "no answer came" {
		return
	}
	var err error
	if m.Error != nil {
		c.Error, err = r.clean(fmt.Sprintf("calls/%d/error", a.call), m.Error, r.secrets.JSON, nil)
	} else {
		c.Result, err = r.clean(fmt.Sprintf("calls/%d/result", a.call), m.Result, r.secrets.Result, r.schemas[c.Tool].OutputSchema)
	}
	if c.Missing = ""; err != nil {
		c.Missing = "its answer is not recorded: " + err.Error()
	}
	const quick, share = 50 * time.Millisecond, 20 // of the time at most goes into writes that are not quick
	if time.Since(r.written) > share*(r.took-quick) {
		_ = r.write() // Close reports it
	}
}

// clean takes the secrets out of a value, and those that it reveals out of the values before it.
func (r *Recorder) clean(place string, raw json.RawMessage, hide hiding, schema any) (json.RawMessage, error) {
	clean, err := r.secrets.clean(raw, hide, schema)
	if err != nil {
		r.warn(fmt.Sprintf("%s is not recorded: %v", place, err))
		return nil, err
	}
	if len(r.secrets.fresh) > 0 {
		rec := &r.recording
		rec.server = r.secrets.again(rec.server)
		for i := range rec.tools {
			rec.tools[i] = r.secrets.again(rec.tools[i])
		}
		for i := range rec.calls {
			c := &rec.calls[i]
			c.Arguments, c.Result, c.Error = r.secrets.again(c.Arguments), r.secrets.again(c.Result), r.secrets.again(c.Error)
		}
		r.secrets.fresh = nil
	}
	for _, text := range suspects(clean) {
		r.warn(fmt.Sprintf("%s may hold a secret: %d random characters that begin with %q; look at them before you share the file", place, len(text), text[:4]))
	}
	return clean, nil
}

func (r *Recorder) write() error {
	r.written = time.Now()
	err := r.recording.write(r.path)
	r.took = time.Since(r.written)
	return err
}

// Close writes the file. A call without an answer is recorded as such.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.write()
}

// Transport returns a transport whose messages are recorded.
func (r *Recorder) Transport(t mcp.Transport) mcp.Transport { return &transport{t, r} }

type transport struct {
	mcp.Transport

	to *Recorder
}

func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{c, t.to}, nil
}

type connection struct {
	mcp.Connection

	to *Recorder
}

func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	if text, err := jsonrpc.EncodeMessage(m); err == nil {
		c.to.Sent(text)
	}
	return c.Connection.Write(ctx, m)
}

func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err == nil {
		if text, err := jsonrpc.EncodeMessage(m); err == nil {
			c.to.Received(text)
		}
	}
	return m, err
}

// Rules are how a recording answers. The zero value is the strict one.
type Rules struct {
	// Trust has declared hints count; without it they count only where they make a tool a write.
	Trust bool
	// SimulateWrites answers a write that was not recorded with the last recorded result of the tool; false refuses it.
	SimulateWrites bool
}

// Server returns a server that answers from the recording, to one client. A read is answered by its arguments, repeated
// ones in the order of the recording and then with the last answer; each other call must be the next recorded one of its
// tool. A placeholder of a secret matches any value. A call that was not recorded is an error of JSON-RPC, since a model
// could take a failed result for an answer.
func (r *Recording) Server(rules Rules) *mcp.Server { return r.serve(rules, func(error) {}) }

func (r *Recording) serve(rules Rules, missed func(error)) *mcp.Server {
	var about struct {
		ServerInfo   mcp.Implementation `json:"serverInfo"`
		Instructions string             `json:"instructions"`
		Meta         struct {
			ServerInfo mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	about.ServerInfo.Name = "replay"
	_ = json.Unmarshal(r.server, &about) // it only has the server's name
	if about.Meta.ServerInfo.Name != "" {
		about.ServerInfo = about.Meta.ServerInfo
	}
	server := mcp.NewServer(&about.ServerInfo, &mcp.ServerOptions{
		Instructions: about.Instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	p := &player{Recording: r, rules: rules, missed: missed, reads: r.reads(rules.Trust), used: make([]bool, len(r.calls))}
	tools := append([]json.RawMessage{}, r.tools...)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			asked, isCall := req.(*mcp.CallToolRequest)
			switch {
			case method == methodListTools:
				text, err := json.Marshal(map[string]any{"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
				return &result{text: text}, err
			case isCall && asked.Params != nil:
				return p.answer(asked.Params.Name, asked.Params.Arguments)
			}
			return next(ctx, method, req)
		}
	})
	return server
}

// reads returns the tools whose class is Safe.
func (r *Recording) reads(trust bool) map[string]bool {
	defs := make([]*mcp.Tool, len(r.tools))
	for i, raw := range r.tools {
		defs[i] = new(mcp.Tool)
		if json.Unmarshal(raw, defs[i]) != nil {
			defs[i] = &mcp.Tool{Name: nameOf(raw)}
		}
	}
	safe := make(map[string]bool)
	for i, a := range infer.Tools(defs) {
		var written struct {
			Annotations json.RawMessage `json:"annotations"`
		}
		_ = json.Unmarshal(r.tools[i], &written)                        // none then
		declared, _ := annotation.FromRaw(defs[i], written.Annotations) // what can be read of them
		declared = declared.Attribute(annotation.Declared, "")
		switch {
		case trust:
			a = annotation.Merge(a, declared)
		case len(declared.Evidence) > 0:
			a = annotation.Raise(a, declared)
		}
		safe[defs[i].Name] = a.Safety() == annotation.Safe
	}
	return safe
}

// result is a result as it was recorded.
type result struct {
	mcp.ResultBase

	text json.RawMessage
}

func (r *result) MarshalJSON() ([]byte, error) { return r.text, nil }

// A player answers the calls of one session.
type player struct {
	*Recording

	rules  Rules
	missed func(error)
	reads  map[string]bool

	mu   sync.Mutex
	used []bool
}

// missedf returns the error of a call without a recorded answer.
func (p *player) missedf(format string, args ...any) error {
	err := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "replay: " + fmt.Sprintf(format, args...)}
	p.missed(err)
	return err
}

func (p *player) answer(tool string, arguments json.RawMessage) (mcp.Result, error) {
	text, err := canonical.AppendObject(nil, arguments)
	if err != nil {
		return nil, p.missedf("the arguments of %s: %v", tool, err)
	}
	asked, err := jsontree.Decode(text)
	if err != nil {
		return nil, p.missedf("the arguments of %s: %v", tool, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last, found, next := -1, -1, -1 // of the tool, of the answer, of the writes
	for i, c := range p.calls {
		if c.Tool != tool {
			continue
		}
		last = i
		if next < 0 && !p.used[i] {
			next = i
		}
		if !p.reads[tool] && i != next || found >= 0 && !p.used[found] {
			continue
		}
		if match(tree(c.Arguments), asked) {
			found = i
		}
	}
	switch {
	case last < 0:
		return nil, p.missedf("no call of %s was recorded; record anew with one", tool)
	case found >= 0:
		p.used[found] = true
	case !p.reads[tool] && p.rules.SimulateWrites && p.calls[last].Result != nil:
		found = last
	case !p.reads[tool] && next < 0:
		return nil, p.missedf("%s was called more often than recorded; record anew, or simulate writes", tool)
	case !p.reads[tool]:
		return nil, p.missedf("%s; it is the next recorded call of the tool, calls/%d: make the calls in the recorded order, or record anew",
			differs(tool, p.calls[next], asked), next)
	default:
		near := p.nearest(tool, asked)
		return nil, p.missedf("%s; it is the nearest recorded call, calls/%d: ask as recorded, or record anew", differs(tool, p.calls[near], asked), near)
	}
	c := p.calls[found]
	switch {
	case c.Missing != "":
		return nil, p.missedf("calls/%d of %s has no answer in the recording: %s", found, tool, c.Missing)
	case c.Error != nil:
		var wire jsonrpc.Error
		if err := json.Unmarshal(c.Error, &wire); err != nil {
			return nil, p.missedf("the error of calls/%d cannot be read: %v", found, err)
		}
		return nil, &wire
	}
	return &result{text: c.Result}, nil
}

func tree(raw json.RawMessage) any {
	v, _ := jsontree.Decode(raw) // it was read once
	return v
}

// match reports whether a recorded value is the one that is asked with. A placeholder matches any value.
func match(recorded, asked any) bool {
	switch r := recorded.(type) {
	case map[string]any:
		a, ok := asked.(map[string]any)
		return ok && maps.EqualFunc(r, a, match)
	case []any:
		a, ok := asked.([]any)
		return ok && slices.EqualFunc(r, a, match)
	case string:
		if !placeholder.MatchString(r) || placeholder.FindString(r) == r {
			return recorded == asked || placeholder.MatchString(r)
		}
		text, ok := asked.(string)
		return ok && around(placeholder.Split(r, -1)).MatchString(text)
	}
	return recorded == asked
}

// nearest returns the recorded call of a tool with the fewest differences.
func (p *player) nearest(tool string, asked any) int {
	best, least := -1, 0
	for i, c := range p.calls {
		if c.Tool != tool {
			continue
		}
		if d := len(differences(tree(c.Arguments), asked, "")); best < 0 || d < least {
			best, least = i, d
		}
	}
	return best
}

// differs describes how a call differs from a recorded one.
func differs(tool string, c call, asked any) string {
	asked = tree(new(redact.Redactor).JSON(json.RawMessage(jsontree.Encode(asked)), nil))
	const most = 3
	all := differences(tree(c.Arguments), asked, "")
	if len(all) > most {
		all = append(all[:most], fmt.Sprintf("and %d more", len(all)-most))
	}
	return fmt.Sprintf("%s was not recorded: it differs in %s", tool, strings.Join(all, ", "))
}

// differences lists where two values differ. A placeholder is no difference.
func differences(recorded, now any, at string) (all []string) {
	r, _ := recorded.(map[string]any)
	n, ok := now.(map[string]any)
	if r == nil || !ok {
		if !match(recorded, now) {
			all = append(all, fmt.Sprintf("%s: recorded %s, now %s", at, brief(recorded), brief(now)))
		}
		return all
	}
	names := maps.Clone(r)
	maps.Copy(names, n)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, before := r[name]
		is, after := n[name]
		switch {
		case !after:
			all = append(all, fmt.Sprintf("%s/%s: recorded %s, now absent", at, name, brief(was)))
		case !before:
			all = append(all, fmt.Sprintf("%s/%s: not recorded, now %s", at, name, brief(is)))
		default:
			all = append(all, differences(was, is, at+"/"+name)...)
		}
	}
	return all
}

func brief(v any) string { return trim.Bytes(jsontree.Encode(v), 80) }
