package credentials_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials"
	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials/credentialstest"
	"github.com/fairlead-go/fairlead/middleware"
)

// clientsOf reads a file with a client for a server.
func clientsOf(t *testing.T, text string) (map[string]credentials.Client, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "clients.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return credentials.ReadClients(name)
}

// exchangeGrants are clients that exchange the tokens of users, with the places of the issuers.
var exchangeGrants = map[string]string{
	"token exchange": `{"crm": {"client": "service", "secret": "CRM_SECRET", "issuer": %[1]q, "grant": "token_exchange"}}`,
	"enterprise": `{"crm": {"client": "service", "secret": "CRM_SECRET", "issuer": %[1]q, "grant": "enterprise",
		"idp": {"client": "idp-client", "secret": "IDP_SECRET", "issuer": %[2]q}}}`,
}

// An exchanger is a fixture in front of a server where the tokens of users are exchanged.
type exchanger struct {
	*fixture

	t *testing.T
}

func newExchanger(t *testing.T, format string) *exchanger {
	t.Helper()
	t.Setenv("CRM_SECRET", "secret-of-the-service")
	t.Setenv("IDP_SECRET", "secret-at-the-idp")
	server := credentialstest.New(t, false)
	text := strings.ReplaceAll(strings.ReplaceAll(format, "%[1]q", fmt.Sprintf("%q", server.Issuer)), "%[2]q", fmt.Sprintf("%q", server.IDP))
	f := newFixture(t, func(o *credentials.Options) {
		var err error
		if o.Clients, err = clientsOf(t, text); err != nil {
			t.Fatal(err)
		}
	})
	f.server = server
	return &exchanger{f, t}
}

// brings has a user reach the proxy with a token that counts for a while, and returns it.
func (e *exchanger) brings(user string, lasts time.Duration) string {
	token := "subject-" + rand.Text()
	e.server.Enter(token, user)
	e.Bring("caller "+user, token, time.Now().Add(lasts))
	return token
}

func (e *exchanger) account(user string) *credentials.Account {
	e.t.Helper()
	a, err := e.ExchangeAccount("caller "+user, user, "crm", e.server.URL, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	return a
}

// Two users whose tokens are exchanged are never each other at the server, one exchange serves all calls that wait, and no
// token of anybody is in the log or in a file.
func TestExchangedTokensNeverMeet(t *testing.T) {
	for name, clients := range exchangeGrants {
		t.Run(name, func(t *testing.T) {
			e := newExchanger(t, clients)
			kept := []string{e.brings("ann", time.Hour), e.brings("bob", time.Hour)}
			ann, bob := e.account("ann"), e.account("bob")
			const rounds = 3
			for range rounds {
				var both sync.WaitGroup
				for range 5 {
					both.Go(func() { check(t, ann, e.server, "ann") })
					both.Go(func() { check(t, bob, e.server, "bob") })
				}
				both.Wait()
				e.server.Expire()
			}
			if got := e.server.Count("urn:ietf:params:oauth:grant-type:token-exchange"); got != 2*rounds {
				t.Errorf("got %d exchanges, want %d: one for each user and round", got, 2*rounds)
			}
			if _, err := e.Account("ann", "crm", e.server.URL, nil); err == nil {
				t.Error("a user would be asked to sign in")
			}
			if entries, err := os.ReadDir(e.dir); err == nil && len(entries) > 0 {
				t.Errorf("%d files are kept", len(entries))
			}
			for _, secret := range append(kept, "access-", "assertion-", "secret-") {
				if strings.Contains(e.log.String(), secret) {
					t.Errorf("%q is in the log", secret)
				}
			}
		})
	}
}

// A user whose token has expired, who has left, or who brought none, gets nothing from the server; and no error has a token
// in it, which the authorization server repeats in its answer.
func TestExchangeEndsWithTheUsersToken(t *testing.T) {
	for name, clients := range exchangeGrants {
		t.Run(name, func(t *testing.T) {
			e := newExchanger(t, clients)
			refused := func(user, want string) {
				t.Helper()
				_, err := send(t.Context(), e.account(user), e.server.URL)
				if err == nil || !middleware.NotSent(err) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "subject-") {
					t.Errorf("%s: got %v, want %q", user, err, want)
				}
			}
			refused("eve", "has expired")
			e.brings("bob", 9*time.Second) // no token counts in its last ten seconds, but for one request
			check(t, e.account("bob"), e.server, "bob")
			e.server.Leave("bob")
			refused("bob", "HTTP 400")
			e.brings("ann", time.Hour)
			check(t, e.account("ann"), e.server, "ann")
			e.server.Leave("ann")
			e.server.Expire()
			refused("ann", "HTTP 400")
			e.brings("ann", 2*time.Hour)
			e.server.Down(true)
			refused("ann", "HTTP 503")
			e.server.Down(false)
			check(t, e.account("ann"), e.server, "ann")
		})
	}
}

// A client of a file that could send a user's token elsewhere is refused.
func TestClientsThatExchangeNameTheirIssuer(t *testing.T) {
	t.Setenv("CRM_SECRET", "secret-of-the-service")
	for text, want := range map[string]string{
		`{"crm": {"client": "x", "grant": "token_exchange"}}`:                                                                       "issuer",
		`{"crm": {"issuer": "https://x", "grant": "token_exchange"}}`:                                                               "client",
		`{"crm": {"client": "https://x/client", "issuer": "https://x", "grant": "token_exchange"}}`:                                 "registered",
		`{"crm": {"client": "x", "issuer": "https://x", "grant": "enterprise"}}`:                                                    "idp",
		`{"crm": {"client": "x", "issuer": "https://x", "grant": "enterprise", "idp": {"client": "x"}}}`:                            "issuer",
		`{"crm": {"client": "x", "issuer": "https://x", "grant": "enterprise", "idp": {"secret": "CRM_SECRET"}}}`:                   "needs",
		`{"crm": {"client": "x", "issuer": "https://x", "grant": "token_exchange", "idp": {"client": "x", "issuer": "https://y"}}}`: "each other",
		`{"crm": {"client": "x", "issuer": "https://x", "audience": "crm"}}`:                                                        "audience",
	} {
		if _, err := clientsOf(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
