package sim

// Requests to a server over HTTP may go through a transport of net/http and a connection that breaks: before a request is
// executed, while it is, when half of the answer is there, and when all of it is. Over HTTP/2 the server may also reset the
// stream with REFUSED_STREAM, or leave it out of a GOAWAY, whether it has executed the request or not. net/http would send
// some of these again by itself. The server of HTTP/2 is written here, since that of net/http does nothing of this kind.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A protocolOf is how requests reach a server.
type protocolOf uint8

const (
	inMemory protocolOf = iota
	overOne             // HTTP/1.1
	overTwo             // HTTP/2
)

// A reset is how a connection breaks that a call came on.
type reset uint8

const (
	whole       reset = iota
	lostBefore        // the connection is closed, and the call was not read
	lostAmid          // it is closed while the call is executed
	lostAfter         // it is closed when the call was executed, without an answer
	half              // it is closed after half of the answer
	idle              // it is closed after the answer
	refusedNot        // REFUSED_STREAM, and the call was not read
	refusedDone       // REFUSED_STREAM, and the call was executed
	awayNot           // GOAWAY that leaves it out, and it was not read
	awayDone          // GOAWAY that leaves it out, and it was executed
	lastReset
)

// before reports whether the server does not read the call.
func (r reset) before() bool { return r == lostBefore || r == refusedNot || r == awayNot }

// pause is how long after an answer a connection is closed, so that the client has read it.
const pause = time.Millisecond

// connections are those of one server. They are its transport.
type connections struct {
	b         *backend
	protocol  protocolOf
	transport *http.Transport
	server    *http.Server  // of HTTP/1
	accepts   chan net.Conn // for it
}

// transport returns what the front sends its requests to the server by.
func (b *backend) transport() http.RoundTripper {
	if b.turns.protocol == inMemory {
		return b
	}
	c := &connections{b: b, protocol: b.turns.protocol, accepts: make(chan net.Conn)}
	c.transport = &http.Transport{DialContext: c.dial, MaxIdleConnsPerHost: 100, DisableCompression: true}
	c.server = &http.Server{Handler: c, ErrorLog: log.New(io.Discard, "", 0), ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}}
	if c.protocol == overTwo {
		c.transport.Protocols = new(http.Protocols)
		c.transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		b.w.running.Go(func() { _ = c.server.Serve(c) })
	}
	context.AfterFunc(b.w.ctx, func() {
		_ = c.server.Close()
		c.transport.CloseIdleConnections()
	})
	return c
}

type connKey struct{}

// RoundTrip sends a POST over a connection. What is a stream for long, and what ends a session, does not need one.
func (c *connections) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPost {
		return c.b.RoundTrip(req)
	}
	return c.transport.RoundTrip(req)
}

func (c *connections) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	if c.protocol == overTwo {
		c.b.w.begin(func() { (&connTwo{connections: c, Conn: there}).serve() })
		return here, c.b.w.ctx.Err()
	}
	select {
	case c.accepts <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.b.w.ctx.Done():
		return nil, c.b.w.ctx.Err()
	}
}

// Accept, Close and Addr make it the listener of the server of HTTP/1.
func (c *connections) Accept() (net.Conn, error) {
	select {
	case conn := <-c.accepts:
		return conn, nil
	case <-c.b.w.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (c *connections) Close() error   { return nil }
func (c *connections) Addr() net.Addr { return &net.UnixAddr{} }

// draw draws how the connection of a request breaks. A call whose connection breaks may have been executed, as far as
// anybody but its server knows.
func (c *connections) draw(body []byte) (r reset) {
	m, w := c.b.reader.read(body), c.b.w
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.askOf(m.arguments)
	if a == nil || m.method != "tools/call" || w.quiet {
		return whole
	}
	dice := w.dice(forEdges, 17, uint64(a.n)<<4|uint64((a.turned+a.reached)&15))
	if most := refusedNot; dice.IntN(3) == 0 {
		if c.protocol == overTwo {
			most = lastReset
		}
		r = reset(dice.IntN(int(most)))
	}
	if r != whole && r != idle {
		a.reached++
		w.say(c.b.name, "resets", a.String()+": "+strconv.Itoa(int(r)))
	}
	return r
}

// answer has the server answer a request. An answer that is nil was not given.
func (c *connections) answer(req *http.Request) (res *http.Response, body []byte, how reset) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, nil, lostBefore
	}
	if how = c.draw(sent); how.before() {
		return nil, nil, how
	}
	req.Body = io.NopCloser(bytes.NewReader(sent))
	if how == lostAmid {
		c.b.w.begin(func() {
			_, _ = c.b.RoundTrip(req.WithContext(c.b.w.ctx)) //nolint:bodyclose // nobody reads it
		})
		time.Sleep(span(rand.New(rand.NewPCG(uint64(len(sent)), 1)), pause, time.Second))
		return nil, nil, how
	}
	if res, err = c.b.RoundTrip(req); err != nil { // the server has died
		return nil, nil, lostAfter
	}
	if body, err = io.ReadAll(res.Body); err != nil {
		return nil, nil, lostAfter
	}
	return res, body, how
}

