package proxy_test

import (
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
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
)

const mb = 1 << 20

// Messages whose lengths are not known grow side by side. None waits for another that waits for it, and together they
// never have more than the room.
func TestRoomHoldsMessagesThatGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room := proxy.NewRoom(100 * mb)
		var most atomic.Int64
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				grow, release := room.Message(t.Context(), fmt.Sprint("user ", i%3))
				for n := int64(1); n <= 60; n++ {
					if err := grow(n * mb); err != nil {
						t.Error(err)
					}
					use, _ := room.Use()
					most.Store(max(most.Load(), use.Now))
					time.Sleep(time.Millisecond)
				}
				release()
			})
		}
		all.Wait()
		if use, waiting := room.Use(); use.Now != 0 || waiting != 0 || use.Limit != 100*mb {
			t.Errorf("at the end %d bytes of %d are taken, and %d messages wait", use.Now, use.Limit, waiting)
		}
		if got := most.Load(); got > 100*mb || got < 60*mb {
			t.Errorf("%d MB were taken at once", got/mb)
		}
	})
}

// A user who fills the room leaves half of it to others, and theirs come next to the passing place.
func TestRoomIsSharedByUsers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room := proxy.NewRoom(104 * mb) // 40 beside the passing place
		var mu sync.Mutex
		var order []string
		take := func(user string, bytes int64) (release func()) {
			grow, release := room.Message(t.Context(), user)
			go func() {
				if err := grow(bytes); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, user)
			}()
			synctest.Wait()
			return release
		}
		half, passing := take("a", 20*mb), take("a", 50*mb)
		second, third := take("a", 10*mb), take("a", 50*mb) // the first would fit, if it were not over the share
		take("b", 20*mb)()
		if want := []string{"a", "a", "b"}; !slices.Equal(order, want) {
			t.Errorf("room was given to %q, want %q", order, want)
		}
		large := take("b", 50*mb)
		passing() // the first that waits is of a user who has just had the place
		synctest.Wait()
		large()
		synctest.Wait()
		second()
		third()
		half()
		synctest.Wait()
		if want := []string{"a", "a", "b", "b", "a", "a"}; !slices.Equal(order, want) {
			t.Errorf("room was given to %q, want %q", order, want)
		}
	})
}

// What waits for room ends with its context, and no call is sent by a user whose results wait.
func TestRoomIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room := proxy.NewRoom(80 * mb)
		grow, release := room.Message(t.Context(), "a")
		if err := grow(60 * mb); err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		ctx, end := context.WithCancelCause(t.Context())
		waits, _ := room.Message(ctx, "b")
		ended := make(chan error, 1)
		go func() { ended <- waits(60 * mb) }()
		synctest.Wait()
		began := time.Now()
		if err := room.ToSend(t.Context(), "a"); err != nil || time.Since(began) != 0 {
			t.Errorf("another user's call: %v after %v", err, time.Since(began))
		}
		err := room.ToSend(t.Context(), "b")
		if took := time.Since(began); !middleware.NotSent(err) || took != 30*time.Second || !strings.Contains(err.Error(), "the call was not sent, try again later") {
			t.Errorf("the user's call: %v after %v", err, took)
		}
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := room.ToSend(short, "b"); !middleware.NotSent(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call with a deadline: %v", err)
		}
		end(gone)
		if err := <-ended; !errors.Is(err, gone) {
			t.Errorf("the message that waited: %v", err)
		}
		if err := room.ToSend(t.Context(), "b"); err != nil {
			t.Error(err)
		}
		release()
		if use, waiting := room.Use(); use.Now != 0 || waiting != 0 {
			t.Errorf("at the end %d bytes are taken, and %d messages wait", use.Now, waiting)
		}
	})
}

// A slowServer answers read_thing with a large result of which it keeps the end back, and delete_thing with a large one.
type slowServer struct {
	calls  sync.Map      // how often a tool was called, by its name
	begun  chan string   // a tool whose answer is written
	finish chan struct{} // closed to have read_thing end
}

