package access_test

import (
	"crypto/ecdsa"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
)

// An inMemory transport has a handler answer, and counts the requests for keys.
type inMemory struct {
	http.Handler

	keys atomic.Int64
}

func (m *inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/keys") {
		m.keys.Add(1)
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w.Result(), nil
}

// Tokens of keys that the issuer does not have let its keys be fetched once in ten seconds, and a new key counts from then
// on. Tokens of the keys that it has go on meanwhile, also while it is away.
func TestUnknownKeysAreFetchedSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &changing{url: "https://login.example"}
		old := c.has("old")["old"]
		m := &inMemory{Handler: c}
		a, err := access.Open(file(t, fmt.Sprintf(`{"hosts": ["a"], "tokens": {"issuer": %q, "audience": "here"}}`, c.url)))
		if err == nil {
			err = access.RenewBy(t.Context(), a, &http.Client{Transport: m})
		}
		if err != nil {
			t.Fatal(err)
		}
		h := whoami(a)
		as := func(key string, by *ecdsa.PrivateKey) int {
			r := httptest.NewRequest(http.MethodPost, "http://a/mcp", nil)
			r.Header.Set("Authorization", "Bearer "+oidctest.SignIDToken(by, key, oidc.ES256,
				fmt.Sprintf(`{"iss":%q,"aud":"here","sub":"ann","exp":%d}`, c.url, time.Now().Add(time.Hour).Unix())))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		flood := func(want int, fetches int64) {
			t.Helper()
			before := m.keys.Load()
			for i := range 100 {
				if got := as(fmt.Sprint("made-up-", i), newKeyOf("stranger")); got != want {
					t.Fatalf("a made-up key: got %d, want %d", got, want)
				}
			}
			if got := m.keys.Load() - before; got != fetches {
				t.Errorf("the keys were fetched %d times, want %d", got, fetches)
			}
			if got := as("old", old); got != http.StatusOK {
				t.Errorf("a good token got %d", got)
			}
		}
		flood(http.StatusUnauthorized, 1) // beside that at the start
		fresh := c.has("old", "new")["new"]
		flood(http.StatusUnauthorized, 0)
		if got := as("new", fresh); got != http.StatusUnauthorized {
			t.Errorf("a new key, before the time: got %d", got)
		}
		time.Sleep(10 * time.Second)
		if got := as("new", fresh); got != http.StatusOK {
			t.Errorf("a new key: got %d", got)
		}
		time.Sleep(10 * time.Second)
		c.has() // away
		flood(http.StatusServiceUnavailable, 1)
		flood(http.StatusServiceUnavailable, 0)
	})
}
