package cache_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolOf returns a tool with annotations of that source. A read is stable by default.
func toolOf(tb testing.TB, server string, definition mcp.Tool, a annotation.Annotations, source annotation.Source) *middleware.Tool {
	tb.Helper()
	if definition.InputSchema == nil {
		definition.InputSchema = map[string]any{"type": "object"}
	}
	tool, err := middleware.NewTool(server, &definition, stable(a).Attribute(source, ""))
	if err != nil {
		tb.Fatal(err)
	}
	return tool
}

// stable returns the annotations of a read with a cacheable result.
func stable(a annotation.Annotations) annotation.Annotations {
	if a.ReadOnly == annotation.Yes {
		a.Freshness = cmp.Or(a.Freshness, annotation.Stable)
	}
	return a
}

func tool(tb testing.TB, name string, a annotation.Annotations) *middleware.Tool {
	tb.Helper()
	return toolOf(tb, "files", mcp.Tool{Name: name}, a, annotation.Host)
}

func reader(tb testing.TB) *middleware.Tool {
	tb.Helper()
	return tool(tb, "read", annotation.ReadOnly())
}

func writer(tb testing.TB) *middleware.Tool {
	tb.Helper()
	return tool(tb, "write", annotation.Write())
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func textOf(tb testing.TB, res *mcp.CallToolResult) string {
	tb.Helper()
	if res == nil || len(res.Content) == 0 {
		tb.Fatalf("got no text in %+v", res)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// fromWire reads a result as a server sends it.
func fromWire(tb testing.TB, raw string) *mcp.CallToolResult {
	tb.Helper()
	res := new(mcp.CallToolResult)
	if err := json.Unmarshal([]byte(raw), res); err != nil {
		tb.Fatal(err)
	}
	return res
}

// An executor numbers its answers: "1", "2", …, unless do answers.
type executor struct {
	mu    sync.Mutex
	calls []middleware.Call
	do    func(ctx context.Context, n int, call middleware.Call) (*mcp.CallToolResult, error)
}

func (e *executor) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	e.mu.Lock()
	e.calls = append(e.calls, call)
	n := len(e.calls)
	e.mu.Unlock()
	if e.do != nil {
		return e.do(ctx, n, call)
	}
	return text(fmt.Sprint(n)), nil
}

func (e *executor) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.calls)
}

func (e *executor) want(tb testing.TB, calls int, when string) {
	tb.Helper()
	if got := e.count(); got != calls {
		tb.Errorf("%s: the executor got %d calls, want %d", when, got, calls)
	}
}

func call(tb testing.TB, c middleware.ToolCaller, call middleware.Call) *mcp.CallToolResult {
	tb.Helper()
	res, err := c.CallTool(tb.Context(), call)
	if err != nil || res == nil {
		tb.Fatalf("%s %s: got %v and error %v", call.Tool, call.Arguments, res, err)
	}
	return res
}

func TestContract(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, cache.New(cache.Options{Idempotent: true}), tool(t, "set", annotation.Update()))
}

func TestOnlySafeResultsAreRemembered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		a     annotation.Annotations
		opted bool // Options.Idempotent
		want  bool
	}{
		{"safe", annotation.ReadOnly(), false, true},
		{"safe, read-only alone", annotation.Annotations{ReadOnly: annotation.Yes}, false, true},
		{"moderate", annotation.Write(), false, false},
		{"moderate and idempotent", annotation.Update(), false, false},
		{"moderate and idempotent, opted in", annotation.Update(), true, true},
		{"moderate, opted in", annotation.Write(), true, false},
		{"dangerous", annotation.Destructive(), false, false},
		{"B145: dangerous, opted in", annotation.Destructive(), true, false},
		{"B287: destructive and idempotent, opted in", annotation.Annotations{Destructive: annotation.Yes, Idempotent: annotation.Yes}, true, false},
		{"read-only that needs confirmation, opted in", annotation.Annotations{ReadOnly: annotation.Yes, RequiresConfirmation: annotation.Yes}, true, false},
		{"hints that conflict", annotation.Annotations{ReadOnly: annotation.Yes, Destructive: annotation.Yes}, false, false},
		{"unknown", annotation.Annotations{}, false, false},
		{"unknown, opted in", annotation.Annotations{Idempotent: annotation.Yes}, true, false},
		{"a hint out of range, opted in", annotation.Annotations{ReadOnly: 7}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, remote := range []cache.Remote{nil, cache.NewMemory()} {
				e := new(executor)
				c := cache.New(cache.Options{Idempotent: tt.opted, Remote: remote})(e)
				its := middleware.Call{Tool: tool(t, "tool", tt.a)}
				first, second := textOf(t, call(t, c, its)), textOf(t, call(t, c, its))
				if got := first == second; got != tt.want {
					t.Errorf("remembered, remote %v: got %t, want %t", remote != nil, got, tt.want)
				}
			}
		})
	}
}

