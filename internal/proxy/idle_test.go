package proxy_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/internal/proxy"
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
				listen, post, ended := proxy.NewIdle()
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
