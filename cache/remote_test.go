package cache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A site is a server behind two replicas of a host.
type site struct {
	a, b    middleware.ToolCaller
	version atomic.Int64
	calls   atomic.Int64
	do      func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) // nil: version, a write raises it
	read    *middleware.Tool
	write   *middleware.Tool
}

func newSite(t *testing.T, o cache.Options) *site {
	t.Helper()
	s := new(site)
	tool := func(name string, known annotation.Annotations) *middleware.Tool {
		tool, err := middleware.NewTool("crm", &mcp.Tool{Name: name}, stable(known))
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	s.read, s.write = tool("get", annotation.ReadOnly()), tool("put", annotation.Write())
	next := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		s.calls.Add(1)
		if s.do != nil {
			return s.do(ctx, call)
		}
		return s.answer(call), nil
	})
	if o.Remote == nil {
		o.Remote = cache.NewMemory()
	}
	s.a, s.b = cache.New(o)(next), cache.New(o)(next)
	return s
}

func (s *site) answer(call middleware.Call) *mcp.CallToolResult {
	v := s.version.Load()
	if call.Tool == s.write {
		v = s.version.Add(1)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(v)}}}
}

func (s *site) get(t *testing.T, at middleware.ToolCaller, arguments string) string {
	t.Helper()
	res, err := at.CallTool(t.Context(), middleware.Call{Tool: s.read, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func (s *site) put(t *testing.T, at middleware.ToolCaller, arguments string) {
	t.Helper()
	if _, err := at.CallTool(t.Context(), middleware.Call{Tool: s.write, Arguments: json.RawMessage(arguments)}); err != nil {
		t.Fatal(err)
	}
}

func (s *site) wantCalls(t *testing.T, n int64) {
	t.Helper()
	if got := s.calls.Swap(0); got != n {
		t.Errorf("the server was called %d times, want %d", got, n)
	}
}

func TestReplicasShareWhatTheyRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, cache.Options{})
	for range 2 {
		s.get(t, s.a, `{"id":1}`)
		s.get(t, s.b, `{ "id" : 1 }`)
	}
	s.wantCalls(t, 1)
	s.put(t, s.b, `{"id":2}`)
	s.calls.Store(0)
	if got := s.get(t, s.a, `{"id":1}`); got != "1" {
		t.Errorf("after a write of the other replica: got version %s", got)
	}
	s.get(t, s.b, `{"id":1}`)
	s.wantCalls(t, 1)
}

func TestWriteOfAReplicaEndsItsEntityForAll(t *testing.T) {
	t.Parallel()
	s := newSite(t, cache.Options{Entities: map[string][]string{"crm/get": {"id"}, "crm/put": {"id"}}})
	for _, arguments := range []string{`{"id":1}`, `{"id":2}`, `{}`} {
		s.get(t, s.a, arguments)
	}
	s.put(t, s.b, `{"id":"1"}`) // a number and its text are one
	s.calls.Store(0)
	s.get(t, s.a, `{"id":2}`)
	s.wantCalls(t, 0)
	s.get(t, s.a, `{"id":1}`)
	s.get(t, s.a, `{}`)
	s.wantCalls(t, 2)
}

// One replica at a time fetches, and one call of a replica.
func TestColdKeyIsFetchedOnceOverReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, cache.Options{})
		s.do = func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			time.Sleep(time.Second)
			return s.answer(call), nil
		}
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() { s.get(t, []middleware.ToolCaller{s.a, s.b}[i%2], `{}`) })
		}
		all.Wait()
		s.wantCalls(t, 1)
	})
}

// A leader that fails, panics or is given up gives the lead away.
func TestLeadOfAReplicaIsGivenAway(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(context.Context) (*mcp.CallToolResult, error){
		"an error":     func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New("lost") },
		"a tool error": func(context.Context) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{IsError: true}, nil },
		"a panic":      func(context.Context) (*mcp.CallToolResult, error) { panic("boom") },
		"given up":     func(ctx context.Context) (*mcp.CallToolResult, error) { <-ctx.Done(); return nil, ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, first := newSite(t, cache.Options{}), true
				s.do = func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
					if first {
						first = false
						time.Sleep(time.Second)
						return how(ctx)
					}
					return s.answer(call), nil
				}
				go func() {
					defer func() { _ = recover() }()
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					defer cancel()
					_, _ = s.a.CallTool(ctx, middleware.Call{Tool: s.read, Arguments: json.RawMessage(`{}`)})
				}()
				time.Sleep(time.Millisecond)
				began := time.Now()
				if got := s.get(t, s.b, `{}`); got != "0" || time.Since(began) > 3*time.Second {
					t.Errorf("got %q after %v", got, time.Since(began))
				}
				s.wantCalls(t, 2)
			})
		})
	}
}

