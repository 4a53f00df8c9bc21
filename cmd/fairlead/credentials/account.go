package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// An Account is one user at one server. It sends requests to the server with the user's own token, refreshed if need be,
// and to no other host with any. It is safe for concurrent use.
type Account struct {
	keeper       *Keeper
	user         string
	name, server string
	url          *url.URL
	client       Client
	next         http.RoundTripper
	caller       string // whose own token is exchanged
	// obtain gets a token without the user, for what the server answered, or nil before the first request; it is nil if
	// users sign in.
	obtain func(ctx context.Context, challenge *http.Response) (*oauth2.Token, error)

	mu      sync.Mutex
	kept    *Credential   // what seen holds
	seen    []byte        // as it was kept at last
	signing *signIn       // under way; nil for none
	fresh   *refresh      // under way; nil for none
	held    *oauth2.Token // that was obtained
}

// A RequiredError is returned for a request that the server takes from a user alone who has signed in. It was not executed.
type RequiredError struct {
	Server string // its name
	Page   string // that the user has to open

	done <-chan struct{} // closed when the user has signed in, or will not
}

func (e *RequiredError) Error() string {
	return fmt.Sprintf("credentials: the server %q wants you to sign in; open %s and call again", e.Server, e.Page)
}

// NotSent reports that the request was not executed.
func (e *RequiredError) NotSent() bool { return true }

// Permanent reports that the same request would fail again until the user has signed in.
func (e *RequiredError) Permanent() bool { return true }

// SignIn returns the page that the user has to open, why, and what is closed at the end of that.
func (e *RequiredError) SignIn() (page, why string, done <-chan struct{}) {
	return e.Page, fmt.Sprintf("The server %q wants you to sign in.", e.Server), e.done
}

// Turned returns why the request was not executed, and what a model can do: hand on the page, which has no credential in it.
func (e *RequiredError) Turned() (why, next string) {
	return "its server wants the user to sign in first", fmt.Sprintf("Ask the user to open %s and sign in, and then call it again.", e.Page)
}

// ForModel returns the same as a text about the whole call.
func (e *RequiredError) ForModel() string {
	why, next := e.Turned()
	return "It was not called: " + why + ". Nothing has happened. " + next
}

// ours reports whether a request goes to the account's server.
func (a *Account) ours(u *url.URL) bool { return u.Scheme == a.url.Scheme && u.Host == a.url.Host }

// RoundTrip implements [http.RoundTripper]. A request that the server turns away with 401 is sent again with another
// token, once: it was not executed.
func (a *Account) RoundTrip(req *http.Request) (*http.Response, error) {
	if !a.ours(req.URL) {
		return a.next.RoundTrip(req)
	}
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	token, err := a.token(ctx)
	if err != nil {
		return nil, err
	}
	res, err := a.send(req, body, token)
	if err != nil || !wantsToken(res) || req.Method == http.MethodDelete {
		return res, err
	}
	challenge := discard(res)
	if challenge.StatusCode == http.StatusUnauthorized {
		other, err := a.another(ctx, token, challenge)
		if err != nil {
			return nil, err
		}
		if other != nil {
			if res, err = a.send(req, body, other); err != nil || !wantsToken(res) {
				return res, err
			}
			challenge = discard(res)
		}
	}
	if a.obtain != nil {
		return nil, &notSentError{fmt.Errorf("credentials: the server %q turned the token away with HTTP %s; check the registration of %q", a.name, challenge.Status, a.client.ID)}
	}
	if err := a.signedIn(ctx, challenge, body); err != nil {
		return nil, err
	}
	if token, err = a.token(ctx); err != nil {
		return nil, err
	}
	return a.send(req, body, token)
}

// wantsToken reports whether a response turns a request away that another token would let in.
func wantsToken(res *http.Response) bool {
	if res.StatusCode == http.StatusUnauthorized {
		return true
	}
	if res.StatusCode != http.StatusForbidden {
		return false
	}
	all, _ := oauthex.ParseWWWAuthenticate(res.Header["Www-Authenticate"]) // one that cannot be read wants nothing
	for _, c := range all {
		if c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			return true
		}
	}
	return false
}

