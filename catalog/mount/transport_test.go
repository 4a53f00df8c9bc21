package mount_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// untyped are tools as no typed server would write them.
var untyped = []string{
	`{"name":"list_absent","inputSchema":{"type":"object"},"annotations":{"openWorldHint":false}}`,
	`{"name":"list_false","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}`,
	`{"name":"list_silent","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"idempotentHint":false}}`,
	`{"name":"list_ask","inputSchema":{"type":"object"},"annotations":{"requiresConfirmation":true}}`,
	`{"name":"list_letters","inputSchema":{"type":"object"},"annotations":{"readOnlyHints":"no"}}`,
	`{"name":"bad_hint","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true"}}`,
}

type untypedList struct {
	*mcp.ListToolsResult
	Tools []json.RawMessage `json:"tools"`
}

// untypedServer lists the tools as they are written, fresh for an hour, and answers
// any call.
func untypedServer(tools func() []string) *mcp.Server {
	s := mcptest.New()
	mcptest.Add(s, mcptest.Tool("x", ""), nil) // so that it says it has tools
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case "tools/list":
				res := untypedList{ListToolsResult: new(mcp.ListToolsResult)}
				res.TTLMs, res.CacheScope = 3_600_000, "private"
				for _, tool := range tools() {
					res.Tools = append(res.Tools, json.RawMessage(tool))
				}
				return res, nil
			case "tools/call":
				return mcptest.Text("done"), nil
			}
			return next(ctx, method, req)
		}
	})
	return s
}

func always(tools []string) func() []string { return func() []string { return tools } }

// ways are the transports that the SDK has, each to a server of its own.
var ways = map[string]func(t *testing.T, version string, tools func() []string) mcp.Transport{
	"memory": func(t *testing.T, _ string, tools func() []string) mcp.Transport {
		return mcptest.MemoryTransport(t, untypedServer(tools))
	},
	"HTTP": func(t *testing.T, version string, tools func() []string) mcp.Transport {
		transport, _ := mcptest.HTTPTransport(t, untypedServer(tools), version)
		return transport
	},
	"HTTP behind a host's own transport": func(t *testing.T, version string, tools func() []string) mcp.Transport {
		transport, _ := mcptest.HTTPTransport(t, untypedServer(tools), version)
		transport.HTTPClient.Transport = mount.RoundTripper(transport.HTTPClient.Transport)
		return transport
	},
	"HTTP with JSON": func(t *testing.T, version string, tools func() []string) mcp.Transport {
		h := httptest.NewServer(mcp.NewStreamableHTTPHandler(
			func(*http.Request) *mcp.Server { return untypedServer(tools) },
			&mcp.StreamableHTTPOptions{Stateless: version >= mcptest.Modern, JSONResponse: true}))
		t.Cleanup(h.Close)
		return &mcp.StreamableClientTransport{Endpoint: h.URL, DisableStandaloneSSE: true}
	},
}

func eachWay(t *testing.T, test func(t *testing.T, version string, way func(t *testing.T, version string, tools func() []string) mcp.Transport)) {
	t.Helper()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) { test(t, version, way) })
		})
	}
}

func TestPreparedListIsAsTheServerWroteIt(t *testing.T) {
	check := func(t *testing.T, version string, way func(t *testing.T, version string, tools func() []string) mcp.Transport) {
		t.Helper()
		tools := catalog.New(catalog.Options{})
		defer tools.Close()
		client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(tools, nil))
		cs := mcptest.Dial(t, client, mount.Transport(way(t, version, always(untyped))), version)
		if err := tools.Add(mcptest.Context(t), "srv", cs); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]annotation.Annotations{
			"list_absent":  {OpenWorld: annotation.No},
			"list_false":   {ReadOnly: annotation.No},
			"list_silent":  {},
			"list_ask":     {RequiresConfirmation: annotation.Yes},
			"list_letters": {},
		} {
			tool, ok := tools.Lookup("srv", name)
			if !ok {
				t.Errorf("%s is not there: %v", name, tools.Findings())
				continue
			}
			if got, _ := tools.Layers(tool); got.Summary() != want.Summary() {
				t.Errorf("%s declares %s, want %s", name, got.Summary(), want.Summary())
			}
		}
		if got := fmt.Sprint(tools.Findings()); got != `[srv: "bad_hint" was left out: among its annotations readOnlyHint is "true", want a boolean]` { // B079
			t.Errorf("got the findings %s", got)
		}
		tool, _ := tools.Lookup("srv", "list_absent")
		if _, err := tools.CallTool(mcptest.Context(t), middleware.Call{Tool: tool}); err != nil {
			t.Errorf("the session does not work: %v", err)
		}
	}
	eachWay(t, check)
	t.Run("stdio", func(t *testing.T) {
		eachVersion(t, func(t *testing.T, version string) {
			check(t, version, func(t *testing.T, _ string, _ func() []string) mcp.Transport {
				return mcptest.ChildTransport(t, "untyped")
			})
		})
	})
}

