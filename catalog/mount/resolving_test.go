package mount_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// hint writes the four hints as the tables do: read-only, destructive, idempotent,
// open-world, each y or n.
func hints(word string) annotation.Annotations {
	of := func(i int) annotation.Hint { return annotation.HintOf(word[i] == 'y') }
	return annotation.Annotations{ReadOnly: of(0), Destructive: of(1), Idempotent: of(2), OpenWorld: of(3)}
}

func brief(a annotation.Annotations) string {
	var b strings.Builder
	for _, h := range []annotation.Hint{a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld} {
		b.WriteByte("-ny"[h])
	}
	return b.String()
}

// The tools with deciding arguments, as their server sees them: what each value of the argument
// means. Any other value is as bad as it gets.
var resolvingTools = map[string]struct {
	argument string
	worst    string
	answers  map[string]string
}{
	"manage_files": {"action", "nynn", map[string]string{"read": "ynyn", "append": "nnnn", "replace": "nyyn", "delete": "nyyn"}},
	"filesystem":   {"operation", "nynn", map[string]string{"read": "ynyn", "append": "nnnn", "overwrite": "nyyn", "delete": "nyyn"}},
	"github_api":   {"method", "nyny", map[string]string{"GET": "ynyy", "POST": "nnny", "DELETE": "nyyy"}},
}

// A resolving server executes every call and records it.
type resolving struct {
	*backend

	asked []string // guarded by the backend's mutex
}

// newResolving returns a server of ours that answers about its tools. lie, unless nil, is the
// answer of a lying server instead.
func newResolving(lie func(argument string) string) *resolving {
	r := &resolving{backend: &backend{server: mcptest.New()}}
	var all []serve.Resolvable
	for _, name := range slices.Sorted(maps.Keys(resolvingTools)) {
		about := resolvingTools[name]
		tool := annotation.Declare(&mcp.Tool{
			Name: name, Description: "does what its " + about.argument + " says",
			InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, about.argument, about.argument)),
		}, hints(about.worst))
		mcptest.Add(r.server, tool, func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.calls = append(r.calls, name+string(arguments))
			return mcptest.Text("done"), nil
		})
		answers := make(map[string]annotation.Annotations)
		for value, word := range about.answers {
			answers[value] = hints(word)
		}
		all = append(all, serve.Resolvable{Tool: tool, Answers: answers, Choose: func(arguments json.RawMessage) string {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.asked = append(r.asked, name+string(arguments))
			var a map[string]any
			_ = json.Unmarshal(arguments, &a)
			value, _ := a[about.argument].(string)
			if lie != nil {
				return lie(value)
			}
			return value
		}})
	}
	if err := serve.Resolve(r.server, all...); err != nil {
		panic(err)
	}
	return r
}

func (r *resolving) wantAsked(t testing.TB, want int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.asked) != want {
		t.Errorf("the server was asked %d times, want %d: %v", len(r.asked), want, r.asked)
	}
}

// A wireForm is one of the two ways to answer: what a client must not see of the
// others.
type wireForm struct {
	name   string
	hide   []string
	method string
	client func() *mcp.Client
}

func announcing() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, mount.ResolverOptions(nil))
}

var wireForms = []wireForm{
	{"extension", nil, "tools/resolve", announcing},
	{"annotations", []string{`"io.modelcontextprotocol/tool-resolution"`}, "tools/annotations", mcptest.NewClient},
}

// hidden returns the text without the members.
func (f wireForm) hidden(raw []byte) []byte {
	for _, member := range f.hide {
		raw = bytes.ReplaceAll(raw, []byte(member), []byte(`"hidden"`))
	}
	return raw
}

// sniffer is a transport that lets a test see sent messages and change received ones.
type sniffer struct {
	mcp.Transport
	form wireForm

	mu   sync.Mutex
	sent []string // methods
}

func (s *sniffer) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := s.Transport.Connect(ctx)
	return &sniffed{c, s}, err
}

type sniffed struct {
	mcp.Connection
	s *sniffer
}

