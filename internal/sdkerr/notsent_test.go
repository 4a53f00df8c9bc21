package sdkerr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestConnectionRefusedIsNotSent(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		server, _ := counter()
		cs, h := mcptest.ConnectHTTP(t, server, nil, version)
		h.Stop()
		check(t, call(t, cs), verdict{notSent: true})
	})
}

func TestNoConnectionIsNotSent(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken error
		want   verdict
	}{
		{"no such host", &net.DNSError{Err: "no such host", Name: "srv", IsNotFound: true}, verdict{notSent: true}},
		{"no route", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route to host")}, verdict{notSent: true}},
		{"no name server", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving"}}, verdict{notSent: true}},
		{"something else", &net.OpError{Op: "read", Net: "tcp", Err: errors.New("reset")}, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				server, _ := counter()
				h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
					&mcp.StreamableHTTPOptions{Stateless: version >= mcptest.Modern}))
				defer h.Close()
				var armed atomic.Bool
				transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					if armed.Load() {
						return nil, c.broken
					}
					return new(net.Dialer).DialContext(ctx, network, address)
				}}
				cs, err := mcptest.NewClient().Connect(mcptest.Context(t), &mcp.StreamableClientTransport{
					Endpoint: h.URL, MaxRetries: -1, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: transport},
				}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer cs.Close()
				armed.Store(true)
				check(t, call(t, cs), c.want)
			})
		})
	}
}

// A connection error of a session that is not HTTP is about another connection.
func TestDialErrorOfSomethingElseIsUnknown(t *testing.T) {
	err := fmt.Errorf("fulfilling the input request: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")})
	check(t, call(t, callerFunc(func() (*mcp.CallToolResult, error) { return nil, err })), unknown)
}

func TestClosedConnectionIsNotSent(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		t.Run("B127 closed by the host", func(t *testing.T) {
			server, ran := counter()
			cs := mcptest.ConnectVersion(t, server, nil, version)
			if err := cs.Close(); err != nil {
				t.Fatal(err)
			}
			err := call(t, cs)
			check(t, err, verdict{notSent: true})
			if !errors.Is(err, mcp.ErrConnectionClosed) || ran.Load() != 0 {
				t.Errorf("got %v after %d executions, want ErrConnectionClosed after 0", err, ran.Load())
			}
		})
		t.Run("B127 by the peer before the call", func(t *testing.T) {
			hangup := make(chan *mcptest.Peer, 1)
			cs := mcptest.ConnectPeer(t, nil, version, func(p *mcptest.Peer, _ mcptest.Request) { hangup <- p })
			go func() { (<-hangup).Hangup() }()
			check(t, call(t, cs), unknown) // in flight: it may have happened
			check(t, call(t, cs), verdict{notSent: true})
		})
	})
}

func TestServersOwnClosingCodesAreNotNotSent(t *testing.T) {
	for _, reply := range []string{
		`{"code":-32003,"message":"the session is closing"}`,
		`{"code":-32004,"message":"server is closing"}`,
		`{"code":-32004,"message":"x: calling \"tools/call\": client is closing"}`,
		`{"code":-32003,"message":"client is closing down"}`,
	} {
		t.Run(reply, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				cs := mcptest.ConnectPeer(t, nil, version, func(p *mcptest.Peer, r mcptest.Request) { p.Fail(r, reply) })
				check(t, call(t, cs), unknown)
			})
		})
	}
}

func TestUnwritableCallIsNotSent(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		server, ran := counter()
		cs := mcptest.ConnectVersion(t, server, nil, version)
		for name, value := range map[string]any{
			"a channel": make(chan int), "not a number": math.NaN(), "a marshaler that fails": failing{},
		} {
			t.Run(name, func(t *testing.T) {
				c := act(t)
				c.Meta = mcp.Meta{"x": value}
				_, err := session.Executor(cs).CallTool(mcptest.Context(t), c)
				if err == nil {
					t.Fatal("got no error")
				}
				check(t, err, verdict{notSent: true})
			})
		}
		if ran.Load() != 0 {
			t.Errorf("the tool ran %d times", ran.Load())
		}
	})
}

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no") }

// Over HTTP a call that left is recognized, whatever the server answers.
func TestServerThatSpeaksAsTheClientIsNotNotSentOverHTTP(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		s := mcptest.New()
		mcptest.Add(s, mcptest.Tool("act", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -32003, Message: "client is closing"}
		})
		cs, _ := mcptest.ConnectHTTP(t, s, nil, version)
		check(t, call(t, cs), unknown)
	})
}
