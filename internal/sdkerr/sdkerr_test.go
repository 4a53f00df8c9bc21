package sdkerr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	mcptest.Main(m, map[string]func() *mcp.Server{"dying": func() *mcp.Server {
		s := mcptest.New()
		mcptest.Add(s, mcptest.Tool("act", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			os.Exit(3)
			return nil, nil
		})
		return s
	}})
}

// verdict holds the facts of an error. The zero value has no facts.
type verdict struct {
	notSent, refused, permanent bool
	after                       time.Duration
}

func verdictOf(err error) verdict {
	after, _ := middleware.RetryAfter(err)
	return verdict{middleware.NotSent(err), middleware.Refused(err), middleware.Permanent(err), after}
}

var unknown = verdict{}

func act(t *testing.T) middleware.Call {
	t.Helper()
	tool, err := middleware.NewTool("srv", mcptest.Tool("act", ""), annotation.Annotations{})
	if err != nil {
		t.Fatal(err)
	}
	return middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"a":1}`)}
}

// call makes one call through the executor, and wants it to fail.
func call(t *testing.T, cs session.Caller) error {
	t.Helper()
	res, err := session.Executor(cs).CallTool(mcptest.Context(t), act(t))
	if err == nil || res != nil {
		t.Fatalf("got %v, %v, want an error alone", res, err)
	}
	return err
}

func check(t *testing.T, err error, want verdict) {
	t.Helper()
	if got := verdictOf(err); got != want {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
}

func eachVersion(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// A counter is a server with one tool, which counts how often it ran.
func counter() (*mcp.Server, *atomic.Int32) {
	s, ran := mcptest.New(), new(atomic.Int32)
	mcptest.Add(s, mcptest.Tool("act", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		ran.Add(1)
		return mcptest.Text("done"), nil
	})
	return s, ran
}

func TestBrokenOffAfterExecutionIsUnknown(t *testing.T) {
	t.Run("B123 stdio server dies before it answers", func(t *testing.T) {
		eachVersion(t, func(t *testing.T, version string) {
			cs := mcptest.Dial(t, nil, mcptest.ChildTransport(t, "dying"), version)
			err := call(t, cs)
			check(t, err, unknown)
			if !errors.Is(err, io.EOF) {
				t.Errorf("got %v, want io.EOF in its tree", err)
			}
			check(t, call(t, cs), verdict{notSent: true})
		})
	})
	// Each lets the tool run to its end and then spoils the answer.
	for name, spoil := range map[string]func(w http.ResponseWriter, r *http.Request){
		"B125 EOF": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
		},
		"TCP reset": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		},
		"answer cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`)
		},
		"stream without an answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": nothing\n\n")
		},
		"rubbish": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>")
		},
		"redirect to a dead address": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+deadAddress+"/", http.StatusTemporaryRedirect)
		},
		"redirect to a host without an address": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://nowhere.invalid/", http.StatusTemporaryRedirect)
		},
		"500": status(http.StatusInternalServerError), "502": status(http.StatusBadGateway),
		"503": status(http.StatusServiceUnavailable), "504": status(http.StatusGatewayTimeout),
		"400": status(http.StatusBadRequest), "401": status(http.StatusUnauthorized),
		"403": status(http.StatusForbidden), "404": status(http.StatusNotFound), "413": status(http.StatusRequestEntityTooLarge),
	} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				server, ran := counter()
				cs, h := mcptest.ConnectHTTP(t, server, nil, version)
				h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
					ran.Add(1)
					_, _ = io.Copy(io.Discard, r.Body)
					spoil(w, r)
					return true
				})
				err := call(t, cs)
				check(t, err, unknown)
				if got := ran.Load(); got != 1 {
					t.Errorf("got %d requests, want 1", got)
				}
			})
		})
	}
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, "no", code)
	}
}

// deadAddress is a port of the loopback that refuses, and that no other test's server
// can be given, as one that was listened on and closed could be.
const deadAddress = "127.0.0.1:1"

