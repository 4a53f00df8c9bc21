package cache_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

type counted struct {
	cache.Remote

	looks atomic.Int64
	ends  atomic.Int64
}

func (c *counted) Look(ctx context.Context, q cache.Read) (cache.Lookup, error) {
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

func (gone) Look(context.Context, cache.Read) (cache.Lookup, error) { return cache.Lookup{}, errOut }
func (gone) Keep(context.Context, cache.Read, string, []byte, time.Duration) error {
	return errOut
}

func (gone) Drop(context.Context, cache.Read, string) {}
func (gone) Begin(context.Context, cache.Write) error { return errOut }
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

func TestSharedCacheIsAGoodMiddleware(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, cache.New(cache.Options{Remote: cache.NewMemory()}))
}

func TestNewRefusesOptionsThatConflictWithARemote(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]cache.Options{
		"LocalTTL is negative":    {Remote: gone{}, LocalTTL: -1},
		"LocalTTL stands without": {LocalTTL: time.Second},
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

// A stuck remote cache lets no look and no beginning return before it is opened.
type stuck struct {
	cache.Remote

	open  chan struct{}
	begun atomic.Int64
	ended atomic.Int64
}

func (s *stuck) Look(ctx context.Context, q cache.Read) (cache.Lookup, error) {
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
