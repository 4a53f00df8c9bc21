package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A backend is a server that reads and writes bytes itself, in the way of its reader.
type backend struct {
	w       *edges
	name    string
	reader  reader
	lax     bool // executes requests without an id too
	http    bool
	leads   bool    // answers some requests over HTTP with a redirect to itself
	turns   turning // of requests over HTTP
	meddles meddling
	paged   bool                 // its list has two pages
	pages   int                  // that were asked for
	lists   time.Duration        // how long it takes to list its tools
	muteAt  time.Duration        // from when on it answers nothing for a while; 0 for never
	history map[string][]revised // of each tool, the present definition last
	version int                  // of its notes: the number of writes so far
	links   []*link
}

// A revised is a definition of a tool from some instant on; revision 0 is the tool's absence.
type revised struct {
	revision int
	at       time.Time
	told     map[*link]bool // the connections that were notified at that instant
}

func (b *backend) now(tool string) revised {
	if all := b.history[tool]; len(all) > 0 {
		return all[len(all)-1]
	}
	return revised{}
}

// nameOf is the name of a tool at the clients.
func (b *backend) nameOf(tool string) string {
	if len(b.w.servers) == 1 {
		return tool
	}
	return (&middleware.Tool{Server: b.name, Definition: &mcp.Tool{Name: tool}}).ModelName()
}

type link struct {
	*wire // for its own messages, and over lines for all

	session string // its name over HTTP: the place among the links
	client  string // that was introduced
	listens bool   // to the server's own messages
	over    bool   // the session that it names
}

func (b *backend) newLink(w *wire) *link {
	l := &link{wire: w, session: strconv.Itoa(len(b.links))}
	b.links = append(b.links, l)
	return l
}

func (b *backend) open() (io.ReadWriteCloser, error) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	var l *link
	l = b.newLink(newWire(func(line []byte) {
		b.w.begin(func() {
			if reply, err := b.serve(b.w.ctx, l, line); err != nil {
				_ = l.Close()
			} else if reply != nil {
				l.give(append(reply, '\n'))
			}
		})
	}))
	l.listens = true
	return l, nil
}

const headerSession = "Mcp-Session-Id"