func (c *sniffed) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok {
		c.s.mu.Lock()
		c.s.sent = append(c.s.sent, r.Method)
		c.s.mu.Unlock()
	}
	return c.Connection.Write(ctx, m)
}

func (c *sniffed) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Response); ok {
		r.Result = c.s.form.hidden(r.Result)
	}
	return m, err
}

// sniffingHTTP is the same for HTTP.
type sniffingHTTP struct {
	base http.RoundTripper
	s    *sniffer
}

func (h sniffingHTTP) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			var m struct{ Method string }
			_ = json.NewDecoder(body).Decode(&m)
			h.s.mu.Lock()
			h.s.sent = append(h.s.sent, m.Method)
			h.s.mu.Unlock()
		}
	}
	res, err := h.base.RoundTrip(req)
	if err != nil || req.Method != http.MethodPost {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	body = h.s.form.hidden(body)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res.Header.Del("Content-Length")
	return res, err
}

func (s *sniffer) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.sent {
		if m == method {
			n++
		}
	}
	return n
}

// A way is a transport at one revision of the protocol.
type way struct{ name, version string }

var wireWays = []way{
	{"memory", mcptest.Legacy}, {"memory", mcptest.Modern}, {"process", mcptest.Modern},
	{"web", mcptest.Legacy}, {"web", mcptest.Modern},
}

// connect returns a session over one way that sees one form, with its resolver. In a
// process the server is another one of the same make.
func (f wireForm) connect(t testing.TB, server *mcp.Server, w way) (*mcp.ClientSession, *mount.ToolResolver, *sniffer) {
	t.Helper()
	s := &sniffer{form: f}
	var transport mcp.Transport = s
	switch w.name {
	case "memory":
		s.Transport = mcptest.MemoryTransport(t, server)
	case "process":
		s.Transport = mcptest.ChildTransport(t, "resolving")
	default:
		web, _ := mcptest.HTTPTransport(t, server, w.version)
		web.HTTPClient.Transport = sniffingHTTP{web.HTTPClient.Transport, s}
		transport = web
	}
	client := f.client()
	cs := mcptest.Dial(t, client, mount.Transport(transport), w.version)
	return cs, mount.Resolver(func(id string) *mcp.ClientSession {
		if id != "files" {
			return nil
		}
		return cs
	}, client), s
}

// definitionOf returns a tool as a session lists it.
func definitionOf(t testing.TB, cs *mcp.ClientSession, name string) *middleware.Tool {
	t.Helper()
	list, err := cs.ListTools(mcptest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range list.Tools {
		if definition.Name == name {
			tool, err := middleware.NewTool("files", definition, annotation.Annotations{})
			if err != nil {
				t.Fatal(err)
			}
			return tool
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// Each of our examples answers as in its table: over every form and every way.
func TestServerResolvesACall(t *testing.T) {
	t.Parallel()
	for _, f := range wireForms {
		for _, w := range wireWays {
			t.Run(fmt.Sprint(f.name, " ", w.name, " ", w.version), func(t *testing.T) {
				t.Parallel()
				server := newResolving(nil)
				cs, resolver, sent := f.connect(t, server.server, w)
				asked := 0
				for _, name := range slices.Sorted(maps.Keys(resolvingTools)) {
					about := resolvingTools[name]
					tool := definitionOf(t, cs, name)
					cases := maps.Clone(about.answers)
					cases["something else"], cases[""] = about.worst, about.worst
					for value, want := range cases {
						arguments, _ := json.Marshal(map[string]string{about.argument: value})
						got, ok, err := resolver.Resolve(mcptest.Context(t), middleware.Call{Tool: tool, Arguments: arguments})
						if err != nil || !ok || brief(got) != want {
							t.Errorf("%s %s: %s (%v, %v), want %s", name, arguments, brief(got), ok, err, want)
						}
						asked++
					}
				}
				if got := sent.count(f.method); got != asked {
					t.Errorf("%s was sent %d times, want %d: %v", f.method, got, asked, sent.sent)
				}
				if w.name != "process" {
					server.wantAsked(t, asked)
					server.want(t)
				}
			})
		}
	}
}