func TestKeyIsScopeServerDefinitionAndArguments(t *testing.T) {
	t.Parallel()
	read := reader(t)
	base := middleware.Call{ID: "1", Scope: "ann", Tool: read, Arguments: json.RawMessage(`{"b":1,"a":{"d":1,"c":2}}`)}
	with := func(change func(*middleware.Call)) middleware.Call {
		c := base
		change(&c)
		return c
	}
	arguments := func(s string) middleware.Call {
		return with(func(c *middleware.Call) { c.Arguments = json.RawMessage(s) })
	}
	for _, tt := range []struct {
		name        string
		left, right middleware.Call
		same        bool
	}{
		{"nothing changed", base, base, true},
		{"another call ID", base, with(func(c *middleware.Call) { c.ID = "2" }), true},
		{"B143: another scope", base, with(func(c *middleware.Call) { c.Scope = "bob" }), false},
		{"B143: the empty scope", base, with(func(c *middleware.Call) { c.Scope = "" }), false},
		{"another server", base, with(func(c *middleware.Call) {
			c.Tool = toolOf(t, "mail", mcp.Tool{Name: "read"}, annotation.ReadOnly(), annotation.Host)
		}), false},
		{"another tool", base, with(func(c *middleware.Call) { c.Tool = tool(t, "list", annotation.ReadOnly()) }), false},
		{"another name under the same digest", base, with(func(c *middleware.Call) {
			other := *read
			other.Definition = &mcp.Tool{Name: "list"}
			c.Tool = &other
		}), false},
		{"another definition of the same tool", base, with(func(c *middleware.Call) {
			c.Tool = toolOf(t, "files", mcp.Tool{Name: "read", Description: "now with secrets"}, annotation.ReadOnly(), annotation.Host)
		}), false},
		{"a copy of the tool", base, with(func(c *middleware.Call) { other := *read; c.Tool = &other }), true},
		{"the parts cannot be shifted",
			middleware.Call{Scope: "ab", Tool: toolOf(t, "c", mcp.Tool{Name: "read"}, annotation.ReadOnly(), annotation.Host)},
			middleware.Call{Scope: "a", Tool: toolOf(t, "bc", mcp.Tool{Name: "read"}, annotation.ReadOnly(), annotation.Host)}, false},
		{"another argument", base, arguments(`{"b":2,"a":{"d":1,"c":2}}`), false},
		{"B063: another order of the members", base, arguments(`{"a":{"c":2,"d":1},"b":1}`), true},
		{"white space", base, arguments(" {\"b\" : 1,\n\t\"a\":{\"d\":1,\"c\":2}} "), true},
		{"escapes", base, arguments(`{"\u0062":1,"a":{"d":1,"c":2}}`), true},
		{"the order in an array counts", arguments(`{"a":[1,2]}`), arguments(`{"a":[2,1]}`), false},
		{"B053: large integers that a float64 folds", arguments(`{"id":9007199254740993}`), arguments(`{"id":9007199254740992}`), false},
		{"B053: number literals stay apart", arguments(`{"id":1}`), arguments(`{"id":1.0}`), false},
		{"a number and its text", arguments(`{"id":1}`), arguments(`{"id":"1"}`), false},
		{"B057: a member in capitals", arguments(`{"id":1}`), arguments(`{"ID":1}`), false},
		{"B061: null and absent", arguments(`{"a":null}`), arguments(`{}`), false},
		{"B071: nil is the empty object", arguments(``), arguments(`{}`), true},
		{"B059: a real replacement character", arguments(`{"a":"\ufffd"}`), arguments(`{"a":"?"}`), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := new(executor)
			c := cache.New(cache.Options{})(e)
			got := textOf(t, call(t, c, tt.left)) == textOf(t, call(t, c, tt.right))
			if got != tt.same {
				t.Errorf("one answer for both: got %t, want %t", got, tt.same)
			}
			if again := textOf(t, call(t, c, tt.left)); again != "1" {
				t.Errorf("the first is no longer cached: got answer %s", again)
			}
		})
	}
}

func TestAmbiguousArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arguments, want string }{
		{"B055: a member twice", `{"id":1,"id":2}`, `"id"`},
		{"B059: half a surrogate pair", `{"path":"\ud800"}`, "surrogate"},
		{"B065: a number beyond float64", `{"x":1e400}`, "out of range"},
		{"B067: 10,001 nested arrays", `{"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`, "nested"},
		{"B071: an array", `[]`, "not a JSON object"},
		{"B071: a text", `"text"`, "not a JSON object"},
		{"B071: null", `null`, "not a JSON object"},
		{"cut off", `{"a":`, "not valid JSON"},
	} {
		for _, on := range []*middleware.Tool{reader(t), tool(t, "set", annotation.Update())} {
			t.Run(tt.name+", "+on.Name(), func(t *testing.T) {
				t.Parallel()
				e := new(executor)
				c := cache.New(cache.Options{Idempotent: true})(e)
				res, err := c.CallTool(t.Context(), middleware.Call{Tool: on, Arguments: json.RawMessage(tt.arguments)})
				if res != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), on.String()) {
					t.Errorf("got %v and error %v, want one that names %s and %s", res, err, on, tt.want)
				}
				if !middleware.NotSent(err) || !middleware.Permanent(err) {
					t.Errorf("%v: not sent %t, permanent %t, want both", err, middleware.NotSent(err), middleware.Permanent(err))
				}
				e.want(t, 0, "afterwards")
			})
		}
	}
}

func TestNeverRemembered(t *testing.T) {
	t.Parallel()
	answers := func(res *mcp.CallToolResult, err error) func(testing.TB) (*mcp.CallToolResult, error) {
		return func(testing.TB) (*mcp.CallToolResult, error) { return res, err }
	}
	wire := func(raw string) func(testing.TB) (*mcp.CallToolResult, error) {
		return func(tb testing.TB) (*mcp.CallToolResult, error) { tb.Helper(); return fromWire(tb, raw), nil }
	}
	ok := answers(text("ok"), nil)
	plain := func(tool *middleware.Tool) middleware.Call { return middleware.Call{Tool: tool} }
	for _, tt := range []struct {
		name   string
		answer func(testing.TB) (*mcp.CallToolResult, error)
		call   func(*middleware.Tool) middleware.Call
		kept   bool
	}{
		{"a result, to compare", ok, plain, true},
		{"structured content alone", wire(`{"content":[],"structuredContent":{"a":1}}`), plain, true},
		{"an error", answers(nil, errors.New("lost")), plain, false},
		{"an error beside a result", answers(text("x"), errors.New("lost")), plain, false},
		{"B107: isError", wire(`{"content":[{"type":"text","text":"no such file"}],"isError":true}`), plain, false},
		{"B115: input_required", wire(`{"content":[{"type":"text","text":"x"}],"resultType":"input_required"}`), plain, false},
		{"B115: input requests", answers(&mcp.CallToolResult{Content: text("x").Content, InputRequests: mcp.InputRequestMap{"a": nil}}, nil), plain, false},
		{"B115: a request state", wire(`{"content":[{"type":"text","text":"x"}],"requestState":"s"}`), plain, false},
		{"an empty result", answers(new(mcp.CallToolResult), nil), plain, false},
		{"B113: neither result nor error", answers(nil, nil), plain, false},
		{"the second leg of an exchange", ok, func(t *middleware.Tool) middleware.Call {
			return middleware.Call{Tool: t, Input: &middleware.Input{State: "s"}}
		}, false},
		{"B069: arguments that are large", ok, func(t *middleware.Tool) middleware.Call {
			return middleware.Call{Tool: t, Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)}
		}, false},
		{"a definition without a digest", ok, func(t *middleware.Tool) middleware.Call {
			bare := *t
			bare.Digest = middleware.Digest{}
			return middleware.Call{Tool: &bare}
		}, false},
	} {
		for _, on := range []*middleware.Tool{reader(t), tool(t, "set", annotation.Update())} {
			t.Run(tt.name+", "+on.Name(), func(t *testing.T) {
				t.Parallel()
				e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) { return tt.answer(t) }}
				c := cache.New(cache.Options{Idempotent: true})(e)
				for range 2 {
					_, _ = c.CallTool(t.Context(), tt.call(on))
				}
				want := 2
				if tt.kept {
					want = 1
				}
				e.want(t, want, "after two calls")
			})
		}
	}
}