func (b *backend) RoundTrip(req *http.Request) (*http.Response, error) {
	l := b.linkOf(req)
	respond := func(status int, body io.ReadCloser, header ...string) (*http.Response, error) {
		res := &http.Response{StatusCode: status, Status: http.StatusText(status), Body: body, Header: make(http.Header), Request: req, ContentLength: -1}
		for i := 0; i < len(header); i += 2 {
			res.Header.Set(header[i], header[i+1])
		}
		return res, nil
	}
	named := req.Header.Get(headerSession) != ""
	switch {
	case req.Method == http.MethodGet && l != nil && !b.isOver(l):
		b.w.mu.Lock()
		l.listens = true
		b.w.mu.Unlock()
		context.AfterFunc(req.Context(), func() { _ = l.Close() })
		return respond(http.StatusOK, l.wire, "Content-Type", "text/event-stream")
	case req.Method == http.MethodGet:
		return respond(http.StatusNotFound, http.NoBody)
	case req.Method != http.MethodPost:
		return respond(http.StatusOK, http.NoBody)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if status, reason := b.turnsAway(l, named, body); status != 0 {
		return respond(status, io.NopCloser(strings.NewReader(reason)), "Content-Type", "text/plain")
	}
	if b.leads && req.URL.Path == "/mcp" && b.reader.read(body).method == "tools/call" {
		b.w.delivered(b, l, body)
		return respond(http.StatusTemporaryRedirect, http.NoBody, "Location", "/there")
	}
	reply, err := b.serve(req.Context(), l, body)
	switch {
	case errors.Is(err, errDied):
		return b.died(respond)
	case err != nil:
		return nil, err
	case reply == nil:
		return respond(http.StatusAccepted, http.NoBody)
	}
	return respond(http.StatusOK, io.NopCloser(bytes.NewReader(reply)), "Content-Type", "application/json", headerSession, l.session)
}

// linkOf finds the connection of a request by the session that it names. A POST without one begins a connection.
func (b *backend) linkOf(req *http.Request) *link {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if n, err := strconv.Atoi(req.Header.Get(headerSession)); err == nil {
		return b.links[n]
	}
	if req.Method == http.MethodPost {
		return b.newLink(newWire(nil))
	}
	return nil
}

var errDied = errors.New("sim: the server died")

// serve answers a message, nil if it has no answer. An error is the server's death.
func (b *backend) serve(ctx context.Context, l *link, message []byte) ([]byte, error) {
	if b.w.mute(b) {
		<-ctx.Done()
		return nil, nil
	}
	m := b.reader.read(message)
	switch {
	case m.method == "tools/call" && (m.id != "" || b.lax):
		return b.call(ctx, l, message, m)
	case m.id == "":
		return nil, nil
	case m.method == "initialize":
		params := b.reader.member(message, "params")
		b.w.mu.Lock()
		l.client = text(b.reader.member(b.reader.member(params, "clientInfo"), "name"))
		b.w.mu.Unlock()
		version := cmp.Or(text(b.reader.member(params, "protocolVersion")), protocol)
		return answer(m.id, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":%q,"version":"1"}}`, min(version, protocol), b.name))
	case m.method == "server/discover" && b.w.settings.front == overModern:
		return answer(m.id, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)
	case m.method == "tools/list":
		return b.page(ctx, m.id, text(b.reader.member(b.reader.member(message, "params"), "cursor")))
	case m.method == "ping":
		return answer(m.id, `{}`)
	}
	return []byte(`{"jsonrpc":"2.0","id":` + m.id + `,"error":{"code":-32601,"message":"no such method"}}`), nil
}

const protocol = "2025-06-18"

func answer(id, result string, err ...error) ([]byte, error) {
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`), errors.Join(err...)
}

// call executes a call. It has its effect at once, or at the end.
func (b *backend) call(ctx context.Context, l *link, message []byte, m reading) ([]byte, error) {
	d := b.w.delivered(b, l, message)
	if token := b.reader.member(b.reader.member(b.reader.member(message, "params"), "_meta"), "progressToken"); token != nil {
		b.tell(l, progress(string(token), b.name))
	}
	fault, latency, late := b.w.drawEdgeFault(b, d)
	if fault == failed { // it dies before it has executed the call
		return nil, errDied
	}
	if !b.w.executes(b, l, d, !late) {
		return []byte(`{"jsonrpc":"2.0","id":` + cmp.Or(m.id, "null") + `,"error":{"code":-32602,"message":"unknown tool"}}`), nil
	}
	if err := world.Wait(ctx, latency); err != nil || fault == stubborn { // it never answers
		<-ctx.Done()
		return nil, nil
	}
	if late {
		b.w.executes(b, l, d, true)
	}
	switch {
	case fault == dropped:
		return nil, errDied
	case m.id == "":
		return nil, nil
	case fault == invalid:
		return []byte(`{"jsonrpc":"2.0","id":` + m.id + `,"error":{"code":-32000,"message":"it failed"}}`), nil
	}
	return answer(m.id, fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}],"isError":%t}`, d.n, fault == isError))
}

// change redefines a tool, or removes it with revision 0, and notifies the clients.
func (b *backend) change(tool string, revision int, tells bool) {
	b.w.mu.Lock()
	b.w.say(b.name, "changes", fmt.Sprintf("%s to %d, tells %t", tool, revision, tells))
	change := revised{revision, time.Now(), make(map[*link]bool)}
	for _, l := range b.links {
		if tells && l.listens && !l.ended() {
			change.told[l] = true
		}
	}
	b.history[tool] = append(b.history[tool], change)
	b.w.mu.Unlock()
	for l := range change.told {
		b.tell(l, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}
}