// A call that waits for another replica returns when its own time is over.
func TestWaitForAReplicaEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, cache.Options{})
		s.do = func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			time.Sleep(time.Hour)
			return s.answer(call), nil
		}
		go func() {
			_, _ = s.a.CallTool(t.Context(), middleware.Call{Tool: s.read, Arguments: json.RawMessage(`{}`)})
		}()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		for _, at := range []middleware.ToolCaller{s.a, s.b} {
			_, err := at.CallTool(ctx, middleware.Call{Tool: s.read, Arguments: json.RawMessage(`{}`)})
			if !errors.Is(err, context.DeadlineExceeded) || !middleware.NotSent(err) {
				t.Errorf("got %v", err)
			}
		}
		if time.Since(began) != time.Minute {
			t.Errorf("after %v", time.Since(began))
		}
		time.Sleep(time.Hour)
	})
}

// A near result may be older than another replica's write by Near, and no older; an own write
// invalidates it at once.
func TestNearIsBoundedInItsStaleness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		remote := &counted{Remote: cache.NewMemory()}
		s := newSite(t, cache.Options{Remote: remote, Near: time.Second})
		s.get(t, s.a, `{}`)
		looks := remote.looks.Load()
		s.get(t, s.a, `{}`)
		if remote.looks.Load() != looks {
			t.Error("the shared memory was asked for what is near")
		}
		s.put(t, s.b, `{}`)
		if got := s.get(t, s.a, `{}`); got != "0" {
			t.Errorf("got %q, which is not what is near", got)
		}
		time.Sleep(time.Second)
		if got := s.get(t, s.a, `{}`); got != "1" {
			t.Errorf("a second after another's write: got %q", got)
		}
		s.put(t, s.a, `{}`)
		if got := s.get(t, s.a, `{}`); got != "2" {
			t.Errorf("after one's own write: got %q", got)
		}
	})
}

type counted struct {
	cache.Remote

	looks atomic.Int64
	ends  atomic.Int64
}

func (c *counted) Look(ctx context.Context, q cache.Question) (cache.Found, error) {
	c.looks.Add(1)
	return c.Remote.Look(ctx, q)
}

func (c *counted) End(ctx context.Context, w cache.Write) (string, error) {
	c.ends.Add(1)
	return c.Remote.End(ctx, w)
}

// A write is ended whatever becomes of it.
func TestWriteEndsForAllWhateverBecomesOfIt(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func() (*mcp.CallToolResult, error){
		"a result": func() (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil },
		"an error": func() (*mcp.CallToolResult, error) { return nil, errors.New("lost") },
		"a panic":  func() (*mcp.CallToolResult, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := &counted{Remote: cache.NewMemory()}
			s := newSite(t, cache.Options{Remote: remote})
			s.do = func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return how() }
			func() {
				defer func() { _ = recover() }()
				_, _ = s.a.CallTool(t.Context(), middleware.Call{Tool: s.write})
			}()
			if remote.ends.Load() != 1 {
				t.Errorf("it was ended %d times, want once", remote.ends.Load())
			}
		})
	}
}

// A remote memory that is gone costs calls and nothing else.
type gone struct{}

var errOut = errors.New("gone")

func (gone) Look(context.Context, cache.Question) (cache.Found, error) { return cache.Found{}, errOut }
func (gone) Keep(context.Context, cache.Question, string, []byte, time.Duration) error {
	return errOut
}

func (gone) Drop(context.Context, cache.Question, string) {}
func (gone) Begin(context.Context, cache.Write) error     { return errOut }
func (gone) End(context.Context, cache.Write) (string, error) {
	return "", errOut
}

func TestRemoteThatIsGoneIsAMiss(t *testing.T) {
	t.Parallel()
	s := newSite(t, cache.Options{Remote: gone{}})
	s.get(t, s.a, `{}`)
	s.put(t, s.a, `{}`)
	if got := s.get(t, s.a, `{}`); got != "1" {
		t.Errorf("got %q", got)
	}
	s.wantCalls(t, 3)
}

