package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// Options are the settings of [New].
type Options struct {
	// Store keeps what users were given. It is required.
	Store *Store
	// Clients are what a server's authorization server has registered, by the server's name; a server without is signed
	// in to by dynamic registration.
	Clients map[string]Client
	// Base is the URL below which browsers reach [Keeper.Handler], such as "https://fairlead.example/credentials/". It
	// means that users are elsewhere, so that nothing waits for them. "" is a page of its own on this machine.
	Base string
	// User returns who sent a request to the page; nil means that there is one user, "".
	User func(*http.Request) string
	// Tell is called with the page that a user has to open to sign in at a server; nil tells nobody.
	Tell func(server, page string)
	// Transport sends the requests to authorization servers; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Logger gets what happens to credentials, never one of them; nil is silent.
	Logger *slog.Logger
}

// A Keeper has the credentials of users at servers. It is safe for concurrent use.
type Keeper struct {
	o      Options
	log    *slog.Logger
	client *http.Client
	ctx    context.Context // of sign-ins, and of the page on this machine
	page   page

	mu       sync.Mutex
	accounts map[[3]string]*Account // by caller, user, and server's name and URL
	tickets  map[string]*signIn     // under way, by what opens their pages
	states   map[string]*signIn     // those whose callback has not come, by their states

	exchanges bool               // a server's tokens are got for those of users
	subjects  map[string]subject // these, by callers
	swept     time.Time
}

// New returns a keeper. Sign-ins that are under way, and the page on this machine, end with ctx.
func New(ctx context.Context, o Options) *Keeper {
	if o.Store == nil {
		panic("credentials: Options.Store is nil")
	}
	k := &Keeper{
		o: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), client: newClient(cmp.Or(o.Transport, http.DefaultTransport)), ctx: ctx,
		accounts: make(map[[3]string]*Account), tickets: make(map[string]*signIn), states: make(map[string]*signIn),
		subjects: make(map[string]subject),
	}
	for _, c := range o.Clients {
		k.exchanges = k.exchanges || c.exchanges()
	}
	return k
}

// Account returns the account of a user at a server. Its requests go through next, nil for http.DefaultTransport.
func (k *Keeper) Account(user, name, server string, next http.RoundTripper) (*Account, error) {
	if k.Exchanges(name) {
		return nil, fmt.Errorf("credentials: the server %q wants no user to sign in: the tokens by which users reach the proxy are exchanged", name)
	}
	return k.account("", user, name, server, next)
}

func (k *Keeper) account(caller, user, name, server string, next http.RoundTripper) (*Account, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("credentials: the server %q: %w", name, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	at := [3]string{caller, user, name + " " + server}
	if a := k.accounts[at]; a != nil {
		return a, nil
	}
	a := &Account{keeper: k, caller: caller, user: user, name: name, url: u, server: server, client: k.o.Clients[name], next: cmp.Or(next, http.DefaultTransport)}
	switch {
	case a.client.Grant == grantClient:
		if a.obtain, err = a.service(); err != nil { //nolint:bodyclose // it has none
			return nil, fmt.Errorf("credentials: the server %q: %w", name, err)
		}
	case a.client.exchanges():
		a.obtain = a.exchanged
	}
	k.accounts[at] = a
	return a, nil
}

// SignIn signs a user in at a server, and returns when that has been done. It is for a user who is waiting for it.
func (a *Account) SignIn(ctx context.Context) error {
	if a.obtain != nil {
		return errors.New("credentials: the server has a client's credentials, and nobody signs in")
	}
	challenge, err := a.challenge(ctx) //nolint:bodyclose // it has none
	if err != nil {
		return err
	}
	s, err := a.begin(ctx, challenge)
	if err != nil {
		return err
	}
	return s.wait(ctx)
}

// Revoke removes the credential of a user at a server, and revokes its tokens at the authorization server if that has
// a place for it. Calls that wait in this process or another are refused from then on. The error may be that the authorization
// server could not be told: the credential is removed all the same.
func (k *Keeper) Revoke(ctx context.Context, user, server string) (found bool, err error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if sealed, err := k.o.Store.sealed(within, user, server); err != nil || sealed == nil {
		return false, err
	}
	lock, err := k.o.Store.lock(within, user, server) // not between a refresh and its being kept
	if err != nil {
		return false, fmt.Errorf("credentials: %w", err)
	}
	c, err := k.o.Store.load(within, user, server)
	removed := lock.Remove(within)
	_ = lock.Close() // it ends by itself as well
	if removed != nil || c == nil {
		return false, errors.Join(err, removed)
	}
	k.log.InfoContext(ctx, "credentials: revoked", slog.String("user", user), slog.String("server", server))
	return true, k.tell(within, c)
}

// tell revokes the tokens of a credential at the authorization server (RFC 7009), if it is on the host that gave them.
func (k *Keeper) tell(ctx context.Context, c *Credential) error {
	gave, err := url.Parse(c.TokenURL)
	if err != nil {
		return fmt.Errorf("credentials: removed here, but not revoked where it is from: %w", err)
	}
	issuer := cmp.Or(c.Issuer, gave.Scheme+"://"+gave.Host)
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, k.client)
	switch {
	case err != nil:
		return fmt.Errorf("credentials: removed here, but %s could not be told: %w", issuer, err)
	case meta == nil || meta.RevocationEndpoint == "":
		return fmt.Errorf("credentials: removed here, but %s has no place to revoke it; its tokens count until they expire", issuer)
	}
	if at, err := url.Parse(meta.RevocationEndpoint); err != nil || at.Host != gave.Host || at.Scheme != gave.Scheme {
		return fmt.Errorf("credentials: removed here, but not revoked where it is from: %s names another host for that", issuer)
	}
	form := url.Values{"client_id": {c.ClientID}, "token": {cmp.Or(c.Token.RefreshToken, c.Token.AccessToken)}}
	if c.ClientSecret != "" {
		form.Set("client_secret", c.ClientSecret)
	}
	res, err := post(ctx, k.client, meta.RevocationEndpoint, form)
	if err != nil {
		return fmt.Errorf("credentials: removed here, but %s could not be told: %w", issuer, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("credentials: removed here, but %s answered HTTP %s to its revocation", issuer, res.Status)
	}
	return nil
}

// signInTime is how long a user may take to sign in.
const signInTime = 10 * time.Minute
