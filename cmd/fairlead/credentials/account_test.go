package credentials_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials"
	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials/credentialstest"
	"github.com/fairlead-go/fairlead/middleware"
)

// Two users sign in at one server, and none of them is ever the other there. No token is in a file or the log.
func TestTwoUsersNeverMeet(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann, bob := f.signIn(t, "ann"), f.account(t, "bob")
	page := f.pageOf(t, bob)
	check(t, ann, f.server, "ann")
	bob = f.signIn(t, "bob")
	if page == f.page.URL || !strings.HasPrefix(page, f.page.URL+"/credentials/") {
		t.Errorf("the page is %q", page)
	}
	for range 3 {
		var both sync.WaitGroup
		for range 5 {
			both.Go(func() { check(t, ann, f.server, "ann") })
			both.Go(func() { check(t, bob, f.server, "bob") })
		}
		both.Wait()
		f.server.Expire()
	}
	kept := f.log.String()
	files, err := os.ReadDir(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(f.dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v (%v)", file.Name(), info.Mode(), err)
		}
		kept += string(text)
	}
	for _, secret := range append(f.server.Secrets(), "access-", "refresh-") {
		if strings.Contains(kept, secret) {
			t.Errorf("%q is in the log or in a file", secret)
		}
	}
	again := credentials.New(t.Context(), credentials.Options{Store: open(t, f.dir), Base: f.page.URL + "/"})
	other, err := again.Account("bob", "crm", f.server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, other, f.server, "bob") // after a restart, with a token that has to be refreshed
}

// A revocation, here by another process, ends what waits, and is made at the authorization server as well.
func TestRevokedUserIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann, bob := f.signIn(t, "ann"), f.signIn(t, "bob")
	check(t, ann, f.server, "ann")
	other := credentials.New(t.Context(), credentials.Options{Store: open(t, f.dir)})
	if found, err := other.Revoke(t.Context(), "ann", f.server.URL); !found || err != nil {
		t.Fatalf("got %t, %v", found, err)
	}
	f.pageOf(t, ann)
	check(t, bob, f.server, "bob")
	if found, err := other.Revoke(t.Context(), "ann", f.server.URL); found || err != nil {
		t.Errorf("the second time: got %t, %v", found, err)
	}
	if used := f.server.Used(); used[len(used)-2] != "" {
		t.Errorf("after the revocation the server got a token of %q", used[len(used)-2])
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A token goes to the server that it is for, and to no other host, port or scheme.
func TestNoTokenGoesToAnotherHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann := f.signIn(t, "ann")
	var got []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("Authorization")) }))
	defer elsewhere.Close()
	_, _ = send(t.Context(), ann, elsewhere.URL+"/mcp") // it answers nothing
	if len(got) != 1 || got[0] != "" {
		t.Errorf("another host got %q", got)
	}
	at, err := url.Parse(f.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	at.Host = "localhost:" + at.Port()
	_, _ = send(t.Context(), ann, at.String())
	if used := f.server.Used(); used[len(used)-1] != "" {
		t.Errorf("the server by another name got the token of %q", used[len(used)-1])
	}
}

// A callback counts once, in time, with the state of this user, in the browser that has opened the page.
func TestCallbackIsChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann, bob := f.server.Browser(t, "ann", as("ann")), f.server.Browser(t, "bob", as("bob"))
	a := f.account(t, "ann")
	page := f.pageOf(t, a)
	if got := f.pageOf(t, a); got != page {
		t.Errorf("the second call names another page, %q", got)
	}
	address, err := url.Parse(credentialstest.Link(t, ann, page))
	if err != nil {
		t.Fatal(err)
	}
	state := address.Query().Get("state")
	back := func(query string) string { return f.page.URL + "/credentials/callback?" + query }
	for _, c := range []struct {
		name    string
		browser *http.Client
		at      string
		want    int
	}{
		{"B383: the page, by another user", bob, page, http.StatusForbidden},
		{"a page that is not there", ann, page + "x", http.StatusGone},
		{"B380: without a state", ann, back("code=x"), http.StatusGone},
		{"B380: with another state", ann, back("code=x&state=" + state + "x"), http.StatusGone},
		{"B383: of another user", bob, back("code=x&state=" + state), http.StatusForbidden},
		{"B383: in another browser", f.server.Browser(t, "ann", as("ann")), back("code=x&state=" + state), http.StatusForbidden},
		{"the user signs in", ann, address.String(), http.StatusOK},
		{"B381: twice", ann, back("code=x&state=" + state), http.StatusGone},
		{"B382: the page, afterwards", ann, page, http.StatusGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, text := credentialstest.Get(t, c.browser, c.at); status != c.want {
				t.Errorf("got HTTP %d, want %d: %s", status, c.want, text)
			}
		})
	}
	check(t, a, f.server, "ann")
}

