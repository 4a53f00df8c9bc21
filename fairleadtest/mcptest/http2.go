package mcptest

// An HTTP/2 server of net/http ends each request that it has executed in a proper way. A server that does not is spoken
// here by hand, with as little of RFC 9113 as the client of net/http needs.

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The frames of RFC 9113 that a server needs, and their flags.
const (
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7
	flagEnd       = 1 // of a stream, or an acknowledgement
	flagWhole     = 4 // no other frame of headers follows
)

// An HTTP2Stream is one request to a server of [ServeHTTP2], whose body has come whole. One of its methods ends it.
type HTTP2Stream struct {
	Body []byte

	conn io.Writer
	id   uint32
}

// Accept answers with HTTP 202 and no body, as a server does with a notification.
func (s *HTTP2Stream) Accept() {
	s.frame(frameHeaders, flagWhole|flagEnd, s.id, []byte("\x08\x03202")) // RFC 7541: the name of entry 8, :status
}

// Answer answers with HTTP 200 and a body of JSON.
func (s *HTTP2Stream) Answer(body string) {
	s.frame(frameHeaders, flagWhole, s.id, []byte("\x88\x00\x0ccontent-type\x10application/json")) // entry 8 of RFC 7541, and a new one
	s.frame(frameData, flagEnd, s.id, []byte(body))
}

// Refuse resets the stream with REFUSED_STREAM, which claims that the request was not executed.
func (s *HTTP2Stream) Refuse() { s.frame(frameReset, 0, s.id, []byte{0, 0, 0, 7}) }

// GoAway ends the connection and leaves every stream out of the last one that was processed.
func (s *HTTP2Stream) GoAway() { s.frame(frameGoAway, 0, 0, make([]byte, 8)) }

func (s *HTTP2Stream) frame(kind, flags byte, stream uint32, payload []byte) {
	writeFrame(s.conn, kind, flags, stream, payload)
}

func writeFrame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[5:], stream)
	_, _ = w.Write(append(head, payload...))
}

// ServeHTTP2 starts a server of HTTP/2 over TLS, which ends with the test, and returns its URL and a transport that
// trusts it. handle ends each request, on one goroutine for each connection.
func ServeHTTP2(t testing.TB, handle func(*HTTP2Stream)) (url string, trusting *http.Transport) {
	t.Helper()
	from := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(from.Close)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: from.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveHTTP2(conn, handle)
		}
	}()
	trusting = from.Client().Transport.(*http.Transport).Clone()
	trusting.ForceAttemptHTTP2 = true
	t.Cleanup(trusting.CloseIdleConnections)
	return "https://" + l.Addr().String(), trusting
}

func serveHTTP2(conn net.Conn, handle func(*HTTP2Stream)) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	writeFrame(conn, frameSettings, 0, 0, nil)
	bodies := make(map[uint32]*bytes.Buffer)
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(conn, payload); err != nil {
			return
		}
		kind, ends, stream := head[3], head[4]&flagEnd != 0, binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && !ends:
			writeFrame(conn, frameSettings, flagEnd, 0, nil)
		case kind == framePing && !ends:
			writeFrame(conn, framePing, flagEnd, 0, payload)
		case kind == frameHeaders:
			bodies[stream] = new(bytes.Buffer)
		case kind == frameData && bodies[stream] != nil:
			bodies[stream].Write(payload)
		}
		if body := bodies[stream]; body != nil && ends {
			handle(&HTTP2Stream{Body: body.Bytes(), conn: conn, id: stream})
		}
	}
}