// Each of these makes the SDK fail the whole list, or leave the tool out without a word.
func TestMalformedToolIsLeftOutAlone(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, way func(t *testing.T, version string, tools func() []string) mcp.Transport) {
		tools := catalog.New(catalog.Options{})
		defer tools.Close()
		client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(tools, nil))
		cs := mcptest.Dial(t, client, mount.Transport(way(t, version, always([]string{
			`{"name":"bad_header","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}`,
			`{"name":7,"name":"bad_name","inputSchema":{"type":"object"}}`,
			`{"name":"list_good","inputSchema":{"type":"object"}}`,
			`{"name":"bad_number","inputSchema":{"type":"object","maximum":1e999}}`,
			`{"name":"bad_twice","annotations":{"readOnlyHint":"x"},"annotations":{},"inputSchema":{"type":"object"}}`,
		}))), version)
		if err := tools.Add(mcptest.Context(t), "srv", cs); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(tools.List()); got != "[srv/list_good]" {
			t.Errorf("got %s, want the good one", got)
		}
		var got []string
		for _, f := range tools.Findings() {
			got = append(got, f.Text)
		}
		if want := []string{
			`"bad_header" was left out: the SDK does not take it, as one whose x-mcp-header annotations are not usable`,
			`"bad_name" was left out: name is 7, want a string`,
			`"bad_number" was left out: inputSchema is {"type":"object","maximum":1e999}, want a schema without a number that is out of range`,
			`"bad_twice" was left out: "annotations" is given twice`,
		}; !slices.Equal(got, want) {
			t.Errorf("got the findings %q\nwant %q", got, want)
		}
	})
}

// What a session that is not prepared cannot give, and what is said of it.
func TestBareSession(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, way func(t *testing.T, version string, tools func() []string) mcp.Transport) {
		tools := catalog.New(catalog.Options{})
		defer tools.Close()
		err := tools.Add(mcptest.Context(t), "all", mcptest.Dial(t, nil, way(t, version, always(untyped)), version))
		if err == nil || len(tools.List()) > 0 {
			t.Errorf("got %v and %v, want the whole list to fail", err, tools.List())
		}
		if err := tools.Add(mcptest.Context(t), "srv", mcptest.Dial(t, nil, way(t, version, always(untyped[:3])), version)); err != nil {
			t.Fatal(err)
		}
		tool, _ := tools.Lookup("srv", "list_false")
		if got, _ := tools.Layers(tool); got.ReadOnly != annotation.Unset {
			t.Errorf("got %s, want that nobody can tell", got.Summary())
		}
		const want = "[srv: its session was not prepared; a hint that is absent cannot be told from one that is false, and one malformed tool fails the whole list: " +
			"connect through mount.Transport; it announces changes of its tools, which are not received: make the client with mount.Options]"
		if got := fmt.Sprint(tools.Findings()); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
}

// A refresh asks the server, for however long it called its list fresh; a bare
// session of the newest revision answers from the SDK's memory.
func TestRefreshAsksTheServer(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, way func(t *testing.T, version string, tools func() []string) mcp.Transport) {
		for _, prepared := range []bool{true, false} {
			var calls atomic.Int32
			transport := way(t, version, func() []string {
				calls.Add(1)
				return untyped[:1]
			})
			if prepared {
				transport = mount.Transport(transport)
			}
			cs := mcptest.Dial(t, nil, transport, version)
			tools := catalog.New(catalog.Options{})
			defer tools.Close()
			if err := tools.Add(mcptest.Context(t), "srv", cs); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				// What the host lists itself does not become what the catalog hears.
				if _, err := cs.ListTools(mcptest.Context(t), nil); err != nil {
					t.Fatal(err)
				}
				if err := tools.Refresh(mcptest.Context(t), "srv"); err != nil {
					t.Fatal(err)
				}
			}
			want := int32(7)
			if !prepared && cs.InitializeResult().ProtocolVersion >= mcptest.Modern {
				want = 1
			}
			if got := calls.Load(); got != want {
				t.Errorf("prepared: %t: the server was asked %d times, want %d", prepared, got, want)
			}
		}
	})
}