// The record of a write has that the other replicas were not informed.
func TestWriteThatIsNotAnnouncedIsOnRecord(t *testing.T) {
	t.Parallel()
	for _, out := range []bool{true, false} {
		o := cache.Options{Remote: cache.NewMemory()}
		if out {
			o.Remote = gone{}
		}
		s := newSite(t, o)
		s.put(t, middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			ctx, state := callstate.Ensure(ctx)
			res, err := s.a.CallTool(ctx, call)
			said := slices.ContainsFunc(state.Record().Decisions, func(d callstate.Decision) bool { return d.What == "not announced" })
			if said != out {
				t.Errorf("without the remote: %v, on record: %v", out, said)
			}
			return res, err
		}), `{}`)
	}
}

// A write of this process counts while it is in flight, also if the remote cache did not get it.
func TestOwnWriteInFlightCountsWithoutTheRemote(t *testing.T) {
	t.Parallel()
	s := newSite(t, cache.Options{Remote: unaware{cache.NewMemory()}})
	s.get(t, s.a, `{}`)
	s.do = func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		res := s.answer(call)
		if call.Tool == s.write {
			if got := s.get(t, s.a, `{}`); got != "1" {
				t.Errorf("got %q", got)
			}
		}
		return res, nil
	}
	s.put(t, s.a, `{}`)
	s.wantCalls(t, 3)
}

type unaware struct{ cache.Remote }

func (unaware) Begin(context.Context, cache.Write) error { return errOut }

// A poisoned value is asked for again.
type poisoned struct {
	cache.Remote

	value []byte
}

func (p *poisoned) Look(context.Context, cache.Question) (cache.Found, error) {
	return cache.Found{Value: p.value, Ticket: "1"}, nil
}

