package credentials

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// A signIn is one user who signs in at one server. The SDK's handler finds the authorization server, registers there,
// makes the state and the proof key, and exchanges the code; the user is sent there by a page of ours, which only that
// user's browser gets past.
type signIn struct {
	account *Account
	ticket  string // opens its page
	browser string // what the browser that has opened the page sends back with the callback

	ready  chan struct{} // closed when the address is known
	done   chan struct{} // closed at its end
	err    error         // after done
	answer chan *auth.AuthorizationResult

	address string // where the user signs in; after ready
	state   string // likewise
}

// begin returns the sign-in that is under way, or begins one, and returns when its page can be opened.
func (a *Account) begin(ctx context.Context, challenge *http.Response) (*signIn, error) {
	base, err := a.keeper.base()
	if err != nil {
		return nil, &notSentError{fmt.Errorf("credentials: the page to sign in cannot be opened: %w", err)}
	}
	a.mu.Lock()
	s := a.signing
	if s == nil {
		s = &signIn{account: a, ticket: rand.Text(), browser: rand.Text(), ready: make(chan struct{}), done: make(chan struct{}), answer: make(chan *auth.AuthorizationResult, 1)}
		a.signing = s
		go s.run(base, challenge) //nolint:contextcheck // it outlives the request that began it
	}
	a.mu.Unlock()
	select {
	case <-s.ready:
		return s, nil
	case <-s.done:
		return nil, &notSentError{s.err}
	case <-ctx.Done():
		return nil, &notSentError{context.Cause(ctx)}
	}
}

// signedIn returns nil when the user has signed in. A call does not wait for that, and nothing does for a user who is
// elsewhere.
func (a *Account) signedIn(ctx context.Context, challenge *http.Response, body func() (io.ReadCloser, error)) error {
	s, err := a.begin(ctx, challenge)
	if err != nil {
		return err
	}
	if a.keeper.o.Base != "" || isCall(body) {
		return &RequiredError{Server: a.name, Page: s.page(), done: s.done}
	}
	return s.wait(ctx)
}

// wait returns when the user has signed in.
func (s *signIn) wait(ctx context.Context) error {
	select {
	case <-s.done:
		if s.err != nil {
			return &notSentError{s.err}
		}
		return nil
	case <-ctx.Done():
		return &notSentError{context.Cause(ctx)}
	}
}

// page returns the page that the user opens.
func (s *signIn) page() string {
	base, _ := s.account.keeper.base() // it is open
	return base + s.ticket
}

// run has the SDK's handler sign the user in.
func (s *signIn) run(base string, challenge *http.Response) {
	a, k := s.account, s.account.keeper
	ctx, cancel := context.WithTimeoutCause(k.ctx, signInTime, fmt.Errorf("nobody has signed in within %v", signInTime))
	defer cancel()
	err := s.authorize(ctx, base, challenge)
	k.mu.Lock()
	delete(k.tickets, s.ticket)
	delete(k.states, s.state)
	k.mu.Unlock()
	a.mu.Lock()
	a.signing = nil
	a.mu.Unlock()
	if err != nil {
		s.err = fmt.Errorf("credentials: signing in at the server %q failed: %w", a.name, harmless(err))
		k.log.Warn("credentials: a sign-in failed", slog.String("user", a.user), slog.String("server", a.name), slog.Any("err", s.err))
	} else {
		k.log.Info("credentials: signed in", slog.String("user", a.user), slog.String("server", a.name))
	}
	close(s.done)
}

func (s *signIn) authorize(ctx context.Context, base string, challenge *http.Response) error {
	a := s.account
	before, err := a.credential(ctx)
	if err != nil {
		return err
	}
	config := a.client.config(base+callback, a.keeper.client)
	config.AuthorizationCodeFetcher = s.fetch
	config.ScopeFilter = func(found []string) []string { // what was given before is kept
		found = slices.Concat(found, a.client.Scopes)
		if before != nil {
			found = slices.Concat(found, before.Scopes)
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	config.NewTokenSource = func(_ context.Context, used *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
		return oauth2.StaticTokenSource(token), s.keep(ctx, used, token)
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server, http.NoBody)
	if err != nil {
		return err
	}
	return handler.Authorize(ctx, req, challenge)
}

// keep keeps what the user was given.
func (s *signIn) keep(ctx context.Context, used *oauth2.Config, token *oauth2.Token) error {
	if err := isBearer(token); err != nil {
		return err
	}
	a := s.account
	c := &Credential{
		User: a.user, Server: a.server, Since: time.Now(), ClientID: used.ClientID, ClientSecret: used.ClientSecret,
		Issuer: a.client.Issuer, TokenURL: used.Endpoint.TokenURL, AuthStyle: used.Endpoint.AuthStyle, Scopes: used.Scopes, Token: *token,
	}
	if given, ok := token.Extra("scope").(string); ok {
		c.Scopes = strings.Fields(given)
	}
	lock, err := a.keeper.o.Store.lock(ctx, a.user, a.server)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // it ends by itself as well
	return a.keeper.o.Store.save(ctx, lock, c)
}

// fetch sends the user to the authorization server, and waits for the callback.
func (s *signIn) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(args.URL)
	if err != nil {
		return nil, err
	}
	k := s.account.keeper
	s.address, s.state = args.URL, u.Query().Get("state")
	k.mu.Lock()
	k.tickets[s.ticket], k.states[s.state] = s, s
	k.mu.Unlock()
	close(s.ready)
	if k.o.Tell != nil {
		k.o.Tell(s.account.name, s.page())
	}
	select {
	case answer := <-s.answer:
		if answer.Code == "" {
			return nil, errors.New("the authorization server did not agree, or the user did not")
		}
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// take ends the wait for a callback, once, if it is of this user and of the browser that has opened the page.
func (k *Keeper) take(state, user string, r *http.Request) (*signIn, int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.states[state]
	if state == "" || s == nil {
		return nil, http.StatusGone, errors.New("this sign-in has ended, or never began; call the tool again, and open the new page")
	}
	if s.account.user != user {
		return nil, http.StatusForbidden, errors.New("this sign-in is another user's")
	}
	cookie, err := r.Cookie(s.cookie())
	if err != nil || subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(s.browser)) != 1 {
		return nil, http.StatusForbidden, errors.New("this sign-in began in another browser; open its page in this one")
	}
	delete(k.states, state)
	return s, 0, nil
}

// cookie returns the name of the cookie that marks the browser.
func (s *signIn) cookie() string { return "fairlead-sign-in-" + s.ticket[:8] }

// issuer returns the host where the user signs in.
func (s *signIn) issuer() string {
	u, err := url.Parse(s.address)
	if err != nil {
		return ""
	}
	return u.Host
}

// challenge asks the server what it wants of a client without a token.
func (a *Account) challenge(ctx context.Context) (*http.Response, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fairlead","version":"1"}}}`
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server, strings.NewReader(hello))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := a.next.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("credentials: the server %q cannot be reached: %w", a.name, err)
	}
	challenge := discard(res)
	if !wantsToken(challenge) {
		return nil, fmt.Errorf("credentials: the server %q wants nobody to sign in: it answered HTTP %s", a.name, challenge.Status)
	}
	return challenge, nil
}

// registration describes this program to an authorization server.
func registration(redirect string) *oauthex.ClientRegistrationMetadata {
	return &oauthex.ClientRegistrationMetadata{
		ClientName: "Fairlead", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
}

// post sends a form.
func post(ctx context.Context, client *http.Client, to string, form url.Values) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return cmp.Or(client, http.DefaultClient).Do(req)
}