// B113, further: a caller that breaks the contract is named, and no panic follows.
func TestNoAnswerIsAnError(t *testing.T) {
	t.Parallel()
	e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) { return nil, nil }}
	res, err := cache.New(cache.Options{})(e).CallTool(t.Context(), middleware.Call{Tool: reader(t)})
	if _, ok := errors.AsType[*fault.NoResultError](err); !ok || res != nil {
		t.Errorf("got %v and error %v, want a NoAnswerError", res, err)
	}
}

func TestCallWithoutAToolPasses(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := cache.New(cache.Options{})(e)
	for range 2 {
		if _, err := c.CallTool(t.Context(), middleware.Call{}); err != nil {
			t.Fatal(err)
		}
	}
	e.want(t, 2, "after two calls")
}

func TestLifetimesOfResults(t *testing.T) {
	t.Parallel()
	of := func(f annotation.Freshness) annotation.Annotations {
		a := annotation.ReadOnly()
		a.Freshness = f
		return a
	}
	for _, tt := range []struct {
		name   string
		ttl    time.Duration
		a      annotation.Annotations
		source annotation.Source
		want   time.Duration
	}{
		{"B301: stable, by default 5 minutes", 0, of(annotation.Stable), annotation.Inferred, 5 * time.Minute},
		{"stable, as the host declares", time.Hour, of(annotation.Stable), annotation.Declared, time.Hour},
		{"shared", 0, of(annotation.Shared), annotation.Inferred, 30 * time.Second},
		{"shared, under a longer time", time.Hour, of(annotation.Shared), annotation.Host, 30 * time.Second},
		{"shared, under a shorter time", 10 * time.Second, of(annotation.Shared), annotation.Declared, 10 * time.Second},
		{"an idempotent write", 0, annotation.Update(), annotation.Host, 30 * time.Second},
		{"an idempotent write under a shorter time", 10 * time.Second, annotation.Update(), annotation.Host, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := &executor{do: func(_ context.Context, n int, _ middleware.Call) (*mcp.CallToolResult, error) {
					time.Sleep(time.Minute) // the time runs from the answer
					return text(fmt.Sprint(n)), nil
				}}
				c := cache.New(cache.Options{TTL: tt.ttl, Idempotent: true})(e)
				its := middleware.Call{Tool: toolOf(t, "files", mcp.Tool{Name: "tool"}, tt.a, tt.source)}
				call(t, c, its)
				time.Sleep(tt.want - 1)
				call(t, c, its)
				e.want(t, 1, "just before the end")
				time.Sleep(1)
				call(t, c, its)
				e.want(t, 2, "at the end")
			})
		})
	}
}

