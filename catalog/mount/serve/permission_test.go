package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// permission is what the tools of the tests need: "customers.read".
func permission(tool *middleware.Tool) string {
	verb, noun, _ := strings.Cut(tool.Name(), "_")
	return noun + "." + map[string]string{"list": "read", "add": "write", "audit": "read"}[verb]
}

// A bearer is a client's transport with a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// guardedServer serves a server over HTTP to those who bring a token; its scopes are
// the token itself, with spaces between them.
func guardedServer(t *testing.T, server *mcp.Server) string {
	t.Helper()
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{Scopes: strings.Split(token, ","), UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	h := httptest.NewServer(auth.RequireBearerToken(verify, nil)(handler))
	t.Cleanup(h.Close)
	return h.URL
}

func dialAs(t *testing.T, url, token string) *mcp.ClientSession {
	t.Helper()
	return mcptest.Dial(t, mcptest.NewClient(), transportAs(url, token), mcptest.Legacy)
}

func transportAs(url, token string) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer(token)}}
}

// On a server of ours the scopes of the request say what is listed and what may be
// called, for each caller anew.
func TestScopesOfTheRequestFilterListAndCalls(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := mcptest.New()
	s := serve.New(server, "crm", serve.Options{Permission: permission})
	restricted := annotation.ReadOnly()
	restricted.SecurityLevel = annotation.Restricted
	for name, own := range map[string]annotation.Annotations{"list_customers": {}, "add_customers": {}, "list_orders": {}, "audit_customers": restricted} {
		register(t, s, &mcp.Tool{Name: name}, own, &calls)
	}
	mcptest.Add(server, mcptest.Tool("raw_tool", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		calls.Add(1)
		return mcptest.Text("raw"), nil
	})
	url := guardedServer(t, server)
	var all sync.WaitGroup
	for token, want := range map[string][]string{
		"customers.read":            {"list_customers"},
		"customers.all":             {"add_customers", "list_customers"},
		"*.read":                    {"list_customers", "list_orders"},
		"orders.read,,**,customers": {"list_orders"}, // a word that is not a scope takes nothing away
		"openid":                    nil,
		"*.all":                     {"add_customers", "list_customers", "list_orders", "raw_tool"},
	} {
		all.Go(func() {
			cs := dialAs(t, url, token)
			for range 20 {
				res, err := cs.ListTools(context.Background(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				var got []string
				for _, tool := range res.Tools {
					got = append(got, tool.Name)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s sees %v, want %v", token, got, want)
				}
				for _, name := range []string{"list_customers", "add_customers", "list_orders", "audit_customers", "raw_tool", "nothing"} {
					_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: row{"x"}})
					allowed := slices.Contains(want, name)
					if (err == nil) != allowed || !allowed && !strings.Contains(err.Error(), `unknown tool "`+name+`"`) {
						t.Errorf("%s calls %s: %v", token, name, err)
					}
				}
			}
		})
	}
	all.Wait()
}

// A call that its arguments make more than its tool is covered as that too.
func TestScopesOfTheRequestCoverTheCallAsItsArgumentsMakeIt(t *testing.T) {
	t.Parallel()
	judge := preflight.New(preflight.Options{Rules: preflight.Rules{"crm/list_customers": func(a preflight.Arguments) (preflight.Verdict, bool) {
		if name, _ := a.Text("name"); name == "new" {
			return preflight.Verdict{Annotations: annotation.Write()}, true
		}
		return preflight.Verdict{Annotations: annotation.ReadOnly()}, true
	}}})
	var calls atomic.Int64
	server := mcptest.New()
	s := serve.New(server, "crm", serve.Options{
		Chain: chain.Standard{Preflight: judge}.Middleware(),
		Permission: func(tool *middleware.Tool) string {
			if tool.Safety() == annotation.Safe {
				return "customers.read"
			}
			return "customers.write"
		},
	})
	register(t, s, &mcp.Tool{Name: "list_customers"}, annotation.ReadOnly(), &calls)
	url := guardedServer(t, server)
	for token, want := range map[string]map[string]bool{
		"customers.read": {"all": true, "new": false},
		"customers.all":  {"all": true, "new": true},
	} {
		cs := dialAs(t, url, token)
		for name, may := range want {
			before := calls.Load()
			_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "list_customers", Arguments: row{name}})
			if ran := calls.Load() > before; ran != may || (err == nil) != may || err != nil && !strings.Contains(err.Error(), "no scope of this caller covers") {
				t.Errorf("%s, %s: executed %t, %v; want %t", token, name, ran, err, may)
			}
		}
	}
}

