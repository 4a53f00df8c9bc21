package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/mount"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type remote struct {
	Server

	client *http.Client
	to     sink
	log    *slog.Logger
	ctx    context.Context // of what outlives a request
	stop   context.CancelFunc

	session shared[string] // the server's ID for it
	version shared[string] // that was agreed on

	posts sync.Map // the cancel func of each request, by its ID

	mu    sync.Mutex
	ended bool
	work  sync.WaitGroup
}

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	modern        = "2026-07-28" // the first revision without sessions
)

func newRemote(s Server, log *slog.Logger, to sink) *remote {
	through := s.RoundTripper
	if through == nil {
		through = pool
	}
	r := &remote{Server: s, client: &http.Client{Transport: mount.RoundTripper(through), CheckRedirect: sameHost}, to: to, log: log}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// pool keeps a connection for each concurrent call. The default keeps two to a server.
var pool = func() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t := standard.Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	return t
}()

// sameHost keeps calls, and the keys in their headers, from being led elsewhere.
func sameHost(req *http.Request, via []*http.Request) error {
	if via[0].Method == http.MethodPost { // one call is handed over once
		return fmt.Errorf("the server answered a POST with a redirect to %s, which is not followed; name that address if it is the right one", req.URL.Redacted())
	}
	if first := via[0].URL; req.URL.Host != first.Host || req.URL.Scheme != first.Scheme || len(via) > 3 {
		return fmt.Errorf("the server leads to %s://%s; name that address if it is the right one", req.URL.Scheme, req.URL.Host)
	}
	return nil
}

// send posts a message. A request's answer comes by itself, or why there is none.
func (r *remote) send(ctx context.Context, m *message) error {
	if m.Method == methodCancelled && r.hangUp(m) {
		return nil
	}
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return notSent(errStopped)
	}
	if m.isRequest() {
		ctx, cancel := context.WithCancel(ctx)
		r.posts.Store(m.id(), cancel) // before its cancellation can look for it
		r.work.Go(func() { r.post(ctx, cancel, m) })
		r.mu.Unlock()
		return nil
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, handshakePatience)
	defer cancel()
	res, err := r.do(ctx, http.MethodPost, m, "")
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("HTTP %s", res.Status)
	}
	if m.Method == "notifications/initialized" {
		go r.listen() // until close
	}
	return nil
}

// hangUp ends a request of the revision in which that is how one is cancelled.
func (r *remote) hangUp(m *message) bool {
	if r.version.value() != "" {
		return false
	}
	id := members(m.Params)["requestId"] // one that names nothing cancels nothing
	if cancel, ok := r.posts.Load(string(id)); ok {
		cancel.(context.CancelFunc)()
	}
	return true
}

// post makes a request and hands over what comes of it.
func (r *remote) post(ctx context.Context, cancel context.CancelFunc, m *message) {
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	defer r.posts.Delete(m.id())
	res, err := r.do(ctx, http.MethodPost, m, "")
	if err != nil {
		r.to.failed(m.id(), err)
		return
	}
	if id := res.Header.Get(headerSession); id != "" && m.Method == "initialize" {
		r.session.Store(id)
	}
	if err := r.answer(ctx, m, res); err != nil {
		r.to.failed(m.id(), err)
	}
}

// answer reads the answer to a request, and what comes with it.
func (r *remote) answer(ctx context.Context, m *message, res *http.Response) error {
	defer func() { _ = res.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/event-stream" && res.StatusCode < http.StatusBadRequest {
		return r.stream(ctx, m, res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxLine+1))
	switch {
	case err != nil:
		return err
	case len(body) > maxLine:
		return fmt.Errorf("the answer has more than %d bytes", maxLine)
	}
	all, err := parse(body)
	switch {
	case err == nil && r.take(m, all):
		return nil
	case res.StatusCode == http.StatusNotFound && r.session.value() != "":
		if r.end() {
			r.stop()
			go r.to.ended(errors.New("the server has ended the session (HTTP 404)"))
		}
		return errors.New("HTTP 404: the server has ended the session")
	case res.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("HTTP %s", res.Status)
	}
	return fmt.Errorf("the server answered with something else than MCP: %s", safetext.Line(safetext.Cut(string(body), 200)))
}