func TestChangedListIsHeard(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		for name, transport := range map[string]func(t *testing.T, s *mcp.Server) mcp.Transport{
			"memory": func(t *testing.T, s *mcp.Server) mcp.Transport { return mcptest.MemoryTransport(t, s) },
			"HTTP": func(t *testing.T, s *mcp.Server) mcp.Transport {
				h, _ := mcptest.HTTPTransport(t, s, version)
				h.DisableStandaloneSSE = false
				return h
			},
		} {
			t.Run(name, func(t *testing.T) {
				discovered := make(chan string, 10)
				tools := catalog.New(catalog.Options{OnEvent: func(e catalog.Event) {
					if e.Kind == catalog.EventDiscovered {
						discovered <- e.After.Name()
					}
				}})
				defer tools.Close()
				own := make(chan struct{}, 10)
				options := mount.Options(tools, &mcp.ClientOptions{
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { own <- struct{}{} },
				})
				server := newBackend().server
				cs := mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, options), mount.Transport(transport(t, server)), version)
				if err := tools.Add(mcptest.Context(t), "srv", cs); err != nil {
					t.Fatal(err)
				}
				for range tools.List() {
					mcptest.Wait(t, "a tool of the first list", discovered)
				}
				mcptest.Add(server, mcptest.Tool("list_new", ""), nil)
				if got := mcptest.Wait(t, "the new tool", discovered); got != "list_new" {
					t.Errorf("got %s", got)
				}
				mcptest.Wait(t, "the host's own handler", own)
				if got := tools.Findings(); len(got) != 0 {
					t.Errorf("got %v", got)
				}
			})
		}
	})
}

// Messages around the answer, and answers in parts, arrive as they were sent.
func TestStreamOfAListPassesWhole(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":ID,"result":` + mcptest.Tools("", untyped...) + `}`
	progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
	half := strings.Index(list, `,"annotations"`)
	for name, stream := range map[string]string{
		"plain":                     "data: " + list + "\n\n",
		"a message before it":       "data: " + progress + "\n\nevent: message\ndata: " + list + "\n\n",
		"CRLF":                      "event: message\r\ndata: " + list + "\r\n\r\n",
		"no space":                  "id: 7\ndata:" + list + "\n\n",
		"comments":                  ": hello\n\n: hello\ndata: " + list + "\n\n",
		"over two lines":            "data: " + list[:half] + "\ndata: " + list[half:] + "\n\n",
		"large":                     ": " + strings.Repeat("x", 100_000) + "\ndata: " + list + "\n\n",
		"its end is the connection": "data: " + list + "\n\n" + "data: " + progress,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport, h := mcptest.HTTPTransport(t, newBackend().server, mcptest.Legacy)
			h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				var request mcptest.Request
				if json.Unmarshal(body, &request) != nil || request.Method != "tools/list" {
					return false
				}
				says(asStream, stream)(w, r, request.ID)
				return true
			})
			tools := catalog.New(catalog.Options{})
			if err := tools.Add(mcptest.Context(t), "srv", mcptest.Dial(t, nil, mount.Transport(transport), mcptest.Legacy)); err != nil {
				t.Fatal(err)
			}
			if got := len(tools.List()); got != len(untyped)-1 {
				t.Errorf("got %v, %v", tools.List(), tools.Findings())
			}
		})
	}
}

// A body without end is given up before it fills the memory.
func TestListWithoutEnd(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		for _, kind := range []string{asJSON, asStream} {
			transport, h := mcptest.HTTPTransport(t, newBackend().server, version)
			var sent atomic.Int64
			h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if !bytes.Contains(body, []byte(`"tools/list"`)) {
					return false
				}
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, `data: {"x":"`)
				for block := strings.Repeat("x", 1<<20); ; {
					n, err := io.WriteString(w, block)
					if sent.Add(int64(n)); err != nil {
						return true
					}
				}
			})
			tools := catalog.New(catalog.Options{Timeout: time.Minute})
			err := tools.Add(t.Context(), "srv", mcptest.Dial(t, nil, mount.Transport(transport), version))
			if err == nil || sent.Load() > 100<<20 || kind == asJSON && !strings.Contains(err.Error(), "more than 33554432 bytes") {
				t.Errorf("%s: got %v after %d MB", kind, err, sent.Load()>>20)
			}
		}
	})
}

