package proxy_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// The frames of RFC 9113 that a server needs.
const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway = 0, 1, 3, 4, 6, 7
	flagEnd, flagWhole                                                         = 1, 4
)

func frame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[5:], stream)
	_, _ = w.Write(append(head, payload...))
}

// serveHTTP2 speaks HTTP/2 on a connection: it answers each request, and ends a call that it has executed as end does.
func serveHTTP2(conn net.Conn, end func(conn io.Writer, stream uint32)) {
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
		switch {
		case head[3] == frameSettings && head[4]&flagEnd == 0:
			frame(conn, frameSettings, flagEnd, 0, nil)
		case head[3] == framePing && head[4]&flagEnd == 0:
			frame(conn, framePing, flagEnd, 0, payload)
		case head[3] == frameHeaders:
			bodies[stream] = new(bytes.Buffer)
		case head[3] == frameData:
			bodies[stream].Write(payload)
		}
		if bodies[stream] == nil || head[4]&flagEnd == 0 {
			continue
		}
		var m upMessage
		_ = json.Unmarshal(bodies[stream].Bytes(), &m)
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}`,
			"tools/list": `{"tools":[` + deleteThing + `]}`,
		}[m.Method]
		switch {
		case m.Method == "tools/call":
			end(conn, stream)
		case m.ID == nil: // 202, by RFC 7541
			frame(conn, frameHeaders, flagWhole|flagEnd, stream, []byte("\x08\x03202"))
		default:
			frame(conn, frameHeaders, flagWhole, stream, []byte("\x88\x00\x0ccontent-type\x10application/json"))
			frame(conn, frameData, flagEnd, stream, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`))
		}
	}
}

// A server over HTTP/2 may execute a call and then claim that it has not begun it. The call is sent once, for its one
// approval, and its outcome is unknown.
func TestCallIsSentOnceOverHTTP2(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w io.Writer, stream uint32){
		"REFUSED_STREAM": func(w io.Writer, stream uint32) { frame(w, frameReset, 0, stream, []byte{0, 0, 0, 7}) },
		"GOAWAY":         func(w io.Writer, _ uint32) { frame(w, frameGoAway, 0, 0, make([]byte, 8)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := httptest.NewTLSServer(nil) // for its certificate
			t.Cleanup(from.Close)
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: from.TLS.Certificates, NextProtos: []string{"h2"}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			var executed atomic.Int32
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					go serveHTTP2(conn, func(w io.Writer, stream uint32) {
						executed.Add(1)
						end(w, stream)
					})
				}
			}()
			trusting := from.Client().Transport.(*http.Transport).Clone()
			trusting.ForceAttemptHTTP2 = true
			t.Cleanup(trusting.CloseIdleConnections)
			p, err := proxy.New(proxy.Options{Confirm: approve(true), Servers: []proxy.Server{{Name: "up", URL: "https://" + l.Addr().String(), RoundTripper: trusting}}})
			if err != nil {
				t.Fatal(err)
			}
			got := new(plain).client(t, p).call(deleteOne)
			if !strings.Contains(got, "may or may not have happened") || executed.Load() != 1 {
				t.Errorf("executed %d times, and the model is told %s", executed.Load(), got)
			}
		})
	}
}
