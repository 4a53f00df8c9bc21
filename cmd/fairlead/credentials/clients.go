package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/tailscale/hujson"
	"golang.org/x/oauth2"
)

// The grants of a [Client].
const (
	grantCode       = "authorization_code" // each user signs in; the default
	grantClient     = "client_credentials" // the proxy itself is the user of the server, for all
	grantExchange   = "token_exchange"     // the user's own token is exchanged for one of the server
	grantEnterprise = "enterprise"         // likewise, by an assertion of the company's identity provider
)

// A Registration is a client at an authorization server.
type Registration struct {
	// ID is the client's ID, or the https URL of its metadata document; "" registers dynamically.
	ID string `json:"client"`
	// Secret names the variable of the environment with the client's secret; "" is a public client.
	Secret string `json:"secret"`
	// Issuer is the only authorization server that the ID and the secret are for. It is required with a secret.
	Issuer string `json:"issuer"`

	secret string
}

// A Client is what the authorization server of a server has registered for this program.
type Client struct {
	Registration

	// Grant is "authorization_code", so that each user signs in; "client_credentials", so that all users have the client's
	// own token; or "token_exchange" or "enterprise", so that the token by which a user reached the proxy is exchanged for
	// one of the server (RFC 8693), directly or by an assertion of IDP (ID-JAG). "" is the first.
	Grant string `json:"grant"`
	// Scopes are asked for beside those that the server names.
	Scopes []string `json:"scopes"`
	// Audience is what the server is called where tokens are exchanged; "" is its URL.
	Audience string `json:"audience"`
	// IDP is the client at the company's identity provider, of "enterprise" alone.
	IDP *Registration `json:"idp"`
}

// ReadClients reads a file with the clients of servers, by the servers' names.
func ReadClients(name string) (map[string]Client, error) {
	if err := owned.File(name); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	standard, err := hujson.Standardize(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d := json.NewDecoder(bytes.NewReader(standard))
	d.DisallowUnknownFields()
	var all map[string]Client
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for server, c := range all {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("%s: the server %q: %w", name, server, err)
		}
		all[server] = c
	}
	return all, nil
}

func (c *Client) check() error {
	for _, r := range []*Registration{&c.Registration, c.IDP} {
		if r != nil {
			if err := r.read(); err != nil {
				return err
			}
		}
	}
	switch {
	case c.Grant != "" && c.Grant != grantCode && c.Grant != grantClient && !c.exchanges():
		return fmt.Errorf(`"grant": want %q, %q, %q or %q, got %q`, grantCode, grantClient, grantExchange, grantEnterprise, c.Grant)
	case c.Grant == grantClient && c.Secret == "":
		return fmt.Errorf(`"grant": %q needs a "client" and a "secret"`, grantClient)
	case c.exchanges() && (c.ID == "" || c.Issuer == "" || c.document()):
		return fmt.Errorf(`"grant": %q needs a registered "client" and its "issuer", so that no other one gets the users' tokens`, c.Grant)
	case (c.Grant == grantEnterprise) != (c.IDP != nil):
		return fmt.Errorf(`"idp" and "grant": %q need each other`, grantEnterprise)
	case c.IDP != nil && (c.IDP.ID == "" || c.IDP.Issuer == ""):
		return errors.New(`"idp" needs a "client" and an "issuer", so that no other one gets the users' tokens`)
	case c.Audience != "" && c.Grant != grantExchange:
		return fmt.Errorf(`"audience" is for "grant": %q`, grantExchange)
	}
	return nil
}

func (r *Registration) read() error {
	if r.Secret == "" {
		return nil
	}
	switch r.secret = os.Getenv(r.Secret); {
	case r.secret == "":
		return fmt.Errorf("the variable %q, which has the client's secret, is not set", r.Secret)
	case r.ID == "" || r.Issuer == "":
		return errors.New(`a "secret" needs a "client" and an "issuer", so that no other authorization server gets it`)
	case r.document():
		return errors.New(`a client whose ID is a document has no "secret"`)
	}
	return nil
}

// exchanges reports whether the users' own tokens are exchanged, so that none of them signs in.
func (c Client) exchanges() bool { return c.Grant == grantExchange || c.Grant == grantEnterprise }

// document reports whether the ID is the URL of a metadata document.
func (r Registration) document() bool {
	u, err := url.Parse(r.ID)
	return err == nil && u.Scheme == "https" && strings.Trim(u.Path, "/") != ""
}

func (r Registration) registered() *oauthex.ClientCredentials {
	if r.ID == "" || r.document() {
		return nil
	}
	c := &oauthex.ClientCredentials{ClientID: r.ID, Issuer: r.Issuer}
	if r.secret != "" {
		c.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: r.secret}
	}
	return c
}

// config returns the settings of the SDK's handler for users who sign in.
func (c Client) config(redirect string, client *http.Client) *auth.AuthorizationCodeHandlerConfig {
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, Client: client, RequestRefreshToken: true, AcceptUnadvertisedIss: true, PreregisteredClient: c.registered(),
	}
	if c.document() {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: c.ID}
	}
	if config.PreregisteredClient == nil {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: registration(redirect)}
	}
	return config
}

// service returns what gets the client's own token, by the SDK's handler.
func (a *Account) service() (func(context.Context, *http.Response) (*oauth2.Token, error), error) {
	handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: a.client.registered(), HTTPClient: a.keeper.client})
	return func(ctx context.Context, challenge *http.Response) (*oauth2.Token, error) {
		return authorized(ctx, handler, a.server, challenge)
	}, err
}

// heldToken returns the token that was got without the user, nil before there is one that counts. One that is exchanged
// is got at once; a client's own when the server asks for it, since its metadata names the scopes.
func (a *Account) heldToken(ctx context.Context) (*oauth2.Token, error) {
	a.mu.Lock()
	held := a.held
	a.mu.Unlock()
	if held.Valid() {
		return held, nil
	}
	if a.client.exchanges() {
		return a.obtained(ctx, nil, nil)
	}
	return nil, nil //nolint:nilnil // the server asks for one
}

// obtained gets another token than the one that was used, by one request for all that wait.
func (a *Account) obtained(ctx context.Context, used *oauth2.Token, challenge *http.Response) (*oauth2.Token, error) {
	return a.once(ctx, func(ctx context.Context) (*oauth2.Token, error) {
		a.mu.Lock()
		held := a.held
		a.mu.Unlock()
		if held.Valid() && (used == nil || held.AccessToken != used.AccessToken) {
			return held, nil
		}
		token, err := a.obtain(ctx, challenge)
		if err == nil {
			err = isBearer(token)
		}
		if err != nil {
			return nil, &notSentError{fmt.Errorf("credentials: no token for the server %q: %w", a.name, harmless(err))}
		}
		a.mu.Lock()
		a.held = token
		a.mu.Unlock()
		return token, nil
	})
}
