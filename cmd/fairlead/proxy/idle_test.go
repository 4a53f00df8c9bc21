package proxy_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// A session over HTTP ends when its client has been silent for long. Who listens, or waits
// for an answer, is there.
func TestOnlyASilentClientLosesItsSession(t *testing.T) {
	t.Parallel()
	const note, request = `{"method":"notifications/x"}`, `{"id":1,"method":"resources/read","params":{"uri":"x://y"}}`
	for name, c := range map[string]struct {
		listens bool
		posts   string
	}{
		"says nothing":                        {},
		"once it has said something":          {posts: note},
		"while it listens":                    {listens: true},
		"while it listens, having said more":  {true, note},
		"while it waits for an answer":        {posts: request},
		"while it listens and waits for that": {true, request},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				listen, post, _, ended := proxy.NewIdle()
				ctx, leave := context.WithCancel(context.Background())
				do := func(h http.HandlerFunc) {
					go h(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", nil))
					synctest.Wait()
				}
				over := func() bool {
					time.Sleep(proxy.SessionIdle + time.Second)
					select {
					case <-ended:
						return true
					default:
						return false
					}
				}
				if c.listens {
					do(listen)
				}
				if c.posts != "" {
					do(post(c.posts))
				}
				if got, want := over(), !c.listens && c.posts != request; got != want {
					t.Errorf("its session has ended: %v, want %v", got, want)
				}
				leave()
				if !over() {
					t.Error("its session goes on when it has gone")
				}
			})
		})
	}
}

// A wall is the way to a client that never reads.
type wall struct {
	*httptest.ResponseRecorder

	until time.Time
}

func (w *wall) SetWriteDeadline(until time.Time) error {
	w.until = until
	return nil
}

func (w *wall) Write([]byte) (int, error) {
	if w.until.IsZero() {
		select {} // for ever
	}
	time.Sleep(time.Until(w.until))
	return 0, os.ErrDeadlineExceeded
}

// A client that does not read holds up a server for so long, once.
func TestClientThatDoesNotReadIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listen, _, say, _ := proxy.NewIdle()
		ctx, leave := context.WithCancel(context.Background())
		go listen(&wall{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequestWithContext(ctx, http.MethodGet, "/mcp", nil))
		synctest.Wait()
		start := time.Now()
		for range 3 {
			say()
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("the server waited for %v", took)
		}
		leave()
		synctest.Wait()
	})
}