func TestPoisonedValueIsAMiss(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"empty": "", "another version": `9{"content":[{"type":"text","text":"evil"}]}`, "no JSON": "rubbish", "cut off": `{"content":[{"type":"te`,
		"an error": `{"content":[{"type":"text","text":"evil"}],"isError":true}`, "no content": `{}`, "null": "null",
		"an unknown kind": `{"content":[{"type":"evil"}]}`, "a question": `{"content":[{"type":"text","text":"x"}],"requestState":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head := binary.BigEndian.AppendUint64([]byte("3"), uint64(time.Now().UnixMilli()))
			if name == "empty" || name == "another version" {
				head = nil
			}
			s := newSite(t, cache.Options{Remote: &poisoned{cache.NewMemory(), append(head, value...)}})
			if got := s.get(t, s.a, `{}`); got != "0" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// The shared cache returns the result that was kept.
func TestValueComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for name, res := range map[string]*mcp.CallToolResult{
		"texts":      {Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "\u2028 ü \x00"}}},
		"an image":   {Content: []mcp.Content{&mcp.ImageContent{Data: []byte{0, 1, 255}, MIMEType: "image/png"}}},
		"structured": {Content: []mcp.Content{&mcp.TextContent{Text: "a"}}, StructuredContent: map[string]any{"n": 1.5, "list": []any{"x", nil, true}}},
		"bytes":      {Content: []mcp.Content{}, StructuredContent: json.RawMessage(`{"big":12345678901234567890}`)},
		"a link":     {Content: []mcp.Content{&mcp.ResourceLink{URI: "file:///a", Name: "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, cache.Options{})
			s.do = func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return res, nil }
			call := middleware.Call{Tool: s.read, Arguments: json.RawMessage(`{}`)}
			first, err := s.a.CallTool(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			second, err := s.b.CallTool(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			s.wantCalls(t, 1)
			want, _ := json.Marshal(first)
			got, _ := json.Marshal(second)
			if string(got) != string(want) || fmt.Sprintf("%T", first.StructuredContent) != fmt.Sprintf("%T", second.StructuredContent) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestSharedCacheIsAGoodMiddleware(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, cache.New(cache.Options{Remote: cache.NewMemory()}))
}

func TestNewRefusesOptionsThatConflictWithARemote(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]cache.Options{
		"Near is negative":    {Remote: gone{}, Near: -1},
		"Near stands without": {Near: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			cache.New(o)
		})
	}
}

func FuzzRemoteValue(f *testing.F) {
	for _, value := range []string{"", "1", `1{"content":[{"type":"text","text":"x"}]}`, `2{"content":[],"structuredContent":{}}`} {
		f.Add([]byte(value))
	}
	tool, err := middleware.NewTool("crm", &mcp.Tool{Name: "get"}, stable(annotation.ReadOnly()))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		caller := cache.New(cache.Options{Remote: &poisoned{cache.NewMemory(), value}})(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "asked"}}}, nil
		}))
		res, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{}`)})
		if err != nil || res.IsError || res.NeedsInput() || len(res.Content) == 0 && res.StructuredContent == nil {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

func ExampleNewMemory() {
	remote := cache.NewMemory() // or contrib/redis, over many processes
	server := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("the server is asked")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "an answer"}}}, nil
	})
	tool, _ := middleware.NewTool("crm", &mcp.Tool{Name: "get"}, stable(annotation.ReadOnly()))
	for range 2 {
		replica := cache.New(cache.Options{Remote: remote})(server)
		res, _ := replica.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{}`)})
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// the server is asked
	// an answer
	// an answer
}

// A read that was requested during a write of this process is not answered from Near either.
func TestReadBegunDuringAWriteIsNotKeptNear(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{`{}`, `{"id":1}`} { // anything, and one thing
		t.Run(arguments, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				read, write := with(reader(t), arguments), with(writer(t), arguments)
				e := &executor{do: func(_ context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error) {
					if n <= 2 {
						time.Sleep(2 * time.Second)
					}
					return text(fmt.Sprint(n)), nil
				}}
				c := cache.New(cache.Options{
					Remote: cache.NewMemory(), Near: time.Minute,
					Entities: map[string][]string{"files/read": {"id"}, "files/write": {"id"}},
				})(e)
				writing := start(t.Context(), c, write) // 1
				time.Sleep(time.Second)
				reading := start(t.Context(), c, read) // 2
				writing.answer(t)
				reading.answer(t)
				call(t, c, read) // 3
				e.want(t, 3, "after the write")
				call(t, c, read)
				e.want(t, 3, "near by")
			})
		})
	}
}

// A stuck remote cache lets no look and no beginning return before it is opened.
type stuck struct {
	cache.Remote

	open  chan struct{}
	begun atomic.Int64
	ended atomic.Int64
}

func (s *stuck) Look(ctx context.Context, q cache.Question) (cache.Found, error) {
	<-s.open
	return s.Remote.Look(context.WithoutCancel(ctx), q)
}

func (s *stuck) Begin(ctx context.Context, w cache.Write) error {
	<-s.open
	s.begun.Add(1)
	return s.Remote.Begin(context.WithoutCancel(ctx), w)
}

func (s *stuck) End(ctx context.Context, w cache.Write) (string, error) {
	if s.begun.Load() > 0 {
		s.ended.Add(1)
	}
	return s.Remote.End(ctx, w)
}

// A remote cache that blocks delays a call and prevents none. Once it does not, what
// came late leaves neither a lead nor a write behind.
func TestRemoteThatBlocksIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*testing.T, *site){
		"a read":  func(t *testing.T, s *site) { s.get(t, s.a, `{}`) },
		"a write": func(t *testing.T, s *site) { s.put(t, s.a, `{}`) },
	} {
		synctest.Test(t, func(t *testing.T) {
			remote := &stuck{Remote: cache.NewMemory(), open: make(chan struct{})}
			store := cache.NewStore(cache.StoreOptions{})
			var log bytes.Buffer
			s := newSite(t, cache.Options{Remote: remote, Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			begin := time.Now()
			call(t, s)
			s.wantCalls(t, 1)
			if took := time.Since(begin); took < 2*time.Second || took > 5*time.Second {
				t.Errorf("%s took %v", name, took)
			}
			if late := store.Stats().Late; late == 0 || uint64(strings.Count(log.String(), "given up")) != late {
				t.Errorf("%s: %d operations were given up; the log is %s", name, late, log.String())
			}
			close(remote.open)
			synctest.Wait()
			if remote.begun.Load() > 0 && remote.ended.Load() == 0 {
				t.Errorf("%s began late and has not ended", name)
			}
			begin = time.Now()
			s.get(t, s.a, `{}`)
			s.get(t, s.b, `{}`)
			s.wantCalls(t, 1)
			if took := time.Since(begin); took > 0 {
				t.Errorf("after %s a read waited %v", name, took)
			}
		})
	}
}
