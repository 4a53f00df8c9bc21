package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// everyLink is every link there is, without waits between attempts.
func everyLink(store *cache.Store, confirm hitl.Confirmer, entities map[string][]string) chain.Standard {
	return chain.Standard{
		Infer:     infer.New(infer.Options{}),
		Confirm:   hitl.New(confirm, hitl.Options{MaxPending: 10_000}),
		Cache:     cache.New(cache.Options{Store: store, Entities: entities}),
		Retry:     retry.New(retry.Options{Rand: func() float64 { return 0 }}),
		RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 6e9, Burst: 1 << 30}),
		Timeout:   timeout.New(timeout.Options{}),
	}
}

// agreeable approves everything and counts its answers.
type agreeable struct{ asked atomic.Int64 }

func (a *agreeable) Confirm(context.Context, hitl.Request) (hitl.Decision, error) {
	a.asked.Add(1)
	return hitl.Decision{Verdict: hitl.Approved}, nil
}

// named is a tool that only its name speaks for.
func named(tb testing.TB, name string) *middleware.Tool {
	tb.Helper()
	t, err := middleware.NewTool("server", mcptest.Tool(name, ""), annotation.Annotations{})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// payments is how many are made; the race detector's are fewer, since it is slow.
var payments = func() int {
	if raced {
		return 200
	}
	return 1000
}()

// A payment that a person allowed is made once, over a real socket, whatever
// becomes of its answer.
func TestPayOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		first   func(executed *atomic.Int64, w http.ResponseWriter) (answered bool)
		unknown bool
	}{
		{"B125 executed, and the answer is dropped", func(executed *atomic.Int64, w http.ResponseWriter) bool {
			executed.Add(1)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_ = conn.Close()
			return true
		}, true},
		{"executed, and a gateway gives up", func(executed *atomic.Int64, w http.ResponseWriter) bool {
			executed.Add(1)
			w.WriteHeader(http.StatusGatewayTimeout)
			return true
		}, true},
		{"refused before execution", func(_ *atomic.Int64, w http.ResponseWriter) bool {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}, false},
	} {
		for _, version := range mcptest.Versions {
			t.Run(c.name+" "+version, func(t *testing.T) {
				t.Parallel()
				var executed, unknown, succeeded atomic.Int64
				server := mcptest.New()
				mcptest.Add(server, mcptest.Tool("send_payment", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
					executed.Add(1)
					return mcptest.Text("paid"), nil
				})
				transport, h := mcptest.HTTPTransport(t, server, version)
				transport.HTTPClient.Transport = mount.RoundTripper(transport.HTTPClient.Transport)
				cs := mcptest.Dial(t, nil, transport, version)
				var seen sync.Map // the payments that have come before
				h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					r.Body = io.NopCloser(strings.NewReader(string(body)))
					var call struct {
						Params struct {
							Arguments struct{ Number *int }
						}
					}
					if json.Unmarshal(body, &call) != nil || call.Params.Arguments.Number == nil {
						return false
					}
					if _, again := seen.LoadOrStore(*call.Params.Arguments.Number, true); again {
						return false
					}
					return c.first(&executed, w)
				})
				person, pay := new(agreeable), named(t, "send_payment")
				caller := everyLink(nil, person, nil).Then(mount.Session(cs))
				each(8, payments, func(n int) {
					call := middleware.Call{Scope: "ann", Tool: pay, Arguments: json.RawMessage(fmt.Sprintf(`{"number":%d}`, n))}
					res, err := caller.CallTool(context.Background(), call)
					lost, ok := errors.AsType[*middleware.OutcomeUnknownError](err)
					switch {
					case ok && strings.Contains(lost.Check, "server__send_payment may or may not have happened"):
						unknown.Add(1)
					case err == nil && !res.IsError:
						succeeded.Add(1)
					default:
						t.Errorf("payment %d: got %v, %v", n, res, err)
					}
				})
				t.Logf("%d payments: executed %d, unknown %d, succeeded %d, asked %d",
					payments, executed.Load(), unknown.Load(), succeeded.Load(), person.asked.Load())
				all := int64(payments)
				wantUnknown, wantSucceeded := int64(0), all
				if c.unknown {
					wantUnknown, wantSucceeded = all, 0
				}
				if executed.Load() != all || unknown.Load() != wantUnknown || succeeded.Load() != wantSucceeded || person.asked.Load() != all {
					t.Errorf("want executed %d, unknown %d, succeeded %d, asked %d", payments, wantUnknown, wantSucceeded, payments)
				}
			})
		}
	}
}

// each calls f with 0 to n-1, from several goroutines.
func each(goroutines, n int, f func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}
