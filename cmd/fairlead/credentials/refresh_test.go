package credentials_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials"
	"github.com/fairlead-go/fairlead/middleware"
)

// What waits for a token shares one refresh, also with another process.
func TestOneRefreshForAllThatWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann := f.signIn(t, "ann")
	again := credentials.New(t.Context(), credentials.Options{Store: open(t, f.dir), Base: f.page.URL + "/"})
	other, err := again.Account("ann", "crm", f.server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, other, f.server, "ann")
	f.server.Expire()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { check(t, ann, f.server, "ann") })
		all.Go(func() { check(t, other, f.server, "ann") })
	}
	all.Wait()
	if got := f.server.Count("refresh_token"); got != 1 {
		t.Errorf("got %d refreshes, want 1", got)
	}
}

// A storm of calls over an authorization server that is down, or that refuses, makes a request or few, since all that wait
// at a time share one; and one when it is back.
func TestRefreshStorms(t *testing.T) {
	t.Parallel()
	const calls = 200
	storm := func(f *fixture, a *credentials.Account) (failed int64) {
		var all sync.WaitGroup
		var faults atomic.Int64
		for range calls {
			all.Go(func() {
				if _, err := send(t.Context(), a, f.server.URL); err != nil {
					faults.Add(1)
				}
			})
		}
		all.Wait()
		return faults.Load()
	}
	t.Run("B388: the issuer is there", func(t *testing.T) {
		f := newFixture(t, nil)
		ann := f.signIn(t, "ann")
		f.server.Expire()
		if failed, got := storm(f, ann), f.server.Count("refresh_token"); failed != 0 || got != 1 {
			t.Errorf("%d calls failed, with %d refreshes", failed, got)
		}
	})
	t.Run("B388: the issuer is away, and comes back", func(t *testing.T) {
		f := newFixture(t, nil)
		ann := f.signIn(t, "ann")
		f.server.Expire()
		f.server.Down(true)
		if failed, got := storm(f, ann), f.server.Count("refresh_token"); failed != calls || got >= calls/2 {
			t.Errorf("%d calls failed, with %d refreshes", failed, got)
		}
		f.server.Down(false)
		before := f.server.Count("refresh_token")
		if failed, got := storm(f, ann), f.server.Count("refresh_token")-before; failed != 0 || got != 1 {
			t.Errorf("when it is back %d calls failed, with %d refreshes", failed, got)
		}
	})
	t.Run("B388: the issuer refuses", func(t *testing.T) {
		f := newFixture(t, nil)
		ann := f.signIn(t, "ann")
		f.server.Expire()
		f.server.Forget()
		if failed, got := storm(f, ann), f.server.Count("refresh_token"); failed != calls || got != 1 {
			t.Errorf("%d calls failed, with %d refreshes", failed, got)
		}
	})
}

// An authorization server that is down is an outage and no reason to sign in again; what it answers is in no error.
func TestOutageOfTheAuthorizationServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann := f.signIn(t, "ann")
	f.server.Expire()
	f.server.Down(true)
	_, err := send(t.Context(), ann, f.server.URL)
	if _, required := errors.AsType[*credentials.RequiredError](err); err == nil || required || !middleware.NotSent(err) || strings.Contains(err.Error(), "refresh-") {
		t.Errorf("got %v", err)
	}
	f.server.Down(false)
	check(t, ann, f.server, "ann")
}

// A refresh token that counts no more sends the user to the page again.
func TestRefusedRefreshAsksTheUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann := f.signIn(t, "ann")
	f.server.Expire()
	f.server.Forget()
	f.pageOf(t, ann)
	if all, err := open(t, f.dir).List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%d credentials are kept (%v)", len(all), err)
	}
	f.signIn(t, "ann")
	check(t, ann, f.server, "ann")
}

// A revocation that comes while a token is refreshed is not undone by what comes of that.
func TestRevocationDuringARefreshHolds(t *testing.T) {
	t.Parallel()
	inside, goOn := make(chan struct{}), make(chan struct{})
	f := newFixture(t, func(o *credentials.Options) {
		o.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/token" {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				if strings.Contains(string(body), "grant_type=refresh_token") {
					inside <- struct{}{}
					<-goOn
				}
			}
			return http.DefaultTransport.RoundTrip(r)
		})
	})
	ann := f.signIn(t, "ann")
	f.server.Expire()
	called, revoked := make(chan error, 1), make(chan error, 1)
	go func() { _, err := send(t.Context(), ann, f.server.URL); called <- err }()
	<-inside
	go func() {
		_, err := credentials.New(t.Context(), credentials.Options{Store: open(t, f.dir)}).Revoke(t.Context(), "ann", f.server.URL)
		revoked <- err
	}()
	close(goOn)
	<-called
	if err := <-revoked; err != nil {
		t.Fatal(err)
	}
	if all, err := open(t, f.dir).List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%d credentials are kept (%v)", len(all), err)
	}
	f.pageOf(t, ann)
}