// ServeHTTP serves HTTP/1.
func (c *connections) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	res, body, how := c.answer(req) //nolint:bodyclose // answer has read it all
	if res == nil || how == lostAfter {
		panic(http.ErrAbortHandler) // the connection is closed
	}
	maps.Copy(w.Header(), res.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(res.StatusCode)
	if how == half {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body) // to a client that has gone, it is lost
	if conn, ok := req.Context().Value(connKey{}).(net.Conn); ok && how == idle {
		c.b.w.begin(func() {
			time.Sleep(pause)
			_ = conn.Close()
		})
	}
}

// A connTwo is a connection of HTTP/2 at the server.
type connTwo struct {
	*connections
	net.Conn

	ctx  context.Context // ends with the connection
	stop context.CancelFunc

	mu     sync.Mutex
	out    *http2.Framer // into the queue
	queue  chan []byte   // is written by a goroutine of its own, since the client may write at the same time
	header bytes.Buffer
	encode *hpack.Encoder
}

// A streamTwo is a request on it that has not come whole.
type streamTwo struct {
	req  *http.Request
	stop context.CancelFunc
	body bytes.Buffer
}

// Write queues frames.
func (c *connTwo) Write(p []byte) (int, error) {
	select {
	case c.queue <- bytes.Clone(p):
		return len(p), nil
	case <-c.ctx.Done():
		return 0, io.ErrClosedPipe
	}
}

// write calls f with what writes frames.
func (c *connTwo) write(f func(*http2.Framer) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f(c.out) != nil {
		c.stop()
	}
}

func (c *connTwo) serve() {
	c.ctx, c.stop = context.WithCancel(c.b.w.ctx)
	defer c.stop()
	context.AfterFunc(c.ctx, func() { _ = c.Conn.Close() })
	c.queue, c.out, c.encode = make(chan []byte, 1024), http2.NewFramer(c, c.Conn), hpack.NewEncoder(&c.header)
	c.b.w.begin(func() {
		for {
			select {
			case p := <-c.queue:
				if _, err := c.Conn.Write(p); err != nil {
					c.stop()
				}
			case <-c.ctx.Done():
				return
			}
		}
	})
	in := http2.NewFramer(io.Discard, c.Conn)
	in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.ReadFull(c.Conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	c.write(func(f *http2.Framer) error { return f.WriteSettings() })
	for streams := make(map[uint32]*streamTwo); ; {
		frame, err := in.ReadFrame()
		if err != nil {
			return
		}
		c.take(frame, streams)
	}
}

// take takes a frame of the client.
func (c *connTwo) take(frame http2.Frame, streams map[uint32]*streamTwo) {
	id, ends := frame.Header().StreamID, false
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			c.write(func(w *http2.Framer) error { return w.WriteSettingsAck() })
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			c.write(func(w *http2.Framer) error { return w.WritePing(true, f.Data) })
		}
	case *http2.RSTStreamFrame:
		if s := streams[id]; s != nil {
			s.stop()
		}
	case *http2.MetaHeadersFrame:
		ctx, stop := context.WithCancel(c.ctx)
		s := &streamTwo{req: request(ctx, "http://"+c.b.name+f.PseudoValue("path"), " "), stop: stop}
		for _, field := range f.RegularFields() {
			s.req.Header.Set(field.Name, field.Value)
		}
		streams[id], ends = s, f.StreamEnded()
	case *http2.DataFrame:
		if s := streams[id]; s != nil {
			s.body.Write(f.Data()) // it is far less than what a client may send unasked
			ends = f.StreamEnded()
		}
	}
	if ends {
		s := streams[id]
		s.req.Body = io.NopCloser(&s.body)
		c.b.w.begin(func() { c.reply(id, s) })
	}
}

// reply answers a request, or resets it.
func (c *connTwo) reply(id uint32, s *streamTwo) {
	defer s.stop()
	res, body, how := c.answer(s.req)
	switch how {
	case refusedNot, refusedDone:
		c.write(func(f *http2.Framer) error { return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) })
		return
	case awayNot, awayDone:
		c.write(func(f *http2.Framer) error { return f.WriteGoAway(0, http2.ErrCodeNo, nil) })
		return
	case lostBefore, lostAmid, lostAfter:
		time.Sleep(pause) // answers to other requests are on their way
		c.stop()
		return
	case half, idle:
		defer func() {
			time.Sleep(pause)
			c.stop()
		}()
	}
	c.write(func(f *http2.Framer) error {
		c.header.Reset()
		fields := []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(res.StatusCode)}}
		for _, name := range []string{"content-type", "mcp-session-id", "location"} {
			if value := res.Header.Get(name); value != "" {
				fields = append(fields, hpack.HeaderField{Name: name, Value: value})
			}
		}
		var errs []error
		for _, field := range fields {
			errs = append(errs, c.encode.WriteField(field))
		}
		errs = append(errs, f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.header.Bytes(), EndHeaders: true, EndStream: len(body) == 0}))
		if how == half {
			body = body[:len(body)/2]
		}
		for len(body) > 0 {
			part := body[:min(len(body), 16<<10)]
			body = body[len(part):]
			errs = append(errs, f.WriteData(id, len(body) == 0 && how != half, part))
		}
		return errors.Join(errs...)
	})
}