// take passes on messages that came for a request, and reports whether its answer was among them.
func (r *remote) take(m *message, all []*message) (answered bool) {
	for _, got := range all {
		if got.Method == "" && got.id() == m.id() {
			answered = true
			if m.Method == "initialize" && got.Error == nil {
				r.version.Store(textOf(got.Result, "protocolVersion")) // the client reports one that is none
			}
		}
		r.to.message(got, m.id())
	}
	return answered
}

func (r *remote) do(ctx context.Context, method string, m *message, last string) (*http.Response, error) {
	var body io.Reader
	if m != nil {
		body = bytes.NewReader(m.encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL, body)
	if err != nil {
		return nil, notSent(err)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Accept", "text/event-stream")
	if m != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	if session := r.session.value(); session != "" {
		req.Header.Set(headerSession, session)
	}
	version := r.version.value()
	if m != nil {
		version = mirror(req.Header, ctx, m, version)
	}
	if version != "" {
		req.Header.Set(headerVersion, version)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return nil, redact.Error(err)
	}
	return res, nil
}

// end has nothing more sent, and reports whether it is the first to do so.
func (r *remote) end() (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, r.ended = !r.ended, true
	return first
}

// close ends the session by a DELETE.
func (r *remote) close() {
	if r.end() && r.session.value() != "" {
		ctx, cancel := context.WithTimeout(context.Background(), endPatience)
		if res, err := r.do(ctx, http.MethodDelete, nil, ""); err == nil {
			_ = res.Body.Close()
		}
		cancel()
	}
	r.stop()
	r.work.Wait()
}

// revision returns the protocol's revision of a request: the one that it names itself, or the agreed one.
func revision(params json.RawMessage, agreed string) string {
	if said := metaOf(params)[mcp.MetaKeyProtocolVersion]; said != nil {
		_ = json.Unmarshal(said, &agreed) // one that is no text is the server's to refuse
	}
	return agreed
}

// mirror sets the headers that repeat the body of a request, and returns its revision.
func mirror(header http.Header, ctx context.Context, m *message, agreed string) string {
	version := revision(m.Params, agreed)
	if version < modern || m.Method == "" {
		return version
	}
	header.Set("Mcp-Method", m.Method)
	params := members(m.Params)
	member := map[string]string{methodCallTool: "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]
	if strings.HasPrefix(m.Method, "tasks/") {
		member = "taskId"
	}
	var name string
	if member != "" && json.Unmarshal(params[member], &name) == nil {
		header.Set("Mcp-Name", name)
	}
	if schema, ok := ctx.Value(schemaKey{}).(json.RawMessage); ok && m.Method == methodCallTool {
		mirrorArguments(header, schema, members(params["arguments"]))
	}
	return version
}

// schemaKey is under what the context of a call keeps the tool's input schema.
type schemaKey struct{}

// mirrorArguments sets a header for each argument that the schema wants to have one.
func mirrorArguments(header http.Header, schema json.RawMessage, arguments map[string]json.RawMessage) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return
	}
	for name, property := range s.Properties {
		argument, there := arguments[name]
		if !there || string(argument) == "null" {
			continue
		}
		if wanted := textOf(property, "x-mcp-header"); wanted != "" {
			if value, ok := headerValue(argument); ok {
				header.Set("Mcp-Param-"+wanted, value)
			}
			continue
		}
		mirrorArguments(header, property, members(argument))
	}
}

func headerValue(raw json.RawMessage) (string, bool) {
	var v any
	if decode(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return v.String(), true
		}
		f, err := v.Float64()
		return strconv.FormatInt(int64(f), 10), err == nil && f == float64(int64(f))
	case string:
		plain := v == strings.TrimSpace(v) && !strings.HasPrefix(v, "=?base64?")
		for _, c := range v {
			plain = plain && ' ' <= c && c <= '~'
		}
		if plain {
			return v, true
		}
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?=", true
	}
	return "", false
}

