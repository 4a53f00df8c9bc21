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
	grantCode   = "authorization_code" // each user signs in; the default
	grantClient = "client_credentials" // the proxy itself is the user of the server, for all
)

// A Client is what the authorization server of a server has registered for this program.
type Client struct {
	// ID is the client's ID, or the https URL of its metadata document; "" registers dynamically.
	ID string `json:"client"`
	// Secret names the variable of the environment with the client's secret; "" is a public client.
	Secret string `json:"secret"`
	// Issuer is the only authorization server that the ID and the secret are for. It is required with a secret.
	Issuer string `json:"issuer"`
	// Grant is "authorization_code", so that each user signs in, or "client_credentials", so that all users have the
	// client's own token; "" is the first.
	Grant string `json:"grant"`
	// Scopes are asked for beside those that the server names.
	Scopes []string `json:"scopes"`

	secret string
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
	if c.Secret != "" {
		if c.secret = os.Getenv(c.Secret); c.secret == "" {
			return fmt.Errorf("the variable %q, which has the client's secret, is not set", c.Secret)
		}
	}
	switch {
	case c.Grant != "" && c.Grant != grantCode && c.Grant != grantClient:
		return fmt.Errorf(`"grant": want %q or %q, got %q`, grantCode, grantClient, c.Grant)
	case c.Secret != "" && (c.ID == "" || c.Issuer == ""):
		return errors.New(`a "secret" needs a "client" and an "issuer", so that no other authorization server gets it`)
	case c.Grant == grantClient && c.Secret == "":
		return fmt.Errorf(`"grant": %q needs a "client" and a "secret"`, grantClient)
	case c.document() && c.Secret != "":
		return errors.New(`a client whose ID is a document has no "secret"`)
	}
	return nil
}

// document reports whether the ID is the URL of a metadata document.
func (c Client) document() bool {
	u, err := url.Parse(c.ID)
	return err == nil && u.Scheme == "https" && strings.Trim(u.Path, "/") != ""
}

func (c Client) registered() *oauthex.ClientCredentials {
	if c.ID == "" || c.document() {
		return nil
	}
	r := &oauthex.ClientCredentials{ClientID: c.ID, Issuer: c.Issuer}
	if c.secret != "" {
		r.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: c.secret}
	}
	return r
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

// service returns the SDK's handler for a client that is the user itself.
func (c Client) service(client *http.Client) (auth.OAuthHandler, error) {
	return extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: c.registered(), HTTPClient: client})
}

// serviceToken returns the client's own token, nil before there is one.
func (a *Account) serviceToken() (*oauth2.Token, error) {
	a.mu.Lock()
	held := a.held
	a.mu.Unlock()
	if held == nil || held.Valid() {
		return held, nil
	}
	return nil, nil //nolint:nilnil // the server asks for another one
}

// serviceRefreshed gets the client another token than the one that was used, by one request for all that wait.
func (a *Account) serviceRefreshed(ctx context.Context, used *oauth2.Token, challenge *http.Response) (*oauth2.Token, error) {
	return a.once(ctx, func(ctx context.Context) (*oauth2.Token, error) {
		a.mu.Lock()
		held := a.held
		a.mu.Unlock()
		if held != nil && held.Valid() && (used == nil || held.AccessToken != used.AccessToken) {
			return held, nil
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server, http.NoBody)
		if err != nil {
			return nil, err
		}
		var token *oauth2.Token
		if err = a.service.Authorize(ctx, req, challenge); err == nil {
			var source oauth2.TokenSource
			if source, err = a.service.TokenSource(ctx); err == nil {
				token, err = source.Token()
			}
		}
		if err == nil {
			err = isBearer(token)
		}
		if err != nil {
			return nil, &notSentError{fmt.Errorf("credentials: the client of the server %q got no token: %w", a.name, harmless(err))}
		}
		a.mu.Lock()
		a.held = token
		a.mu.Unlock()
		return token, nil
	})
}
