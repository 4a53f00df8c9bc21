package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials"
	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials/credentialstest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tenancy is a proxy for users of other machines, in front of a server that wants each to sign in.
type tenancy struct {
	at     string
	server *credentialstest.Server
	as     func(user, scopes string) *http.Client
	log    *memo
	keeper *credentials.Keeper
}

// A memo keeps what is logged and recorded.
type memo struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *memo) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func newTenancy(t *testing.T, version string, change ...func(*proxy.Options)) *tenancy {
	t.Helper()
	a, as := opened(t)
	c := &tenancy{server: credentialstest.New(t, version == mcptest.Legacy), as: as, log: new(memo)}
	store, err := credentials.OpenStore(filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	var keeper *credentials.Keeper
	var signIn http.Handler
	o := proxy.Options{
		Servers: []proxy.Server{{Name: "crm", URL: c.server.URL}}, Access: a, Policy: decided(t, `{}`),
		Credentials: func(caller access.Caller, s proxy.Server) (http.RoundTripper, error) {
			return keeper.Account(caller.User, s.Name, s.URL, proxy.Pool())
		},
		SignIn: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { signIn.ServeHTTP(w, r) }),
		Audit: audit.SinkFunc(func(_ context.Context, r audit.Record) error {
			_, err := c.log.Write([]byte(r.Scope + " " + r.Error + "\n"))
			return err
		}),
	}
	for _, set := range change {
		set(&o)
	}
	c.at = listenOn(t, o)
	keeper = credentials.New(t.Context(), credentials.Options{
		Store: store, Base: strings.TrimSuffix(c.at, "/mcp") + proxy.SignInPath, Logger: slog.New(slog.NewTextHandler(c.log, nil)),
		User: func(r *http.Request) string { return access.Of(r.Context()).User },
	})
	signIn, c.keeper = keeper.Handler(proxy.SignInPath), keeper
	return c
}

// page returns the page that a client is turned away with.
func (c *tenancy) pageOf(t *testing.T, user, version string) string {
	t.Helper()
	_, err := mcptest.NewClient().Connect(mcptest.Context(t), &mcp.StreamableClientTransport{Endpoint: c.at, HTTPClient: c.as(user, "*.all")}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		t.Fatal("a session without a credential began")
	}
	_, after, found := strings.Cut(err.Error(), "open ")
	page, _, _ := strings.Cut(after, " ")
	if !found || !strings.HasPrefix(page, strings.TrimSuffix(c.at, "/mcp")+proxy.SignInPath) {
		t.Fatalf("got %v, want the page to open", err)
	}
	return page
}

func (c *tenancy) dial(t *testing.T, user, version string) *mcp.ClientSession {
	t.Helper()
	page := c.pageOf(t, user, version)
	browser := c.server.Browser(t, user, c.as(user, "*.all").Transport)
	if status, text := credentialstest.SignIn(t, browser, page); status != http.StatusOK {
		t.Fatalf("HTTP %d: %s", status, text)
	}
	return mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: c.at, HTTPClient: c.as(user, "*.all")}, version)
}

// Two users of one proxy have each their own session with the server, with their own token, also after a refresh. The
// cached answer of one is not the other's, and no token is in an answer, the log or the record.
func TestTwoUsersHaveTheirOwnCredentials(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := newTenancy(t, version)
			users := map[string]*mcp.ClientSession{"ann": c.dial(t, "ann", version), "bob": c.dial(t, "bob", version)}
			for range 3 {
				var all sync.WaitGroup
				for user, cs := range users {
					for range 4 {
						all.Go(func() {
							res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "get_user"})
							if err != nil || text(t, res) != user {
								t.Errorf("%s: got %v, %v", user, res, err)
							}
						})
					}
				}
				all.Wait()
				c.server.Expire()
			}
			used := c.server.Used()
			for _, user := range []string{"ann", "bob"} {
				if !slices.Contains(used, user) {
					t.Errorf("no request had the token of %s", user)
				}
			}
			c.log.mu.Lock()
			defer c.log.mu.Unlock()
			for _, secret := range []string{"access-", "refresh-", "code="} {
				if strings.Contains(c.log.text.String(), secret) {
					t.Errorf("%q is in the log or the record", secret)
				}
			}
		})
	}
}

// A user opens no page of another's, so that nobody gives a credential to somebody else.
func TestNobodySignsInForAnother(t *testing.T) {
	t.Parallel()
	c := newTenancy(t, mcptest.Legacy)
	page := c.pageOf(t, "ann", mcptest.Legacy)
	if status, _ := credentialstest.Get(t, c.server.Browser(t, "bob", c.as("bob", "").Transport), page); status != http.StatusForbidden {
		t.Errorf("another user: got HTTP %d", status)
	}
	if status, _ := credentialstest.Get(t, c.server.Browser(t, "bob", nil), page); status != http.StatusUnauthorized {
		t.Errorf("nobody: got HTTP %d", status)
	}
}

