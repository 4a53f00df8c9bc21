package access_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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
	a, err := access.Open(file(t, fmt.Sprintf(`{"hosts": ["a"], "tokens": {"issuer": %q, "audience": "here"}}`, c.url)))
	if err == nil {
		err = a.Renew(t.Context())
	}
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
	go access.WatchEvery(ctx, a, time.Millisecond, time.Millisecond, func(err error) {
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

// An outage of the issuer is reported by the first token that it keeps from being checked, and not only when its keys are
// due, and so is its end.
func TestOutageThatATokenMeetsIsReported(t *testing.T) {
	t.Parallel()
	c, a, as := changes(t)
	reports := make(chan error, 100)
	go access.WatchEvery(t.Context(), a, time.Hour, 10*time.Millisecond, func(err error) {
		select {
		case reports <- err:
		default:
		}
	})
	c.has()
	reported := func() error { // a token that comes before Watch does is not seen by it
		for ctx := mcptest.Context(t); ctx.Err() == nil; time.Sleep(time.Millisecond) {
			if got := as("new", newKeyOf("new")); got != http.StatusServiceUnavailable {
				t.Fatalf("a token of a new key: got %d", got)
			}
			select {
			case err := <-reports:
				return err
			default:
			}
		}
		t.Fatal("the outage is not reported")
		return nil
	}
	if _, away := errors.AsType[*access.AwayError](reported()); !away {
		t.Error("want an error of an issuer that is away")
	}
	fresh := c.has("old", "new")["new"]
	for err := errors.New("away"); err != nil; {
		err = mcptest.Wait(t, "the issuer to be back", reports)
	}
	if got := as("new", fresh); got != http.StatusOK {
		t.Errorf("a token of the new key, once the issuer is back: got %d", got)
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
	for age, want := range map[time.Duration]int{59 * time.Minute: http.StatusOK, 61 * time.Minute: http.StatusServiceUnavailable} {
		access.Age(a, age)
		err := a.Renew(t.Context())
		if _, away := errors.AsType[*access.AwayError](err); !away {
			t.Error("want an error of an issuer that is away")
		}
		last := time.Now().Add(-age).UTC()
		if until := last.Add(time.Hour); err != nil && (!strings.Contains(err.Error(), "renewed last at "+last.Format("2006-01-02T15:")) || !strings.Contains(err.Error(), "count until "+until.Format("2006-01-02T15:"))) {
			t.Errorf("got %v, want when the keys were renewed last, and until when they count", err)
		}
		if got := as("old", old); got != want {
			t.Errorf("after %s: got %d, want %d", age, got, want)
		}
	}
	access.Age(a, time.Minute)
	if got := as("unknown", newKeyOf("unknown")); got != http.StatusServiceUnavailable {
		t.Errorf("a token that only a new key could have signed: got %d", got)
	}
	c.has("old")
	if err := a.Renew(t.Context()); err != nil || as("old", old) != http.StatusOK {
		t.Errorf("it is back: got %d, %v", as("old", old), err)
	}
}

// Time mends an issuer that does not answer, and not one that is another.
func TestIssuerThatIsWrongIsNotAway(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/other/"):
			fmt.Fprint(w, `{"issuer": "https://login.example"}`)
		case strings.HasPrefix(r.URL.Path, "/busy/"):
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(other.Close)
	secret := httptest.NewTLSServer(other.Config.Handler)
	t.Cleanup(secret.Close)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{nobody: true, other.URL + "/busy": true, other.URL + "/other": false, other.URL + "/nothing": false, secret.URL: false} {
		a, err := access.Open(file(t, fmt.Sprintf(`{"hosts": ["a"], "tokens": {"issuer": %q, "audience": "here"}}`, url)))
		if err != nil {
			t.Fatal(err)
		}
		err = a.Renew(t.Context())
		if _, away := errors.AsType[*access.AwayError](err); away != want || err == nil {
			t.Errorf("%s: got %v, want away: %t", url, err, want)
		}
	}
}