// A callback that comes after the time is refused, and what the user gave with it is not used.
func TestLateCallbackIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	k := credentials.New(ctx, credentials.Options{Store: open(t, f.dir), Base: f.page.URL + "/credentials/"})
	page := httptest.NewServer(k.Handler("/credentials/"))
	defer page.Close()
	a, err := k.Account("", "crm", f.server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = send(t.Context(), a, f.server.URL)
	required, ok := errors.AsType[*credentials.RequiredError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	browser := f.server.Browser(t, "ann", nil)
	at := strings.Replace(required.Page, f.page.URL, page.URL, 1)
	address, err := url.Parse(credentialstest.Link(t, browser, at))
	if err != nil {
		t.Fatal(err)
	}
	_, _, over := required.SignIn()
	stop()
	<-over
	t.Run("B382: after the time", func(t *testing.T) {
		status, _ := credentialstest.Get(t, browser, page.URL+"/credentials/callback?code=x&state="+address.Query().Get("state"))
		if status != http.StatusGone {
			t.Errorf("got HTTP %d", status)
		}
	})
	if got := f.server.Count("authorization_code"); got != 0 {
		t.Errorf("%d codes were exchanged", got)
	}
}

// Metadata that is not about this server or its issuer, an answer of another issuer, and a token endpoint that leads
// elsewhere end a sign-in, and nothing is kept.
func TestMetadataThatDoesNotMatch(t *testing.T) {
	t.Parallel()
	var got []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body))
	}))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		change func(*credentialstest.Server)
		begins bool // the user is sent to the issuer
	}{
		"B386: the resource is another":                {func(s *credentialstest.Server) { s.Resource = "https://bank.example/mcp" }, false},
		"B386: the issuer is another":                  {func(s *credentialstest.Server) { s.IssuerName = "https://bank.example" }, false},
		"B386: the token endpoint redirects":           {func(s *credentialstest.Server) { s.Redirect = elsewhere.URL }, true},
		"B386: the metadata redirects to another host": {func(s *credentialstest.Server) { s.Metadata = elsewhere.URL }, false},
		"B386: the authorization server has no TLS":    {func(s *credentialstest.Server) { s.Elsewhere = "http://bank.example" }, false},
		"B386: the page of the issuer is a script":     {func(s *credentialstest.Server) { s.Authorize = "javascript:alert(1)" }, false},
		"B386: the page of the issuer has no TLS":      {func(s *credentialstest.Server) { s.Authorize = "http://bank.example/authorize" }, false},
		"B384: the callback's issuer is another":       {func(s *credentialstest.Server) { s.Iss = "https://bank.example" }, true},
		"B384: the callback has no issuer":             {func(s *credentialstest.Server) { s.Iss = "none" }, true},
		"B385: the user did not agree":                 {func(s *credentialstest.Server) { s.Refuses = "access_denied" }, true},
		"B385: the authorization server has an error":  {func(s *credentialstest.Server) { s.Refuses = "server_error" }, true},
		"B387: the token endpoint answers a page":      {func(s *credentialstest.Server) { s.Rubbish = "<html>access-secret</html>" }, true},
		"B387: the token endpoint answers no token":    {func(s *credentialstest.Server) { s.Rubbish = `{"refresh_token": "access-secret"}` }, true},
		"B387: the token is a number":                  {func(s *credentialstest.Server) { s.Rubbish = `{"access_token": 7, "token_type": "Bearer"}` }, true},
		"B387: the token is of another type":           {func(s *credentialstest.Server) { s.Rubbish = `{"access_token": "access-secret", "token_type": "mac"}` }, true},
		"B387: the answer is two objects": {func(s *credentialstest.Server) {
			s.Rubbish = `{"access_token": "access-secret"}{"access_token": "access-secret"}`
		}, true},
		"B387: the answer is too long": {func(s *credentialstest.Server) {
			s.Rubbish = `{"access_token": "` + strings.Repeat("access-secret", 1<<18) + `"}`
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			c.change(f.server)
			a := f.account(t, "ann")
			_, err := send(t.Context(), a, f.server.URL)
			required, begins := errors.AsType[*credentials.RequiredError](err)
			if err == nil || begins != c.begins || !middleware.NotSent(err) {
				t.Fatalf("got %v", err)
			}
			if begins {
				if status, text := credentialstest.SignIn(t, f.server.Browser(t, "ann", as("ann")), required.Page); status != http.StatusBadGateway || strings.Contains(text, "access-") {
					t.Errorf("got HTTP %d: %s", status, text)
				}
			}
			if all, err := open(t, f.dir).List(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("%d credentials are kept (%v)", len(all), err)
			}
			if len(got) > 0 {
				t.Errorf("another host got %q", got)
			}
			if strings.Contains(f.log.String(), "access-secret") {
				t.Errorf("the log has what the token endpoint answered: %s", f.log)
			}
		})
	}
}

