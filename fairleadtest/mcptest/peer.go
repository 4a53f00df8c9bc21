package mcptest

// A Peer speaks JSON-RPC by hand, a line each, so that a test can send what no server of the SDK would: malformed
// lists, late answers, half a line, the end of the process.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Peer is the other end of a client's pipe. It answers the handshake of both revisions, and passes other
// requests on. Its methods may be called from any goroutine, also after handle has returned.
type Peer struct {
	mu     sync.Mutex
	in     *io.PipeReader
	out    *io.PipeWriter
	handle func(p *Peer, r Request)
}

// A Request is what the client sent.
type Request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// ConnectPeer returns a session with a peer; both end with the test. handle gets each request, on one goroutine.
func ConnectPeer(t testing.TB, client *mcp.Client, version string, handle func(p *Peer, r Request)) *mcp.ClientSession {
	t.Helper()
	return Dial(t, client, PeerTransport(t, handle), version)
}

// PeerTransport is the way to a peer that ends with the test.
func PeerTransport(t testing.TB, handle func(p *Peer, r Request)) mcp.Transport {
	t.Helper()
	fromClient, toPeer := io.Pipe()
	fromPeer, toClient := io.Pipe()
	p := &Peer{in: fromClient, out: toClient, handle: handle}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.serve()
	}()
	t.Cleanup(func() {
		p.Hangup()
		<-done
	})
	return &mcp.IOTransport{Reader: fromPeer, Writer: toPeer}
}

// serve answers the handshake and passes other requests to handle, until the pipe ends.
func (p *Peer) serve() {
	lines := bufio.NewReader(p.in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r Request
		if json.Unmarshal(line, &r) != nil || r.ID == nil { // a notification
			continue
		}
		const about = `"capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"1"}`
		switch r.Method {
		case "initialize":
			p.Reply(r, `{"protocolVersion":"`+Legacy+`",`+about+`}`)
		case "server/discover":
			p.Reply(r, `{"resultType":"complete","supportedVersions":["`+Modern+`"],"ttlMs":0,"cacheScope":"private",`+about+`}`)
		default:
			p.handle(p, r)
		}
	}
}

// Reply answers a request with a result, written as it is.
func (p *Peer) Reply(r Request, result string) {
	p.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result))
}

// Fail answers a request with an error, written as it is.
func (p *Peer) Fail(r Request, err string) {
	p.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, r.ID, err))
}

// Write sends one line.
func (p *Peer) Write(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, line+"\n")
}

// Cut sends the beginning of a line and closes both directions.
func (p *Peer) Cut(beginning string) {
	p.mu.Lock()
	_, _ = io.WriteString(p.out, beginning)
	p.mu.Unlock()
	p.Hangup()
}

// Hangup closes both directions, as a process that dies does.
func (p *Peer) Hangup() {
	_ = p.out.Close()
	_ = p.in.Close()
}

// Tools is the result of a list of tools, each written as it is.
func Tools(nextCursor string, tools ...string) string {
	return fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[%s],"nextCursor":%q}`, strings.Join(tools, ","), nextCursor)
}