// Two sessions with different rights see different lists, and neither sees the
// other's, whatever the server says of its cache.
func TestListsAreNotShared(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		tools := catalog.New(catalog.Options{})
		for i, id := range []string{"ann", "bob"} {
			transport, _ := mcptest.HTTPTransport(t, untypedServer(always(untyped[i:i+1])), version)
			if err := tools.Add(mcptest.Context(t), id, mcptest.Dial(t, nil, mount.Transport(transport), version)); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, tool := range tools.List() {
			got = append(got, tool.String())
		}
		if want := []string{"ann/list_absent", "bob/list_false"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestManyListsAtOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, way func(t *testing.T, version string, tools func() []string) mcp.Transport) {
		cs := mcptest.Dial(t, nil, mount.Transport(way(t, version, always(untyped))), version)
		tools := catalog.New(catalog.Options{})
		if err := tools.Add(mcptest.Context(t), "srv", cs); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := tools.Refresh(mcptest.Context(t), "srv"); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() { // one that nobody waits for
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(errors.New("gone"))
				_ = tools.Refresh(ctx, "srv")
			})
		}
		wg.Wait()
		if got := len(tools.List()); got != len(untyped)-1 {
			t.Errorf("got %v", tools.List())
		}
	})
}

func TestPreparingNothingIsRefused(t *testing.T) {
	for want, f := range map[string]func(){
		"mount: Transport":                       func() { mount.Transport(nil) },
		"mount: Options":                         func() { mount.Options(nil, nil) },
		"mount: Connect was given a nil catalog": func() { _, _ = mount.Connect(t.Context(), nil, "files", implementation, &mcp.InMemoryTransport{}) },
		"mount: Connect was given no name": func() {
			_, _ = mount.Connect(t.Context(), catalog.New(catalog.Options{}), "files", nil, &mcp.InMemoryTransport{})
		},
		"mount: Connect was given a nil transport": func() {
			_, _ = mount.Connect(t.Context(), catalog.New(catalog.Options{}), "files", implementation, nil)
		},
	} {
		if got := panics(f); !strings.HasPrefix(got, want) {
			t.Errorf("got the panic %q, want %s", got, want)
		}
	}
}

func TestOptionsOfTheHostAreNotWrittenTo(t *testing.T) {
	own := new(mcp.ClientOptions)
	if got := mount.Options(catalog.New(catalog.Options{}), own); got == own || own.ToolListChangedHandler != nil || got.ToolListChangedHandler == nil {
		t.Errorf("got %+v from %+v", got, own)
	}
	transport := &mcp.StreamableClientTransport{Endpoint: "x", HTTPClient: new(http.Client)}
	if mount.Transport(transport); transport.HTTPClient.Transport != nil {
		t.Error("the host's HTTP client was changed")
	}
}

// A client and a transport that are prepared, once each, give the catalog what a
// bare session cannot.
func ExampleTransport() {
	ctx := context.Background()
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(tools, nil))

	theirs, ours := mcp.NewInMemoryTransports() // or a CommandTransport, or a StreamableClientTransport
	if _, err := untypedServer(always(untyped)).Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}
	session, err := client.Connect(ctx, mount.Transport(ours), nil)
	if err != nil {
		panic(err)
	}
	if err := tools.Add(ctx, "odd", session); err != nil {
		panic(err)
	}
	fmt.Println(len(tools.List()), "tools")
	for _, f := range tools.Findings() {
		fmt.Println(f)
	}
	// Output:
	// 5 tools
	// odd: "bad_hint" was left out: among its annotations readOnlyHint is "true", want a boolean
}

// The host's own handler is called after the catalog's.
func ExampleOptions() {
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	options := mount.Options(tools, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { fmt.Println("changed") },
	})
	options.ToolListChangedHandler(context.Background(), nil)
	// Output: changed
}