// A user of this machine is waited for by what begins a session, and by no call.
func TestSignInOnThisMachine(t *testing.T) {
	t.Parallel()
	pages := make(chan string, 1)
	f := newFixture(t, func(o *credentials.Options) {
		o.Base, o.User, o.Tell = "", nil, func(_, page string) { pages <- page }
	})
	a := f.account(t, "")
	ended := make(chan error, 1)
	go func() { ended <- a.SignIn(t.Context()) }()
	browser := f.server.Browser(t, "ann", nil)
	page := <-pages
	if status, _ := credentialstest.Get(t, browser, strings.Replace(page, "127.0.0.1", "localhost", 1)); status != http.StatusForbidden {
		t.Errorf("the page by another name: got HTTP %d", status)
	}
	if got := f.pageOf(t, a); got != page {
		t.Errorf("a call names the page %q, want %q", got, page)
	}
	if status, text := credentialstest.SignIn(t, browser, page); status != http.StatusOK {
		t.Fatalf("got HTTP %d: %s", status, text)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	check(t, a, f.server, "ann")
}

// A client's own credentials are got by one request, and again when they count no more.
func TestClientCredentials(t *testing.T) {
	t.Setenv("CRM_SECRET", "secret-of-the-service")
	f := newFixture(t, nil)
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "clients.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for text, want := range map[string]string{
		`{"crm": {"client": "service", "secret": "CRM_SECRET", "grant": "client_credentials"}}`: "issuer",
		`{"crm": {"client": "service", "secret": "NONE", "issuer": "https://x"}}`:               "not set",
		`{"crm": {"grant": "client_credentials"}}`:                                              "needs",
		`{"crm": {"grant": "password"}}`:                                                        "want",
		`{"crm": {"clientId": "service"}}`:                                                      "unknown field",
	} {
		if _, err := credentials.ReadClients(file(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	with := func(issuer string) *credentials.Account {
		all, err := credentials.ReadClients(file(`{"crm": {"client": "service", "secret": "CRM_SECRET", "issuer": "` + issuer + `", "grant": "client_credentials"}}`))
		if err != nil {
			t.Fatal(err)
		}
		k := credentials.New(t.Context(), credentials.Options{Store: open(t, f.dir), Clients: all})
		a, err := k.Account("ann", "crm", f.server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := with(f.server.Issuer)
	for range 2 {
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { check(t, a, f.server, "client service") })
		}
		all.Wait()
		f.server.Expire()
	}
	if got := f.server.Count("client_credentials"); got != 2 {
		t.Errorf("got %d requests for a token, want 2", got)
	}
	if _, err := send(t.Context(), with("https://bank.example"), f.server.URL); err == nil || !middleware.NotSent(err) {
		t.Errorf("with another issuer: got %v", err)
	}
	if got := f.server.Count("client_credentials"); got != 2 {
		t.Error("the secret went to an issuer that it is not for")
	}
}

// A folder or file that another user can read, and a file that was put in the place of another, are refused.
func TestStoreRefusesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ann, bob := f.signIn(t, "ann"), f.signIn(t, "bob")
	names, err := filepath.Glob(filepath.Join(f.dir, "*.credential"))
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[1], text, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, a := range []*credentials.Account{ann, bob} {
		if _, err := send(t.Context(), a, f.server.URL); err == nil {
			taken++
		} else if !middleware.NotSent(err) || !strings.Contains(err.Error(), "has been changed") {
			t.Errorf("got %v", err)
		}
	}
	if taken != 1 {
		t.Errorf("%d of the two files are taken, want 1", taken)
	}
	if err := os.Chmod(names[0], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, f.dir).List(t.Context()); err == nil || !strings.Contains(err.Error(), "chmod go-rwx") {
		t.Errorf("a file of mode 0644: got %v", err)
	}
	if err := os.Chmod(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := credentials.OpenStore(f.dir); err == nil || !strings.Contains(err.Error(), "chmod go-rwx") {
		t.Errorf("a folder of mode 0755: got %v", err)
	}
	if err := os.Chmod(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := credentials.OpenStore(f.dir, bytes.Repeat([]byte{1}, 32)); err != nil {
		t.Fatal(err)
	} else if all, err := s.List(t.Context()); err == nil || len(all) > 0 {
		t.Errorf("another key opens %d credentials (%v)", len(all), err)
	}
}