func numbered(tool *middleware.Tool, n int) middleware.Call {
	return middleware.Call{Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
}

func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		entries, want int
	}{{"B139: 0 means 1,000", 0, 1000}, {"3", 3, 3}, {"1", 1, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			read := reader(t)
			e := new(executor)
			c := cache.New(cache.Options{Entries: tt.entries})(e)
			for n := range tt.want {
				call(t, c, numbered(read, n))
			}
			for n := range tt.want {
				call(t, c, numbered(read, n))
			}
			e.want(t, tt.want, "as many as fit")
			call(t, c, numbered(read, -1))
			e.want(t, tt.want+1, "one more")
			for n := 1; n < tt.want; n++ {
				call(t, c, numbered(read, n))
			}
			e.want(t, tt.want+1, "those that were asked for last")
			call(t, c, numbered(read, 0))
			e.want(t, tt.want+2, "the one that was asked for longest ago")
		})
	}
}

func TestBytesAreBounded(t *testing.T) {
	t.Parallel()
	t.Run("the longest ago go first", func(t *testing.T) {
		t.Parallel()
		read := reader(t)
		e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 10_000)), nil
		}}
		c := cache.New(cache.Options{Bytes: 33_000})(e) // three results and their headers
		for n := range 3 {
			call(t, c, numbered(read, n))
		}
		for n := range 3 {
			call(t, c, numbered(read, n))
		}
		e.want(t, 3, "three fit")
		call(t, c, numbered(read, 3))
		for _, n := range []int{1, 2, 3} {
			call(t, c, numbered(read, n))
		}
		e.want(t, 4, "the last three")
		call(t, c, numbered(read, 0))
		e.want(t, 5, "the first")
	})
	t.Run("what is forgotten is counted out", func(t *testing.T) {
		t.Parallel()
		read, write := reader(t), writer(t)
		e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 10_000)), nil
		}}
		c := cache.New(cache.Options{Bytes: 22_000})(e)
		for range 50 { // entries that are replaced, found stale or pushed out
			call(t, c, numbered(read, 0))
			call(t, c, numbered(read, 1))
			call(t, c, middleware.Call{Tool: write})
		}
		call(t, c, numbered(read, 0))
		call(t, c, numbered(read, 1))
		before := e.count()
		call(t, c, numbered(read, 0))
		call(t, c, numbered(read, 1))
		e.want(t, before, "both still fit")
	})
	t.Run("what is replaced is counted out", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			read := reader(t)
			e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
				time.Sleep(time.Second)
				return text(strings.Repeat("x", 10_000)), nil
			}}
			c := cache.New(cache.Options{Bytes: 22_000})(e)
			for n := range 10 { // two flights each, since the second caller has more time
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				first, second := start(ctx, c, numbered(read, n)), start(context.Background(), c, numbered(read, n))
				<-first.done
				<-second.done
			}
			call(t, c, numbered(read, 9))
			call(t, c, numbered(read, 8))
			e.want(t, 20, "the last two still fit")
		})
	})
	t.Run("B147: 1 byte", func(t *testing.T) {
		t.Parallel()
		read := reader(t)
		e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 10_000)), nil
		}}
		c := cache.New(cache.Options{Bytes: 1})(e)
		for range 3 {
			call(t, c, numbered(read, 0))
		}
		e.want(t, 3, "nothing is kept")
	})
	t.Run("a result that is too large pushes nothing out", func(t *testing.T) {
		t.Parallel()
		read := reader(t)
		e := &executor{do: func(_ context.Context, n int, _ middleware.Call) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 1+9_999*(n/2))), nil
		}}
		c := cache.New(cache.Options{Bytes: 5_000})(e)
		call(t, c, numbered(read, 0))
		call(t, c, numbered(read, 1))
		call(t, c, numbered(read, 0))
		e.want(t, 2, "the small one")
	})
}

