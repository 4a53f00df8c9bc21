package credentials_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials"
	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials/credentialstest"
	"github.com/fairlead-go/fairlead/middleware"
)

// A fixture is a keeper over a folder of its own, for users who are elsewhere.
type fixture struct {
	*credentials.Keeper

	server *credentialstest.Server
	dir    string
	log    *syncBuffer
	page   *httptest.Server
}

type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// userHeader has the user of a request to the page, in the place of an access.
const userHeader = "X-User"

type as string

func (user as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(userHeader, string(user))
	return http.DefaultTransport.RoundTrip(r)
}

func newFixture(t *testing.T, change func(*credentials.Options)) *fixture {
	t.Helper()
	f := &fixture{server: credentialstest.New(t, false), dir: filepath.Join(t.TempDir(), "kept"), log: new(syncBuffer)}
	m := http.NewServeMux()
	f.page = httptest.NewServer(m)
	t.Cleanup(f.page.Close)
	o := credentials.Options{
		Store: open(t, f.dir), Base: f.page.URL + "/credentials/", User: func(r *http.Request) string { return r.Header.Get(userHeader) },
		Logger: slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&o)
	}
	f.Keeper = credentials.New(t.Context(), o)
	m.Handle("/credentials/", f.Handler("/credentials/"))
	return f
}

func open(t *testing.T, dir string) *credentials.Store {
	t.Helper()
	s, err := credentials.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (f *fixture) account(t *testing.T, user string) *credentials.Account {
	t.Helper()
	a, err := f.Account(user, "crm", f.server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_user","arguments":{}}}`

// send sends a call and returns the user whom the server took its token for.
func send(ctx context.Context, through http.RoundTripper, to string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(call))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := through.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return "", errors.Join(err, errors.New(res.Status+" "+string(body)))
	}
	_, after, _ := strings.Cut(string(body), `"text":"`)
	user, _, _ := strings.Cut(after, `"`)
	return user, nil
}

// page returns the page that a call without a credential names.
func (f *fixture) pageOf(t *testing.T, a *credentials.Account) string {
	t.Helper()
	_, err := send(t.Context(), a, f.server.URL)
	required, ok := errors.AsType[*credentials.RequiredError](err)
	if !ok || !middleware.NotSent(err) || !middleware.Permanent(err) || !strings.Contains(err.Error(), required.Page) {
		t.Fatalf("a call without a credential: got %v", err)
	}
	return required.Page
}

// signIn signs a user in.
func (f *fixture) signIn(t *testing.T, user string) *credentials.Account {
	t.Helper()
	a := f.account(t, user)
	if status, text := credentialstest.SignIn(t, f.server.Browser(t, user, as(user)), f.pageOf(t, a)); status != http.StatusOK {
		t.Fatalf("HTTP %d: %s", status, text)
	}
	return a
}

func check(t *testing.T, a *credentials.Account, server *credentialstest.Server, want string) {
	t.Helper()
	if got, err := send(t.Context(), a, server.URL); err != nil || got != want {
		t.Errorf("the server got the call of %q (%v), want that of %q", got, err, want)
	}
}
