package sdkerr_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/internal/sdkerr"
)

// An http2Server ends the stream of each request as it wants, once it has the whole body.
type http2Server struct {
	net.Listener

	end func(conn io.Writer, stream uint32, body string)
}

// Frames of RFC 9113.
const (
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7
	flagEnd       = 1 // of a stream, or an acknowledgement
)

func frame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[5:], stream)
	_, _ = w.Write(append(head, payload...))
}

func reset(w io.Writer, stream uint32, _ string) { frame(w, frameReset, 0, stream, []byte{0, 0, 0, 7}) } // REFUSED_STREAM

// goAway leaves every stream out of the last that was processed.
func goAway(w io.Writer, _ uint32, _ string) {
	frame(w, frameGoAway, 0, 0, make([]byte, 8))
}

// newHTTP2 starts a server over TLS, and returns it with a transport that trusts it.
func newHTTP2(t *testing.T, end func(io.Writer, uint32, string)) (*http2Server, *http.Transport) {
	t.Helper()
	from := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(from.Close)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: from.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &http2Server{Listener: l, end: end}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	trusting := from.Client().Transport.(*http.Transport).Clone()
	trusting.ForceAttemptHTTP2 = true
	t.Cleanup(trusting.CloseIdleConnections)
	return s, trusting
}

func (s *http2Server) serve(conn net.Conn) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	frame(conn, frameSettings, 0, 0, nil)
	bodies := make(map[uint32]*bytes.Buffer)
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(conn, payload); err != nil {
			return
		}
		stream := binary.BigEndian.Uint32(head[5:])
		switch head[3] {
		case frameSettings, framePing:
			if head[4]&flagEnd == 0 {
				if head[3] == frameSettings {
					payload = nil
				}
				frame(conn, head[3], flagEnd, 0, payload)
			}
		case frameHeaders:
			bodies[stream] = new(bytes.Buffer)
		case frameData:
			bodies[stream].Write(payload)
		}
		if stream > 0 && head[4]&flagEnd != 0 && bodies[stream] != nil {
			s.end(conn, stream, bodies[stream].String())
		}
	}
}

// A server that has executed a request can reset it as one that it has not executed, or leave it out of a GOAWAY.
// By itself net/http then sends it again.
func TestHTTP2SendsNoPostASecondTime(t *testing.T) {
	for name, end := range map[string]func(io.Writer, uint32, string){"REFUSED_STREAM": reset, "GOAWAY": goAway} {
		for _, c := range []struct {
			name  string
			wrap  func(http.RoundTripper) http.RoundTripper
			twice bool
		}{
			{"without RoundTripper", func(b http.RoundTripper) http.RoundTripper { return b }, true},
			{"with it", sdkerr.RoundTripper, false},
			{"with two of ours", func(b http.RoundTripper) http.RoundTripper { return sdkerr.RoundTripper(sdkerr.RoundTripper(b)) }, false},
			{"with one that adds a header beneath", func(b http.RoundTripper) http.RoundTripper { return sdkerr.RoundTripper(adding("X")(b)) }, false},
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var executed atomic.Int32
				s, transport := newHTTP2(t, func(conn io.Writer, stream uint32, body string) {
					if executed.Add(1) > 1 {
						cancel() // it goes on for a minute
					}
					end(conn, stream, body)
				})
				ctx, w := sdkerr.Watch(ctx)
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+s.Addr().String(), bytes.NewReader([]byte(`{"act":1}`)))
				if err != nil {
					t.Fatal(err)
				}
				res, err := (&http.Client{Transport: c.wrap(transport)}).Do(req)
				if err == nil {
					_ = res.Body.Close()
					t.Fatalf("got HTTP %s", res.Status)
				}
				if got := executed.Load(); got > 1 != c.twice || got == 0 {
					t.Errorf("the server executed it %d times (%v)", got, err)
				}
				if !c.twice {
					check(t, sdkerr.Sort(t.Context(), w, "srv", "act", err), unknown)
				}
			})
		}
	}
}