// What a call would do is told to those who may make it.
func TestScopesOfTheRequestFilterWhatIsResolved(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	tool := &mcp.Tool{Name: "add_customers", InputSchema: json.RawMessage(`{"type":"object"}`)}
	s := serve.New(server, "crm", serve.Options{Permission: permission})
	register(t, s, tool, annotation.Annotations{}, new(atomic.Int64))
	asked := new(atomic.Int64)
	if err := serve.Resolve(server, serve.Resolvable{
		Tool: tool, Answers: map[string]annotation.Annotations{"first": annotation.ReadOnly()},
		Choose: func(json.RawMessage) string { asked.Add(1); return "first" },
	}); err != nil {
		t.Fatal(err)
	}
	url := guardedServer(t, server)
	for token, want := range map[string]bool{"customers.write": true, "customers.read": false, "openid": false} {
		client := mcptest.NewClient()
		mount.Resolver(func(string) *mcp.ClientSession { return nil }, client) // so that it can ask
		cs := mcptest.Dial(t, client, transportAs(url, token), mcptest.Legacy)
		for _, method := range []string{resolution.MethodResolve, resolution.MethodAnnotations} {
			before := asked.Load()
			_, err := mcp.CallCustomMethod[*resolution.Params, *resolution.Answer](mcptest.Context(t), cs, method,
				&resolution.Params{Name: tool.Name, Arguments: json.RawMessage("{}")})
			if (err == nil) != want || (asked.Load() > before) != want || !want && !strings.Contains(err.Error(), "there is no tool") {
				t.Errorf("%s as %s: %v, want it told: %t", method, token, err, want)
			}
		}
	}
}

// A list that a middleware further in has made something else of is not shown unread.
func TestListThatCannotBeFilteredIsNotShown(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	tool := &mcp.Tool{Name: "add_customers", InputSchema: json.RawMessage(`{"type":"object"}`)}
	if err := serve.Resolve(server, serve.Resolvable{
		Tool: tool, Answers: map[string]annotation.Annotations{"first": annotation.ReadOnly()}, Choose: func(json.RawMessage) string { return "first" },
	}); err != nil {
		t.Fatal(err)
	}
	s := serve.New(server, "crm", serve.Options{Permission: permission})
	register(t, s, tool, annotation.Annotations{}, new(atomic.Int64))
	cs := dialAs(t, guardedServer(t, server), "openid")
	res, err := cs.ListTools(mcptest.Context(t), nil)
	if err == nil || !strings.Contains(err.Error(), "after serve.New") {
		t.Errorf("got %+v, %v, want an error that says what to do", res, err)
	}
}

// Without a token nothing is covered; the host's own word on scopes may reach
// higher levels.
func TestScopesOfTheHostsOwn(t *testing.T) {
	t.Parallel()
	restricted := annotation.ReadOnly()
	restricted.SecurityLevel = annotation.Restricted
	for ceiling, want := range map[annotation.SecurityLevel]int{"": 0, annotation.Internal: 0, annotation.Restricted: 1} {
		server := mcptest.New()
		s := serve.New(server, "crm", serve.Options{
			Permission: permission,
			Scopes: func(*mcp.RequestExtra) []catalog.Scope {
				return []catalog.Scope{{Permission: "customers.read", Ceiling: ceiling}}
			},
		})
		register(t, s, &mcp.Tool{Name: "audit_customers"}, restricted, new(atomic.Int64))
		if got := len(listed(t, server)); got != want {
			t.Errorf("with the ceiling %q %d tools are listed, want %d", ceiling, got, want)
		}
	}
	server := mcptest.New()
	register(t, serve.New(server, "crm", serve.Options{Permission: permission}), &mcp.Tool{Name: "list_customers"}, annotation.Annotations{}, new(atomic.Int64))
	if got := listed(t, server); len(got) != 0 {
		t.Errorf("without a token %v is listed", got)
	}
}