// A RoundTripper of the host's that repeats by itself may have brought the call
// to the server before its last attempt was refused.
func TestRefusedAfterAnAttemptThatArrivedIsUnknown(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		server, _ := counter()
		var armed atomic.Bool
		twice := roundTripper(func(r *http.Request) (*http.Response, error) {
			if !armed.Load() {
				return http.DefaultTransport.RoundTrip(r)
			}
			first := r.Clone(r.Context())
			body, _ := io.ReadAll(r.Body)
			first.Body = io.NopCloser(strings.NewReader(string(body)))
			res, err := http.DefaultTransport.RoundTrip(first)
			if err != nil {
				return nil, err
			}
			_ = res.Body.Close()
			second := r.Clone(r.Context())
			second.URL.Host, second.Body = deadAddress, io.NopCloser(strings.NewReader(string(body)))
			return http.DefaultTransport.RoundTrip(second)
		})
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: version >= mcptest.Modern})
		h := httptest.NewServer(handler)
		defer h.Close()
		cs, err := mcptest.NewClient().Connect(mcptest.Context(t),
			&mcp.StreamableClientTransport{Endpoint: h.URL, MaxRetries: -1, HTTPClient: &http.Client{Transport: twice}},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		defer cs.Close()
		armed.Store(true)
		defer armed.Store(false) // let the session say goodbye
		check(t, call(t, cs), unknown)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTooManyRequestsIsRefused(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		server, _ := counter()
		cs, h := mcptest.ConnectHTTP(t, server, nil, version)
		h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			status(http.StatusTooManyRequests)(w, r)
			return true
		})
		check(t, call(t, cs), verdict{refused: true})
	})
}

func TestRepliesOfTheServer(t *testing.T) {
	refused := func(after time.Duration) verdict { return verdict{refused: true, after: after} }
	for _, c := range []struct {
		name  string
		reply string
		want  verdict
	}{
		{"parse error", `{"code":-32700,"message":"x"}`, verdict{permanent: true}},
		{"invalid request", `{"code":-32600,"message":"x"}`, verdict{permanent: true}},
		{"method not found", `{"code":-32601,"message":"x"}`, verdict{permanent: true}},
		{"B131 invalid params", `{"code":-32602,"message":"x"}`, verdict{permanent: true}},
		{"internal error", `{"code":-32603,"message":"x"}`, unknown},
		{"header mismatch", `{"code":-32020,"message":"x"}`, verdict{permanent: true}},
		{"missing capability", `{"code":-32021,"message":"x"}`, verdict{permanent: true}},
		{"unsupported version", `{"code":-32022,"message":"x"}`, verdict{permanent: true}},
		{"needs a page in a browser", `{"code":-32042,"message":"x"}`, verdict{permanent: true}},
		{"a plain Go error", `{"code":0,"message":"it broke"}`, unknown},
		{"a plain Go error of a limit further on", `{"code":0,"message":"upstream: Too Many Requests"}`, unknown},
		{"a transport's code with a limit's words", `{"code":-32005,"message":"rejected by transport: sending \"tools/call\": Too Many Requests"}`, unknown},
		{"a code of its own", `{"code":-32050,"message":"x"}`, unknown},
		{"rate limited", `{"code":-32023,"message":"x"}`, refused(0)},
		{"rate limited, milliseconds", `{"code":-32023,"message":"x","data":{"retryAfterMs":1500}}`, refused(1500 * time.Millisecond)},
		{"rate limited, seconds", `{"code":-32023,"message":"x","data":{"retryAfter":2.5}}`, refused(2500 * time.Millisecond)},
		{"rate limited, both", `{"code":-32023,"message":"x","data":{"retryAfter":9,"retryAfterMs":20}}`, refused(20 * time.Millisecond)},
		{"B133 rate limited for a day", `{"code":-32023,"message":"x","data":{"retryAfter":86400}}`, refused(24 * time.Hour)},
		{"rate limited, negative", `{"code":-32023,"message":"x","data":{"retryAfterMs":-5}}`, refused(0)},
		{"rate limited, zero", `{"code":-32023,"message":"x","data":{"retryAfter":0}}`, refused(0)},
		{"rate limited, past what a duration holds", `{"code":-32023,"message":"x","data":{"retryAfter":1e300}}`, refused(math.MaxInt64 / 2)},
		{"rate limited, no number", `{"code":-32023,"message":"x","data":{"retryAfterMs":1e999}}`, refused(0)},
		{"rate limited, text", `{"code":-32023,"message":"x","data":{"retryAfterMs":"5"}}`, refused(0)},
		{"rate limited, null", `{"code":-32023,"message":"x","data":{"retryAfterMs":null}}`, refused(0)},
		{"rate limited, list", `{"code":-32023,"message":"x","data":[1]}`, refused(0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				cs := mcptest.ConnectPeer(t, nil, version, func(p *mcptest.Peer, r mcptest.Request) { p.Fail(r, c.reply) })
				err := call(t, cs)
				check(t, err, c.want)
				if _, ok := errors.AsType[*jsonrpc.Error](err); !ok {
					t.Errorf("%v has lost the server's own error", err)
				}
				if !strings.Contains(err.Error(), "srv/act") {
					t.Errorf("%v does not name the tool", err)
				}
			})
		})
	}
}