// A call whose user has to sign in again names the page: to a client that opens pages by the protocol's error, whose end
// it hears of, and to the model of any other.
func TestCallWithoutACredentialNamesThePage(t *testing.T) {
	t.Parallel()
	c := newTenancy(t, mcptest.Legacy)
	over := make(chan string, 1)
	opens := mcp.NewClient(&mcp.Implementation{Name: "opens", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationCompleteHandler: func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
			over <- req.Params.ElicitationID
		},
	})
	plain := c.dial(t, "ann", mcptest.Legacy)
	c.server.Expire()
	c.server.Forget()
	res, err := plain.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "get_user"})
	if err != nil || !res.IsError || !strings.Contains(text(t, res), "Ask the user to open "+strings.TrimSuffix(c.at, "/mcp")+proxy.SignInPath) {
		t.Errorf("got %v, %v", res, err)
	}
	_ = c.dial(t, "bob", mcptest.Legacy)
	cs := mcptest.Dial(t, opens, &mcp.StreamableClientTransport{Endpoint: c.at, HTTPClient: c.as("bob", "*.all")}, mcptest.Legacy)
	c.server.Expire()
	c.server.Forget()
	_, err = cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "get_user"})
	var asks struct {
		Elicitations []mcp.ElicitParams `json:"elicitations"`
	}
	reply, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || reply.Code != mcp.CodeURLElicitationRequired || json.Unmarshal(reply.Data, &asks) != nil || len(asks.Elicitations) != 1 || asks.Elicitations[0].Mode != "url" {
		t.Fatalf("got %v", err)
	}
	if status, text := credentialstest.SignIn(t, c.server.Browser(t, "bob", c.as("bob", "").Transport), asks.Elicitations[0].URL); status != http.StatusOK {
		t.Fatalf("HTTP %d: %s", status, text)
	}
	if id := mcptest.Wait(t, "the end of the sign-in", over); id != asks.Elicitations[0].ElicitationID {
		t.Errorf("the end of %q was notified, want that of %q", id, asks.Elicitations[0].ElicitationID)
	}
	if res, err = cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "get_user"}); err != nil || text(t, res) != "bob" {
		t.Errorf("got %v, %v", res, err)
	}
}

// A session that did not begin, since its user has to sign in first, takes no place.
func TestRefusedHandshakeKeepsNoSession(t *testing.T) {
	t.Parallel()
	c := newTenancy(t, mcptest.Legacy)
	for range 5 { // three may be open
		c.pageOf(t, "ann", mcptest.Legacy)
	}
}

// Calls that wait for an approval while their user is revoked are not made when it comes, and those of another user are.
func TestRevokedUserWithCallsWaiting(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run("B389: "+version, func(t *testing.T) {
			t.Parallel()
			asked, approve := make(chan struct{}, 8), make(chan struct{})
			c := newTenancy(t, version, func(o *proxy.Options) {
				o.Policy = decided(t, `{"rules": [{"tool": "crm/get_user", "decide": "ask"}]}`)
				o.Confirm = hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
					asked <- struct{}{}
					select {
					case <-approve:
						return hitl.Decision{Verdict: hitl.Approved, By: "carl"}, nil
					case <-ctx.Done():
						return hitl.Decision{}, context.Cause(ctx)
					}
				})
			})
			type answer struct {
				user, got string
			}
			answers := make(chan answer, 2)
			for _, user := range []string{"ann", "bob"} {
				cs := c.dial(t, user, version)
				go func() {
					res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "get_user"})
					if err != nil {
						answers <- answer{user, err.Error()}
						return
					}
					answers <- answer{user, res.Content[0].(*mcp.TextContent).Text}
				}()
				mcptest.Wait(t, "a question", asked)
			}
			if found, err := c.keeper.Revoke(t.Context(), "ann", c.server.URL); !found || err != nil {
				t.Fatal(found, err)
			}
			before := len(c.server.Used())
			close(approve)
			for range 2 {
				a := mcptest.Wait(t, "an answer", answers)
				if want := map[string]string{"ann": "Ask the user to open ", "bob": "bob"}[a.user]; !strings.Contains(a.got, want) {
					t.Errorf("%s: got %q, want %q", a.user, a.got, want)
				}
			}
			if slices.Contains(c.server.Used()[before:], "ann") {
				t.Error("the server got a token of the user who was revoked")
			}
		})
	}
}

// Users whose own tokens are exchanged open no page, and each has the server's answer to the own token alone.
func TestUsersWhoseTokensAreExchanged(t *testing.T) {
	t.Setenv("CRM_SECRET", "secret-of-the-service")
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			var keeper *credentials.Keeper
			a, as := opened(t)
			server := credentialstest.New(t, version == mcptest.Legacy)
			name := filepath.Join(t.TempDir(), "clients.json")
			if err := os.WriteFile(name, fmt.Appendf(nil, `{"crm": {"client": "service", "secret": "CRM_SECRET", "issuer": %q, "grant": "token_exchange"}}`, server.Issuer), 0o600); err != nil {
				t.Fatal(err)
			}
			clients, err := credentials.ReadClients(name)
			if err != nil {
				t.Fatal(err)
			}
			store, err := credentials.OpenStore(filepath.Join(t.TempDir(), "kept"))
			if err != nil {
				t.Fatal(err)
			}
			keeper = credentials.New(t.Context(), credentials.Options{Store: store, Clients: clients})
			a.Brought = func(c access.Caller, token string, until time.Time) {
				server.Enter(token, c.User)
				keeper.Bring(c.String(), token, until)
			}
			at := listenOn(t, proxy.Options{
				Servers: []proxy.Server{{Name: "crm", URL: server.URL}}, Access: a, Policy: decided(t, `{}`),
				Credentials: func(c access.Caller, s proxy.Server) (http.RoundTripper, error) {
					return keeper.ExchangeAccount(c.String(), c.User, s.Name, s.URL, proxy.Pool())
				},
			})
			users := make(map[string]*mcp.ClientSession)
			for _, user := range []string{"ann", "bob"} {
				users[user] = mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: at, HTTPClient: as(user, "*.all")}, version)
			}
			for range 2 {
				var all sync.WaitGroup
				for user, cs := range users {
					for range 4 {
						all.Go(func() {
							if res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "get_user"}); err != nil || text(t, res) != user {
								t.Errorf("%s: got %v, %v", user, res, err)
							}
						})
					}
				}
				all.Wait()
				server.Expire()
			}
		})
	}
}
