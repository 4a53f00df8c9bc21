package cache_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// A near result may be older than another replica's write by LocalTTL, and no older; an own write
// invalidates it at once.
func TestNearIsBoundedInItsStaleness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		remote := &counted{Remote: cache.NewMemory()}
		s := newSite(t, cache.Options{Remote: remote, LocalTTL: time.Second})
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

// LocalTTL bounds how much older than another replica's write an answer may be, also
// where the server took long over it.
func TestNearCountsFromTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, cache.Options{LocalTTL: time.Second})
		s.do = func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			res := s.answer(call)
			if call.Tool == s.read {
				time.Sleep(10 * time.Second)
			}
			return res, nil
		}
		go func() {
			time.Sleep(time.Second)
			s.put(t, s.b, `{}`)
		}()
		s.get(t, s.a, `{"id":1}`) // asked before the write, answered 9 s after it
		if got := s.get(t, s.a, `{"id":1}`); got != "1" {
			t.Errorf("9 s after another replica's write, with a LocalTTL of 1 s: got version %s", got)
		}
	})
}

// A read that was requested during a write of this process is not answered from LocalTTL either.
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
					Remote: cache.NewMemory(), LocalTTL: time.Minute,
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

// A replica reads from the shared cache what the other one got.
func TestSharedNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	const id = "9007199254740993" // no float64 is this
	for name, content := range map[string]any{
		"bytes":              json.RawMessage(`{"id":` + id + `}`),
		"a number as text":   map[string]any{"id": json.Number(id)},
		"an integer":         map[string]any{"list": []any{int64(9007199254740993)}},
		"bytes in a tree":    map[string]any{"row": json.RawMessage(`{"id":` + id + `}`)},
		"a type of the host": map[string]any{"row": struct{ ID int64 }{9007199254740993}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, cache.Options{})
			s.do = func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: content}, nil
			}
			for _, at := range []middleware.ToolCaller{s.a, s.b} {
				res := call(t, at, middleware.Call{Tool: s.read})
				if form, err := json.Marshal(res.StructuredContent); err != nil || !strings.Contains(string(form), id) {
					t.Errorf("got %s, %v", form, err)
				}
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

// A poisoned value is asked for again.
type poisoned struct {
	cache.Remote

	value []byte
}

func (p *poisoned) Look(context.Context, cache.Read) (cache.Lookup, error) {
	return cache.Lookup{Value: p.value, Ticket: "1"}, nil
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