// Under the modern revision a JSON-RPC error travels with an HTTP status, and the
// SDK adds its transport's code to the server's.
func TestRepliesOverHTTP(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		s := mcptest.New()
		var code atomic.Int64
		mcptest.Add(s, mcptest.Tool("act", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			if code.Load() == 0 {
				return nil, errors.New("it broke")
			}
			return nil, &jsonrpc.Error{Code: code.Load(), Message: "x", Data: json.RawMessage(`{"retryAfterMs":7}`)}
		})
		cs, _ := mcptest.ConnectHTTP(t, s, nil, version)
		for _, c := range []struct {
			code int64
			want verdict
		}{
			{jsonrpc.CodeInvalidParams, verdict{permanent: true}},
			{jsonrpc.CodeInternalError, unknown},
			{-32023, verdict{refused: true, after: 7 * time.Millisecond}},
			{0, unknown},
		} {
			t.Run(fmt.Sprint(c.code), func(t *testing.T) {
				code.Store(c.code)
				check(t, call(t, cs), c.want)
			})
		}
	})
}

func TestUnknownToolIsPermanent(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		check(t, call(t, mcptest.ConnectVersion(t, mcptest.New(), nil, version)), verdict{permanent: true})
	})
}

func TestDoneContextComesBackAsItsCause(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		arrived := make(chan struct{}, 1)
		cs := mcptest.ConnectPeer(t, nil, version, func(*mcptest.Peer, mcptest.Request) { arrived <- struct{}{} })
		t.Run("cancelled", func(t *testing.T) {
			why := errors.New("the user left")
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() { <-arrived; cancel(why) }()
			_, err := session.Executor(cs).CallTool(ctx, act(t))
			if err != why {
				t.Errorf("got %v, want the cause itself", err)
			}
			check(t, err, unknown)
		})
		t.Run("because another call was not sent", func(t *testing.T) {
			why := &middleware.NotSentError{Err: errors.New("a person said no")}
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() { <-arrived; cancel(why) }()
			_, err := session.Executor(cs).CallTool(ctx, act(t))
			if !errors.Is(err, why) {
				t.Errorf("got %v, want the cause in it", err)
			}
			check(t, err, unknown)
		})
		t.Run("B129 expired", func(t *testing.T) {
			ctx := expiring{context.Background(), make(chan struct{})}
			go func() { <-arrived; close(ctx.over) }()
			_, err := session.Executor(cs).CallTool(ctx, act(t))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the deadline", err)
			}
			check(t, err, unknown)
		})
	})
}

// expiring is a context with a deadline that the test triggers: the call has been sent.
type expiring struct {
	context.Context

	over chan struct{}
}

func (c expiring) Done() <-chan struct{} { return c.over }

func (c expiring) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// The facts of an inner chain are handed on: an outer executor that calls through it has no
// others.
func TestWhatIsKnownAlreadyIsKept(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want verdict
	}{
		{"not sent", &middleware.NotSentError{Err: errors.New("x")}, verdict{notSent: true}},
		{"wrapped by the SDK", fmt.Errorf("calling: %w", &middleware.NotSentError{Err: errors.New("x")}), verdict{notSent: true}},
		{"a person's no", noError{}, verdict{notSent: true, permanent: true}},
		{"unknown outcome", &middleware.OutcomeUnknownError{Err: errors.New("x")}, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := session.Executor(callerFunc(func() (*mcp.CallToolResult, error) { return nil, c.err })).CallTool(t.Context(), act(t))
			check(t, err, c.want)
			if err != c.err {
				t.Errorf("got %v, want the error as it was", err)
			}
		})
	}
}

type noError struct{}

func (noError) Error() string   { return "no" }
func (noError) NotSent() bool   { return true }
func (noError) Permanent() bool { return true }

type callerFunc func() (*mcp.CallToolResult, error)

func (f callerFunc) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return f()
}