// CanSignIn reports whether a response, to a request without a token, wants one that a user can get by signing in.
func CanSignIn(res *http.Response) bool {
	if res.StatusCode != http.StatusUnauthorized {
		return false
	}
	all, _ := oauthex.ParseWWWAuthenticate(res.Header["Www-Authenticate"]) // one that cannot be read wants nothing
	return slices.ContainsFunc(all, func(c oauthex.Challenge) bool { return c.Scheme == "bearer" })
}

// discard returns a response without its body, so that its connection can be used again.
func discard(res *http.Response) *http.Response {
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // what is left ends the connection
	_ = res.Body.Close()
	return &http.Response{Status: res.Status, StatusCode: res.StatusCode, Header: res.Header, Body: http.NoBody}
}

// bodyOf returns what makes the body of a request, any number of times.
func bodyOf(req *http.Request) (func() (io.ReadCloser, error), error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return func() (io.ReadCloser, error) { return http.NoBody, nil }, nil
	case req.GetBody != nil:
		_ = req.Body.Close() // it is made anew
		return req.GetBody, nil
	}
	defer func() { _ = req.Body.Close() }() // it was read
	text, err := io.ReadAll(req.Body)
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, err
}

func (a *Account) send(req *http.Request, body func() (io.ReadCloser, error), token *oauth2.Token) (*http.Response, error) {
	own := req.Clone(req.Context())
	own.GetBody = nil // nothing beneath sends it again
	var err error
	if own.Body, err = body(); err != nil {
		return nil, err
	}
	if token != nil {
		token.SetAuthHeader(own)
	}
	return a.next.RoundTrip(own)
}

// token returns the token for a request, nil for none.
func (a *Account) token(ctx context.Context) (*oauth2.Token, error) {
	if a.obtain != nil {
		return a.heldToken(ctx)
	}
	c, err := a.credential(ctx)
	if err != nil || c == nil {
		return nil, err
	}
	if c.Token.Valid() {
		return &c.Token, nil
	}
	return a.refreshed(ctx, c.Token.AccessToken)
}

// credential returns what is kept, nil for nothing. It looks each time, since another process may have changed it.
func (a *Account) credential(ctx context.Context) (*Credential, error) {
	store := a.keeper.o.Store
	sealed, err := store.sealed(ctx, a.user, a.server)
	if err != nil {
		return nil, &notSentError{fmt.Errorf("credentials: what the server %q gave its users cannot be read: %w; call again later", a.name, err)}
	}
	if sealed == nil {
		return nil, nil //nolint:nilnil // there is none, and that is not a failure
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept != nil && bytes.Equal(a.seen, sealed) {
		return a.kept, nil
	}
	c, err := store.open(nameOf(a.user, a.server), sealed)
	if err != nil {
		return nil, &notSentError{err}
	}
	a.kept, a.seen = c, sealed
	return c, nil
}

// another returns a token in the place of one that the server does not take, nil if there is none.
func (a *Account) another(ctx context.Context, used *oauth2.Token, challenge *http.Response) (*oauth2.Token, error) {
	if a.obtain != nil {
		return a.obtained(ctx, used, challenge)
	}
	if used == nil {
		return nil, nil //nolint:nilnil // there was none
	}
	return a.refreshed(ctx, used.AccessToken)
}

// A refresh is under way for all requests that wait for it.
type refresh struct {
	done  chan struct{}
	token *oauth2.Token
	err   error
}

// refreshed returns a token that is not the one that was used, by one refresh for all that wait; nil if the user has to
// sign in.
func (a *Account) refreshed(ctx context.Context, used string) (*oauth2.Token, error) {
	return a.once(ctx, func(ctx context.Context) (*oauth2.Token, error) { return a.renew(ctx, used) })
}

// once has what waits for a token share one request for it. The request does not end with one of them, since the token
// that it was made with may count no more.
func (a *Account) once(ctx context.Context, do func(context.Context) (*oauth2.Token, error)) (*oauth2.Token, error) {
	a.mu.Lock()
	r := a.fresh
	if r == nil {
		r = &refresh{done: make(chan struct{})}
		a.fresh = r
		go func() {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			r.token, r.err = do(within)
			a.mu.Lock()
			a.fresh = nil
			a.mu.Unlock()
			close(r.done)
		}()
	}
	a.mu.Unlock()
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return nil, &notSentError{context.Cause(ctx)}
	}
}

