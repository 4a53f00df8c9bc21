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
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

// A link is a connection with a server. It passes on messages with the ID of the request that each
// belongs to, "" if the transport does not show it.
type link interface {
	// send returns once the message is on its way. An error with NotSent means that it did not arrive.
	send(ctx context.Context, m *message) error
	// close ends the connection, and returns when it has ended.
	close()
}

type sink struct {
	message func(m *message, about string)
	// failed returns the error of a request that was sent and gets no answer.
	failed func(id string, err error)
	// ended is called once, when the server has ended the link.
	ended func(err error)
}

// A stdio is a link with a server that reads and writes one message a line.
type stdio struct {
	*lineWriter

	end  func()        // has the server end its output
	over chan struct{} // closed when it has ended
}

// openStdio passes on what a server writes, until the end, and then the error that ended makes of it.
func openStdio(s Server, from io.Reader, out io.WriteCloser, log *slog.Logger, to sink, ended func(read error) error) *stdio {
	l := &stdio{lineWriter: newLineWriter(out), over: make(chan struct{})}
	go func() {
		err := eachMessage(from, func(m *message) { to.message(m, "") }, func(line []byte) {
			log.Warn("proxy: the server wrote something to its standard output that is no message; it was left out",
				slog.String("server", s.Name), slog.String("text", safetext.Line(safetext.Cut(string(line), 200))))
		})
		l.stop()
		_ = out.Close() // it has ended
		err = ended(err)
		close(l.over)
		to.ended(err)
	}()
	return l
}

func (l *stdio) close() {
	l.stop()
	l.end()
	<-l.over
}

// openStream opens a connection to a server in this process.
func openStream(s Server, log *slog.Logger, to sink) (*stdio, error) {
	stream, err := s.Open()
	if err != nil {
		return nil, err
	}
	l := openStdio(s, stream, stream, log, to, func(err error) error { return fmt.Errorf("its stream ended: %w", err) })
	l.end = func() { _ = stream.Close() } // an error changes nothing
	return l, nil
}

// endPatience is how long a process has to end after its input has ended, and again after a signal.
const endPatience = 2 * time.Second

// startChild starts a server's command. Its end is as the protocol has it: its input first, then SIGTERM, then SIGKILL.
func startChild(s Server, log *slog.Logger, to sink) (*stdio, error) {
	command := exec.Command(s.Command[0], s.Command[1:]...)
	command.Env = append(os.Environ(), s.Env...)
	command.Dir = s.Dir
	command.Stderr = s.Stderr
	command.WaitDelay = endPatience // for what its own children hold open
	ownGroup(command)
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	l := openStdio(s, stdout, stdin, log, to, func(read error) error {
		kill := time.AfterFunc(endPatience, func() { signal(command, syscall.SIGKILL) }) // one that goes on without an output
		_, _ = io.Copy(io.Discard, stdout)
		wait := command.Wait()
		kill.Stop()
		if wait == nil && read != io.EOF { //nolint:errorlint // readers return it as it is
			return fmt.Errorf("its output could not be read: %w", read)
		}
		return fmt.Errorf("its process ended: %w", cmp.Or(wait, io.EOF))
	})
	l.end = func() {
		_ = stdin.Close()
		for _, end := range []func(){
			func() { signal(command, syscall.SIGTERM) },
			func() { signal(command, syscall.SIGKILL) },
			func() { _ = stdout.Close() }, // that somebody else holds open
		} {
			select {
			case <-l.over:
				return
			case <-time.After(endPatience):
				end()
			}
		}
	}
	return l, nil
}

const maxLine = 64 << 20

// eachMessage hands over each message until the end, or the first line that is too long. Other lines are stray.
func eachMessage(in io.Reader, take func(*message), stray func(line []byte)) error {
	r := bufio.NewReaderSize(in, 256<<10)
	for {
		line, err := readLine(r)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			all, err := parse(line)
			if err != nil {
				stray(line)
			}
			for _, m := range all {
				take(m)
			}
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line with its end. It is the caller's.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("a line has more than %d bytes", maxLine)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// A lineWriter writes messages in order, so that a sender need not wait for a slow reader.
type lineWriter struct {
	lines   chan *message
	writing context.Context // done when nothing is written any more
	stop    context.CancelFunc
}

func newLineWriter(out io.Writer) *lineWriter {
	w := &lineWriter{lines: make(chan *message, 256)}
	w.writing, w.stop = context.WithCancel(context.Background())
	go func() {
		var all []byte
		for {
			select {
			case m := <-w.lines:
				runtime.Gosched() // what can be sent now is written with it
				all = all[:0]
				for more := true; more && m != nil; {
					all = append(m.append(all), '\n')
					if more = len(w.lines) > 0 && len(all) < writeTogether; more {
						m = <-w.lines
					}
				}
				if _, err := out.Write(all); err != nil || m == nil {
					w.stop()
				}
				if cap(all) > 16*writeTogether {
					all = nil
				}
			case <-w.writing.Done():
				return
			}
		}
	}()
	return w
}

// writeTogether is how many bytes of messages that are there already are written at once.
const writeTogether = 64 << 10

// finish writes what has been sent, and stops.
func (w *lineWriter) finish(ctx context.Context) {
	if w.send(ctx, nil) != nil {
		return
	}
	select {
	case <-w.writing.Done():
	case <-ctx.Done():
	}
}

var errStopped = errors.New("the connection is closed")

// send hands a message to the writer. With an error it was not sent.
func (w *lineWriter) send(ctx context.Context, m *message) error {
	if w.writing.Err() != nil {
		return notSent(errStopped)
	}
	select {
	case w.lines <- m:
		return nil
	case <-w.writing.Done():
		return notSent(errStopped)
	case <-ctx.Done():
		return notSent(context.Cause(ctx))
	}
}