func (s *slowServer) count(tool string) int64 {
	n, ok := s.calls.Load(tool)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

func (s *slowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"read_thing","inputSchema":{"type":"object"}},{"name":"delete_thing","inputSchema":{"type":"object"}},{"name":"get_thing","inputSchema":{"type":"object"}}]}`,
	}[m.Method]
	if m.Method == "tools/call" {
		n, _ := s.calls.LoadOrStore(m.Params.Name, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		answer = `{"content":[{"type":"text","text":"got"}]}`
		if m.Params.Name != "get_thing" {
			answer = `{"content":[{"type":"text","text":"` + strings.Repeat("x", 40*mb) + `"}]}`
		}
	}
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	_, _ = io.WriteString(w, text[:1])
	_ = http.NewResponseController(w).Flush()
	if m.Method == "tools/call" {
		s.begun <- m.Params.Name
	}
	if m.Params.Name == "read_thing" {
		<-s.finish
	}
	_, _ = io.WriteString(w, text[1:]) // the proxy may not wait for it any more
}

type records struct {
	mu  sync.Mutex
	all []audit.Record
}

func (r *records) Write(_ context.Context, one audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
	return nil
}

// A dangerous call was made, and there is no room for its result until its client gives up: it is recorded as unknown, an
// identical one is held, and none is sent before there is room. Then everything goes on.
func TestResultWithoutRoomIsInDoubt(t *testing.T) {
	t.Parallel()
	server := &slowServer{begun: make(chan string, 10), finish: make(chan struct{})}
	upstream := httptest.NewServer(server)
	t.Cleanup(upstream.Close)
	end := sync.OnceFunc(func() { close(server.finish) })
	t.Cleanup(end)
	sink := &records{}
	p, url := listening(t, proxy.Options{
		Servers: []proxy.Server{{Name: "things", URL: upstream.URL}}, Confirm: approve(true), Policy: decided(t, `{}`), Audit: sink, InFlight: proxy.LeastInFlight,
	})
	session := post(t, http.DefaultClient, url, "", initialize).Header.Get("Mcp-Session-Id")
	post(t, http.DefaultClient, url, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var last atomic.Int64
	call := func(ctx context.Context, tool string) string {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"%s"}}`, last.Add(1), tool)))
		if err != nil {
			t.Error(err)
			return ""
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return err.Error()
		}
		return string(body)
	}
	large, later := make(chan string, 1), make(chan string, 1)
	go func() { large <- call(t.Context(), "read_thing") }()
	mcptest.Wait(t, "the large result", server.begun)
	given, giveUp := context.WithCancel(t.Context())
	deleted := make(chan string, 1)
	go func() { deleted <- call(given, "delete_thing") }()
	mcptest.Wait(t, "the deletion", server.begun)
	until(t, "its result to wait", func() bool { return p.Stats().Delayed == 1 })
	go func() { later <- call(t.Context(), "get_thing") }()
	giveUp()
	mcptest.Wait(t, "the end of the deletion", deleted)
	until(t, "its record", func() bool {
		sink.mu.Lock()
		defer sink.mu.Unlock()
		return slices.ContainsFunc(sink.all, func(r audit.Record) bool { return r.Tool == "delete_thing" && r.Outcome == audit.Unknown })
	})
	if got := mcptest.Wait(t, "the later call", later); !strings.Contains(got, `"got"`) {
		t.Errorf("the later call got %.300s", got)
	}
	end()
	if got := mcptest.Wait(t, "the result", large); len(got) < 40*mb {
		t.Errorf("the large result has %d bytes: %.300s", len(got), got)
	}
	if got := call(t.Context(), "delete_thing"); !strings.Contains(got, "was not called") {
		t.Errorf("the same deletion got %.300s", got)
	}
	if n := server.count("delete_thing"); n != 1 {
		t.Errorf("the deletion was sent %d times", n)
	}
	if now := p.Stats(); now.Results.Now != 0 || now.Delayed != 0 || now.Results.Limit != 80*mb {
		t.Errorf("at the end %+v", now)
	}
}
