package replaytest

// A recorder sits between a client and a server and sees the messages of both. It pairs requests with answers by
// their ids. Each value is cleaned before it is kept; if that reveals a secret which was not known before, the values
// before it are cleaned again. The file is written after each answer, less often once it is large, and at the end.

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
	written   int // bytes of the file
	unwritten int // bytes of the answers since
}

// asked is a request that waits for its answer.
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

// NewRecorder returns a recorder of a session to a file, which is replaced as calls end and by [Recorder.Close]. warn
// is called before a value is written that may hold a secret which was not recognized, or that cannot be recorded.
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

// listed keeps a page of the tools, and their schemas, by which arguments and results are cleaned.
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
		// By its texts alone: the schema of a parameter that is called "password" is not a secret.
		clean, err := r.clean("tools/"+name, tool, r.secrets.texts, nil)
		if err == nil {
			r.recording.tools = append(r.recording.tools, clean)
		}
	}
}

// answered keeps the answer of a call.
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
	// The file is written as a whole. Once it is large it is written when it has grown by a twentieth, so that all
	// writes together are at most some twenty times what is recorded.
	const small, share = 256 << 10, 20
	r.unwritten += len(c.Result) + len(c.Error)
	if r.written < small || r.unwritten >= r.written/share {
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
	size, err := r.recording.write(r.path)
	if err == nil {
		r.written, r.unwritten = size, 0
	}
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