// renew refreshes the credential, unless that has been done since it was used, here or by another process.
func (a *Account) renew(ctx context.Context, used string) (*oauth2.Token, error) {
	store := a.keeper.o.Store
	lock, err := store.lock(ctx, a.user, a.server)
	if err != nil {
		return nil, &notSentError{fmt.Errorf("credentials: %w", err)}
	}
	defer func() { _ = lock.Close() }() // it ends by itself as well
	c, err := store.load(ctx, a.user, a.server)
	switch {
	case err != nil:
		return nil, &notSentError{err}
	case c == nil: // it was revoked
		return nil, nil //nolint:nilnil // the user has to sign in
	case c.Token.AccessToken != used && c.Token.Valid():
		return &c.Token, nil
	case c.Token.RefreshToken == "":
		return nil, nil //nolint:nilnil // the user has to sign in
	}
	cfg := &oauth2.Config{ClientID: c.ClientID, ClientSecret: c.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: c.TokenURL, AuthStyle: c.AuthStyle}}
	expired := &oauth2.Token{RefreshToken: c.Token.RefreshToken}
	token, err := cfg.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, a.keeper.client), expired).Token()
	if err == nil {
		err = isBearer(token)
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && (refused.ErrorCode == "invalid_grant" || refused.ErrorCode == "invalid_client") {
		a.keeper.log.WarnContext(ctx, "credentials: the authorization server no longer takes a credential; its user has to sign in again",
			slog.String("user", a.user), slog.String("server", a.name), slog.String("why", refused.ErrorCode))
		return nil, lock.Remove(ctx)
	}
	if err != nil {
		return nil, &notSentError{fmt.Errorf("credentials: the token for the server %q could not be refreshed: %w; call again later", a.name, harmless(err))}
	}
	c.Token = *token
	if err := store.save(ctx, lock, c); err != nil {
		return nil, &notSentError{fmt.Errorf("credentials: the token for the server %q could not be kept: %w", a.name, err)}
	}
	return token, nil
}

// harmless returns an error of a token endpoint without the body of its answer.
func harmless(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if refused.Response == nil {
			return errors.New("the authorization server refused it")
		}
		return fmt.Errorf("the authorization server answered HTTP %s", refused.Response.Status)
	}
	return err
}

func isBearer(t *oauth2.Token) error {
	if t.Type() != "Bearer" {
		return fmt.Errorf("the authorization server gave a token of the type %.20q, want Bearer", t.Type())
	}
	return nil
}

// A notSentError is the error of a request that was not executed.
type notSentError struct{ err error }

func (e *notSentError) Error() string { return e.err.Error() }
func (e *notSentError) Unwrap() error { return e.err }

// NotSent reports that the request was not executed.
func (e *notSentError) NotSent() bool { return true }

// isCall reports whether the body of a request is that of a call, which does not wait for a person to sign in.
func isCall(body func() (io.ReadCloser, error)) bool {
	r, err := body()
	if err != nil {
		return true
	}
	defer func() { _ = r.Close() }() // it was only read
	var m struct {
		Method string `json:"method"`
	}
	return json.NewDecoder(r).Decode(&m) != nil || m.Method != "initialize" && m.Method != "server/discover" && m.Method != "tools/list"
}