// Every place for text or data in a result counts.
func TestBytesAreMeasuredEverywhere(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	data := []byte(long)
	content := func(c mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: []mcp.Content{c}} }
	for _, tt := range []struct {
		name string
		res  *mcp.CallToolResult
		kept bool
	}{
		{"short, to compare", text("x"), true},
		{"text", text(long), false},
		{"image", content(&mcp.ImageContent{Data: data}), false},
		{"audio", content(&mcp.AudioContent{Data: data}), false},
		{"resource text", content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Text: long}}), false},
		{"resource data", content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Blob: data}}), false},
		{"resource meta", content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Meta: mcp.Meta{"a": long}}}), false},
		{"link description", content(&mcp.ResourceLink{Description: long}), false},
		{"link URI", content(&mcp.ResourceLink{URI: long}), false},
		{"link icon", content(&mcp.ResourceLink{Icons: []mcp.Icon{{Source: long}}}), false},
		{"text meta", content(&mcp.TextContent{Meta: mcp.Meta{"a": long}}), false},
		{"tool use", content(&mcp.ToolUseContent{Input: map[string]any{"a": long}}), false},
		{"tool result", content(&mcp.ToolResultContent{Content: text(long).Content}), false},
		{"meta", &mcp.CallToolResult{Content: text("x").Content, Meta: mcp.Meta{"a": []any{long}}}, false},
		{"meta key", &mcp.CallToolResult{Content: text("x").Content, Meta: mcp.Meta{long: 1}}, false},
		{"structured", &mcp.CallToolResult{StructuredContent: map[string]any{"a": []any{long}}}, false},
		{"structured, raw", &mcp.CallToolResult{StructuredContent: json.RawMessage(`"` + long + `"`)}, false},
		{"structured, a type of the host's own", &mcp.CallToolResult{StructuredContent: struct{ A string }{long}}, false},
		{"structured, many numbers", &mcp.CallToolResult{StructuredContent: make([]any, 1000)}, false},
		{"many empty contents", &mcp.CallToolResult{Content: make([]mcp.Content, 100)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) { return tt.res, nil }}
			c := cache.New(cache.Options{Bytes: 5_000})(e)
			call(t, c, middleware.Call{Tool: reader(t)})
			call(t, c, middleware.Call{Tool: reader(t)})
			want := 2
			if tt.kept {
				want = 1
			}
			e.want(t, want, "after two calls")
		})
	}
}

func TestNewRefusesNegativeNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    cache.Options
		want string
	}{
		{"B139: entries", cache.Options{Entries: -1}, "cache: Options.Entries is negative"},
		{"bytes", cache.Options{Bytes: -1}, "cache: Options.Bytes is negative"},
		{"B141: TTL", cache.Options{TTL: -time.Second}, "cache: Options.TTL is negative"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("got panic %v, want %q", got, tt.want)
				}
			}()
			cache.New(tt.o)
		})
	}
}

// A middleware has one store, however often it is applied: a write through one chain ends
// what was read through another.
func TestStoreIsThatOfTheMiddleware(t *testing.T) {
	t.Parallel()
	m := cache.New(cache.Options{})
	left, right := new(executor), new(executor)
	its, write := middleware.Call{Tool: reader(t)}, middleware.Call{Tool: tool(t, "write", annotation.Write())}
	call(t, m(left), its)
	call(t, m(right), its)
	right.want(t, 0, "read through the other")
	call(t, m(right), write)
	call(t, m(left), its)
	left.want(t, 2, "after a write through the other")
	other := new(executor)
	call(t, cache.New(cache.Options{})(other), its)
	other.want(t, 1, "of another middleware")
}

// A member of _meta may change a result, so that a call with one is not cached.
func TestMetaIsNotCached(t *testing.T) {
	t.Parallel()
	for meta, hits := range map[string]bool{"tenant": false, "progressToken": true, "traceparent": true} {
		e := new(executor)
		c := cache.New(cache.Options{})(e)
		for _, value := range []string{"a", "b"} {
			call(t, c, middleware.Call{Tool: reader(t), Meta: mcp.Meta{meta: value}})
		}
		e.want(t, map[bool]int{true: 1, false: 2}[hits], meta)
	}
}

func TestLogsNameTheToolAndNotTheArguments(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := cache.New(cache.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})(new(executor))
	its := middleware.Call{Tool: reader(t), Arguments: json.RawMessage(`{"password":"hunter2"}`)}
	call(t, c, its)
	if log.Len() != 0 {
		t.Errorf("a miss was logged: %s", &log)
	}
	call(t, c, its)
	if got := log.String(); !strings.Contains(got, `msg="cache: hit" tool=files/read class=safe`) || strings.Contains(got, "hunter2") {
		t.Errorf("got %q", got)
	}
}