// How often a broken stream is taken up again, and after which time at first.
const (
	resumptions     = 5
	resumptionDelay = time.Second
	longOpen        = 10 * time.Second
)

// A position is where a stream of events is taken up again if it breaks.
type position struct {
	last  string // the ID of the last event that has one
	delay time.Duration
	try   int // since the last event
}

// read passes on the messages of a stream until one of them answers the request, and reports whether one has.
func (r *remote) read(res *http.Response, m *message, at *position) (answered bool, err error) {
	defer func() { _ = res.Body.Close() }()
	err = readEvents(res.Body, func(e event) bool {
		at.last, at.delay, at.try = cmp.Or(e.id, at.last), cmp.Or(e.retry, at.delay), 0
		if all, err := parse(e.data); err == nil {
			answered = r.take(m, all) || answered
		}
		return !answered
	})
	return answered, err
}

// stream reads the events of a request's answer, and resumes a stream that breaks if it can.
func (r *remote) stream(ctx context.Context, m *message, res *http.Response) error {
	for at := (position{delay: resumptionDelay}); ; at.try++ {
		answered, err := r.read(res, m, &at)
		switch {
		case answered:
			return nil
		case at.last == "" || at.try >= resumptions || ctx.Err() != nil:
			if err == nil || errors.Is(err, io.EOF) { // it was not finished, whether or not it looks like that
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("the answer broke off: %w", err)
		}
		if res, err = r.resume(ctx, at.last, at.delay); err != nil {
			return fmt.Errorf("the answer broke off, and could not be taken up again: %w", err)
		}
	}
}

func (r *remote) resume(ctx context.Context, last string, delay time.Duration) (*http.Response, error) {
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	res, err := r.do(ctx, http.MethodGet, nil, last)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		_ = res.Body.Close()
		return nil, fmt.Errorf("HTTP %s", res.Status)
	}
	return res, nil
}

// listen holds a stream open for the server's own messages, if it has one. A proxy may close a silent
// one again and again: one that was open for long is not a failure.
func (r *remote) listen() {
	for at := (position{}); at.try <= resumptions; at.try++ {
		res, err := r.resume(r.ctx, at.last, at.delay)
		if r.ctx.Err() != nil || err != nil && at == (position{}) {
			return // it has none
		}
		if err != nil {
			at.delay = resumptionDelay << at.try
			continue
		}
		at.delay = resumptionDelay
		opened := time.Now()
		_, _ = r.read(res, new(message), &at) // it is taken up again, whatever ended it
		if time.Since(opened) > longOpen {
			at.try = 0
		}
	}
	r.log.Warn("proxy: the server no longer sends anything on its own; its stream cannot be opened again", slog.String("server", r.Name))
}

type event struct {
	id    string
	retry time.Duration
	data  []byte
}

// readEvents hands over each event of a stream until the func has enough.
func readEvents(in io.Reader, take func(event) bool) error {
	var e event
	seen := false
	r := bufio.NewReader(in)
	for {
		line, err := readLine(r)
		if err != nil {
			return err // an event that was cut off is none
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if seen && !take(e) {
				return nil
			}
			e, seen = event{}, false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data, seen = append(e.data, value...), true
		case "id":
			e.id, seen = string(value), true
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil && ms > 0 {
				e.retry, seen = min(time.Duration(ms)*time.Millisecond, time.Minute), true
			}
		}
		if len(e.data) > maxLine {
			return fmt.Errorf("an event has more than %d bytes", maxLine)
		}
	}
}
