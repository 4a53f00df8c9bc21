package proxy_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// kept is what replicas share in memory.
type kept struct {
	mu    sync.Mutex
	texts map[string][]byte
	away  bool
}

func (k *kept) Keep(_ context.Context, name string, text []byte, _ time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.away {
		return errors.New("the store is away")
	}
	if k.texts == nil {
		k.texts = make(map[string][]byte)
	}
	k.texts[name] = text
	return nil
}

func (k *kept) Find(_ context.Context, name string, _ time.Duration) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.away {
		return nil, errors.New("the store is away")
	}
	return k.texts[name], nil
}

func (k *kept) set(away bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.away = away
}

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

// A session is its user's at each replica, and no other user's.
func TestSessionAtAnotherReplicaIsItsUsers(t *testing.T) {
	t.Parallel()
	a, as := opened(t)
	o := proxy.Options{Servers: []proxy.Server{serve(t, things(), mcptest.Legacy)}, Access: a, Policy: decided(t, `{}`), Sessions: new(kept)}
	one, other := listenOn(t, o), listenOn(t, o)
	ann, bob := as("ann", "*.all"), as("bob", "*.all")
	id := post(t, ann, one, "", initialize).Header.Get("Mcp-Session-Id")
	if res := post(t, bob, other, id, ping); res.StatusCode != http.StatusNotFound {
		t.Errorf("another user with the session's id: got %s", res.Status)
	}
	for _, url := range []string{other, one, other} {
		if res := post(t, ann, url, id, ping); res.StatusCode != http.StatusOK {
			t.Errorf("its user: got %s", res.Status)
		}
	}
	if res := post(t, bob, other, id, ping); res.StatusCode != http.StatusNotFound {
		t.Errorf("another user, once it is at both: got %s", res.Status)
	}
}

// A session that its client has ended at one replica ends at the others: at once if it was not there yet, else within
// a minute. A store that is away ends none.
func TestSessionEndsAtEachReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(kept)
		var replicas []http.Handler
		for range 3 {
			replicas = append(replicas, newPlain(deleteThing).proxy(t, proxy.Options{Sessions: store}).Handler(t.Context()))
		}
		send := func(replica int, method, session, body string) *httptest.ResponseRecorder {
			req := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/mcp", strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			if session != "" {
				req.Header.Set("Mcp-Session-Id", session)
			}
			w := httptest.NewRecorder()
			replicas[replica].ServeHTTP(w, req)
			return w
		}
		id := send(0, http.MethodPost, "", initialize).Header().Get("Mcp-Session-Id")
		want := func(what string, replica, status int) {
			t.Helper()
			if got := send(replica, http.MethodPost, id, ping); got.Code != status {
				t.Errorf("%s: got HTTP %d, want %d: %s", what, got.Code, status, got.Body)
			}
		}
		want("at another replica", 1, http.StatusOK)
		time.Sleep(2 * time.Minute)
		store.set(true)
		want("while the store is away", 1, http.StatusOK)
		want("at a replica that does not have it, while the store is away", 2, http.StatusServiceUnavailable)
		store.set(false)
		if got := send(0, http.MethodDelete, id, ""); got.Code != http.StatusNoContent {
			t.Errorf("DELETE: got HTTP %d", got.Code)
		}
		want("ended, where it was ended", 0, http.StatusNotFound)
		want("ended, where it never was", 2, http.StatusNotFound)
		time.Sleep(2 * time.Minute)
		want("ended, where it was too", 1, http.StatusNotFound)
	})
}
