package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// The types of tokens of RFC 8693 for which the SDK has no constant.
const (
	typeAccessToken = "urn:ietf:params:oauth:token-type:access_token" //nolint:gosec // the name of a type
	typeJWT         = "urn:ietf:params:oauth:token-type:jwt"          //nolint:gosec // likewise
)

// A subject is a caller's token at the proxy, to be exchanged for tokens of servers.
type subject struct {
	token string
	until time.Time
}

// sweepEvery is how often subjects that have expired are dropped.
const sweepEvery = time.Minute

// Bring keeps the verified token of a caller until it expires, for the servers where it is exchanged for another one. It
// is kept in memory only. Of two tokens of a caller the one that expires later is used.
func (k *Keeper) Bring(caller, token string, until time.Time) {
	if !k.exchanges {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if now.Sub(k.swept) > sweepEvery {
		k.swept = now
		k.sweep(now)
	}
	if s, ok := k.subjects[caller]; !ok || s.until.Before(until) {
		k.subjects[caller] = subject{token, until}
	}
}

// sweep drops the subjects that have expired, with what was got for them. A session that goes on keeps its account.
func (k *Keeper) sweep(now time.Time) {
	for caller, s := range k.subjects {
		if now.After(s.until) {
			delete(k.subjects, caller)
		}
	}
	for at, a := range k.accounts {
		if _, here := k.subjects[a.caller]; a.client.exchanges() && !here {
			delete(k.accounts, at)
		}
	}
}

func (k *Keeper) subject(caller string) (subject, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.subjects[caller]
	if !time.Now().Before(s.until) {
		return s, errors.New("the user's own token has expired; call again with a new one")
	}
	return s, nil
}

// Exchanges reports whether callers' own tokens are exchanged for those of a server.
func (k *Keeper) Exchanges(name string) bool { return k.o.Clients[name].exchanges() }

// ExchangeAccount returns the account of a caller at a server for which the caller's own token, see [Keeper.Bring], is
// exchanged. Callers with the same user, but tokens of different rights, have to have different names.
func (k *Keeper) ExchangeAccount(caller, user, name, server string, next http.RoundTripper) (*Account, error) {
	if !k.Exchanges(name) {
		return nil, fmt.Errorf("credentials: no token is exchanged for the server %q", name)
	}
	return k.account(caller, user, name, server, next)
}

// exchanged exchanges the caller's own token for one of the server. It counts no longer than the one that it is for.
func (a *Account) exchanged(ctx context.Context, challenge *http.Response) (*oauth2.Token, error) {
	from, err := a.keeper.subject(a.caller)
	if err != nil {
		return nil, err
	}
	var token *oauth2.Token
	if a.client.Grant == grantEnterprise {
		token, err = a.byAssertion(ctx, from, challenge)
	} else {
		token, err = a.byExchange(ctx, from)
	}
	if err != nil {
		return nil, err
	}
	own := *token
	if own.Expiry.IsZero() || own.Expiry.After(from.until) {
		own.Expiry = from.until
	}
	return &own, nil
}

// byExchange has the authorization server of the server exchange the token (RFC 8693).
func (a *Account) byExchange(ctx context.Context, from subject) (*oauth2.Token, error) {
	c, client := a.client, a.keeper.client
	meta, err := auth.GetAuthServerMetadata(ctx, c.Issuer, client)
	if err != nil {
		return nil, err
	}
	if meta == nil || meta.TokenEndpoint == "" {
		return nil, fmt.Errorf("%s names no token endpoint in its metadata", c.Issuer)
	}
	token, err := oauthex.ExchangeToken(ctx, meta.TokenEndpoint, &oauthex.TokenExchangeRequest{
		RequestedTokenType: typeAccessToken, Audience: cmp.Or(c.Audience, a.server), Resource: a.server, Scope: c.Scopes,
		SubjectToken: from.token, SubjectTokenType: typeAccessToken,
	}, c.registered(), client)
	if err != nil {
		return nil, err
	}
	if issued := token.Extra("issued_token_type"); issued != typeAccessToken && issued != typeJWT {
		return nil, errors.New("the authorization server issued a token of another type, want an access token")
	}
	return token, nil
}

// byAssertion has the company's identity provider exchange the token for an assertion (ID-JAG), and the authorization
// server of the server take that for an access token, by the SDK's handler.
func (a *Account) byAssertion(ctx context.Context, from subject, challenge *http.Response) (*oauth2.Token, error) {
	c := a.client
	handler, err := extauth.NewEnterpriseHandler(&extauth.EnterpriseHandlerConfig{
		IdPIssuerURL: c.IDP.Issuer, IdPCredentials: c.IDP.registered(), MCPAuthServerURL: c.Issuer, MCPResourceURI: a.server,
		MCPCredentials: c.registered(), MCPScopes: c.Scopes, HTTPClient: a.keeper.client,
		IDTokenFetcher: func(context.Context) (*oauth2.Token, error) {
			return new(oauth2.Token).WithExtra(map[string]any{"id_token": from.token}), nil
		},
	})
	if err != nil {
		return nil, err
	}
	if challenge == nil {
		challenge = &http.Response{Body: http.NoBody}
	}
	return authorized(ctx, handler, a.server, challenge)
}

// authorized returns the token that a handler of the SDK gets.
func authorized(ctx context.Context, handler auth.OAuthHandler, server string, challenge *http.Response) (*oauth2.Token, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, http.NoBody)
	if err != nil {
		return nil, err
	}
	if err := handler.Authorize(ctx, req, challenge); err != nil {
		return nil, err
	}
	source, err := handler.TokenSource(ctx)
	if err != nil {
		return nil, err
	}
	return source.Token()
}
