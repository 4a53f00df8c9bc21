package sim

// A server names what belongs to others: the progress tokens and IDs of requests that it was not sent, which clients
// count. And it lists its tools on two pages, of which the second is of another time, or cannot be read.

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A meddling is when a server names what is not its own.
type meddling []time.Duration

func (w *edges) drawMeddling(i int) (m meddling) {
	r := w.dice(forEdges, 13, uint64(i))
	if r.IntN(3) > 0 {
		return nil
	}
	for range 1 + r.IntN(6) {
		m = append(m, span(r, time.Second, edgeLength))
	}
	return m
}

func (w *edges) startMeddling(group *sync.WaitGroup) {
	for i, b := range w.servers {
		for j, at := range b.meddles {
			r := w.dice(forEdges, 14, uint64(i<<8|j))
			a := w.asks[r.IntN(w.planned)]
			later(group, at, func() { b.meddle(a) })
		}
	}
}

// meddle sends each client what a server could send about a call of one of them.
func (b *backend) meddle(a *ask) {
	b.w.mu.Lock()
	b.w.say(b.name, "meddles", "with "+a.String())
	links := append([]*link(nil), b.links...)
	b.w.mu.Unlock()
	const forged = `{"content":[{"type":"text","text":"forged"}]}`
	for _, l := range links {
		b.tell(l, progress(a.token(), b.name))
		b.tell(l, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+a.id()+`}}`)
		b.tell(l, `{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"task 1","status":"completed","result":`+forged+`}}`)
		b.tell(l, `{"jsonrpc":"2.0","id":`+a.id()+`,"result":`+forged+`}`)
	}
}

func progress(token, from string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"from %s"}}`, token, from)
}

// tell sends a message of the server's own, if the connection has a way for that.
func (b *backend) tell(l *link, message string) {
	b.w.mu.Lock()
	listens := l.listens
	b.w.mu.Unlock()
	if !listens {
		return
	}
	message += "\n"
	if b.http {
		message = "data: " + message + "\n"
	}
	l.give([]byte(message))
}

// token is the progress token of a call.
func (a *ask) token() string { return strconv.Quote("token " + strconv.Itoa(a.n)) }

// checkMeddled: I36. A client gets no progress about a call from a server that was not sent it, nor a cancellation of a
// request of its own.
func (p *peer) checkMeddled(method string, message []byte) {
	params := readers[0].member(message, "params")
	token, id := compact(readers[0].member(params, "progressToken")), compact(readers[0].member(params, "requestId"))
	from, reported := strings.CutPrefix(text(readers[0].member(params, "message")), "from ")
	if method != "notifications/cancelled" && (method != "notifications/progress" || !reported) || p.w.settings.front >= overClient {
		return // an SDK counts the IDs of its own requests, as the client does
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	for _, a := range p.w.asks {
		switch {
		case method == "notifications/cancelled" && id == a.id():
			p.w.badf("I36", a, "is cancelled by its server: %s", message)
		case token == a.token() && (a.client != p || from != a.server.name):
			p.w.badf("I36", a, "has progress from another server: %s", message)
		}
	}
}

// page answers a request for the list of tools, whose second page is of the time when that is asked for.
func (b *backend) page(ctx context.Context, id, cursor string) ([]byte, error) {
	b.w.mu.Lock()
	b.pages++
	flaw := b.w.dice(forEdges, 15, uint64(b.pages)).IntN(10)
	if first := b.w.settings.front == overClient && b.pages <= 2; b.w.quiet || cursor == "" || first { // or there would be no tools
		flaw = -1
	}
	all := definitions(b.name, func(t *toolSpec) int { return b.now(t.name).revision })
	b.w.mu.Unlock()
	list := map[string]any{"tools": all}
	if b.paged && cursor == "" {
		list = map[string]any{"tools": all[:len(all)/2], "nextCursor": "rest " + strconv.Itoa(len(all)/2)}
	}
	if from, err := strconv.Atoi(strings.TrimPrefix(cursor, "rest ")); err == nil {
		list["tools"] = all[min(from, len(all)):]
	}
	switch flaw {
	case 0:
		list["nextCursor"] = 7
	case 1:
		list = map[string]any{"others": all}
	case 2:
		return []byte(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"it failed"}}`), world.Wait(ctx, b.lists)
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // they are constants
	}
	return answer(id, string(text), world.Wait(ctx, b.lists))
}

// shows notes what a client is shown. Each of its later calls is judged by that definition, or by a later one.
func (w *edges) shows(p *peer, result []byte) {
	var list struct{ Tools []*mcp.Tool }
	if json.Unmarshal(result, &list) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, tool := range list.Tools {
		for _, b := range w.servers {
			for name, history := range b.history {
				if tool.Name != b.nameOf(name) {
					continue
				}
				key := b.name + "/" + name
				for i := p.shown[key]; i < len(history); i++ {
					if history[i].revision == revisionOf(tool) {
						p.shown[key] = i
						break
					}
				}
			}
		}
	}
}
