package access_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// keysOf has a key for each name.
var keysOf sync.Map

func newKeyOf(name string) *ecdsa.PrivateKey {
	key, _ := keysOf.LoadOrStore(name, sync.OnceValue(func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		return key
	}))
	return key.(func() *ecdsa.PrivateKey)()
}

// A changing issuer has other keys later, or is away.
type changing struct {
	url string

	mu   sync.Mutex
	keys *oidctest.Server // nil while it is away
}

func (c *changing) has(names ...string) map[string]*ecdsa.PrivateKey {
	signs, s := make(map[string]*ecdsa.PrivateKey), &oidctest.Server{Algorithms: []string{oidc.ES256}}
	for _, name := range names {
		signs[name] = newKeyOf(name)
		s.PublicKeys = append(s.PublicKeys, oidctest.PublicKey{PublicKey: signs[name].Public(), KeyID: name, Algorithm: oidc.ES256})
	}
	s.SetIssuer(c.url)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys = s; len(names) == 0 {
		c.keys = nil
	}
	return signs
}

func (c *changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	now := c.keys
	c.mu.Unlock()
	if now == nil {
		http.Error(w, "away", http.StatusBadGateway)
		return
	}
	now.ServeHTTP(w, r)
}

// changes opens an access whose issuer has one key, "old", and returns what asks with a token of a key.
func changes(t *testing.T) (c *changing, a *access.Access, as func(key string, by *ecdsa.PrivateKey) int) {
	t.Helper()
	c = new(changing)
	served := httptest.NewServer(c)
	t.Cleanup(served.Close)
	c.url = served.URL
	c.has("old")
	a, err := access.Open(t.Context(), file(t, fmt.Sprintf(`{"hosts": ["a"], "tokens": {"issuer": %q, "audience": "here"}}`, c.url)))
	if err != nil {
		t.Fatal(err)
	}
	h := whoami(a)
	return c, a, func(key string, by *ecdsa.PrivateKey) int {
		r := httptest.NewRequest(http.MethodPost, "http://a/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+oidctest.SignIDToken(by, key, oidc.ES256,
			fmt.Sprintf(`{"iss":%q,"aud":"here","sub":"ann","exp":%d}`, c.url, time.Now().Add(3*time.Hour).Unix())))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
}

// A key that the issuer has replaced ends when the keys are renewed, without a token of a new one.
func TestReplacedKeyEnds(t *testing.T) {
	t.Parallel()
	c, a, as := changes(t)
	old := c.has("old")["old"]
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reports := make(chan error)
	go access.WatchEvery(ctx, a, time.Millisecond, func(err error) {
		select {
		case reports <- err:
		case <-ctx.Done():
		}
	})
	renewed := func() (err error) {
		for range 2 { // one may have been under way
			err = mcptest.Wait(t, "the keys to be renewed", reports)
		}
		return err
	}
	if err := renewed(); err != nil || as("old", old) != http.StatusOK {
		t.Errorf("before: got %d, %v", as("old", old), err)
	}
	fresh := c.has("new")["new"]
	if err := renewed(); err != nil {
		t.Error(err)
	}
	if got := as("old", old); got != http.StatusUnauthorized {
		t.Errorf("a token of the key that was replaced: got %d", got)
	}
	if got := as("new", fresh); got != http.StatusOK {
		t.Errorf("a token of the new key: got %d", got)
	}
}

// While the issuer is away the keys of before count for an hour, and no longer.
func TestIssuerThatIsAway(t *testing.T) {
	t.Parallel()
	c, a, as := changes(t)
	old := c.has("old")["old"]
	if err := a.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.has()
	for age, want := range map[time.Duration]int{59 * time.Minute: http.StatusOK, 61 * time.Minute: http.StatusUnauthorized} {
		access.Age(a, age)
		if err := a.Renew(t.Context()); err == nil {
			t.Error("the keys of an issuer that is away were renewed")
		}
		if got := as("old", old); got != want {
			t.Errorf("after %s: got %d, want %d", age, got, want)
		}
	}
	c.has("old")
	if err := a.Renew(t.Context()); err != nil || as("old", old) != http.StatusOK {
		t.Errorf("it is back: got %d, %v", as("old", old), err)
	}
}
