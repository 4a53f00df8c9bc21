package browsertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials/credentialstest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// teamHost is the name of the proxy for its users' browsers and clients.
const teamHost = "fairlead.example"

// A bearer sends requests to the proxy by its name, with the token of a user.
type bearer string

func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = teamHost
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// team starts a proxy for users of other machines, in front of a server that wants each to sign in, and returns its
// address, and what makes the token of a user.
func team(t *testing.T, server *credentialstest.Server, kept string) (at string, tokenOf func(user string) bearer) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	served := httptest.NewServer(issuer)
	t.Cleanup(served.Close)
	issuer.SetIssuer(served.URL)
	access := filepath.Join(t.TempDir(), "access.json")
	if err := os.WriteFile(access, fmt.Appendf(nil, `{"hosts": [%q], "tokens": {"issuer": %q, "audience": "here"}}`, teamHost, served.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	logged, errs := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- command.Run(t.Context(), []string{"proxy", "--listen", "127.0.0.1:0", "--access", access, "--credentials", kept, "--approve", "deny", "--name", "crm", server.URL}, strings.NewReader(""), io.Discard, errs)
		_ = errs.Close()
	}()
	t.Cleanup(func() { mcptest.Wait(t, "the proxy's end", ended) })
	serves := make(chan string, 1)
	go func() {
		var seen strings.Builder
		for b := make([]byte, 4096); ; {
			n, err := logged.Read(b)
			seen.Write(b[:n])
			if found := regexp.MustCompile(`serving MCP at .*:([0-9]+)/mcp`).FindStringSubmatch(seen.String()); found != nil {
				select {
				case serves <- "http://127.0.0.1:" + found[1]:
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	at = mcptest.Wait(t, "the proxy", serves)
	return at, func(user string) bearer {
		return bearer(oidctest.SignIDToken(key, "k", oidc.ES256, fmt.Sprintf(`{"iss":%q,"aud":"here","sub":%q,"exp":%d}`, served.URL, user, time.Now().Add(time.Hour).Unix())))
	}
}

// browserOf starts a browser of a user's own, for which the proxy is behind a front with TLS that adds the user's token.
func browserOf(t *testing.T, at string, token bearer) *desk {
	t.Helper()
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Transport: token, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})
	t.Cleanup(front.Close)
	return &desk{t: t, browser: open(t, chromedp.Flag("host-resolver-rules", "MAP "+teamHost+" "+front.Listener.Addr().String()), chromedp.Flag("ignore-certificate-errors", true))}
}

// Two users of a proxy are each sent to a page of their own, sign in there at the server's issuer in their own browsers,
// and their calls have their own tokens. Neither gets past the other's page.
func TestTwoUsersSignIn(t *testing.T) {
	t.Parallel()
	chromium(t)
	server := credentialstest.New(t, true)
	kept := filepath.Join(t.TempDir(), "kept")
	at, tokenOf := team(t, server, kept)
	users := []string{"ann", "bob"}
	dial := func(user string) (*mcp.ClientSession, error) {
		return mcptest.NewClient().Connect(mcptest.Context(t), &mcp.StreamableClientTransport{Endpoint: at + "/mcp", HTTPClient: &http.Client{Transport: tokenOf(user)}},
			&mcp.ClientSessionOptions{ProtocolVersion: mcptest.Legacy})
	}
	pages := make(map[string]string)
	for _, user := range users {
		_, err := dial(user)
		if err == nil {
			t.Fatal("a session without a credential began")
		}
		if pages[user] = regexp.MustCompile(`https://` + regexp.QuoteMeta(teamHost) + `/credentials/[A-Z0-9]+`).FindString(err.Error()); pages[user] == "" {
			t.Fatalf("got %v, want the page to open", err)
		}
	}
	if pages["ann"] == pages["bob"] {
		t.Fatal("two users have one page")
	}
	sessions := make(map[string]*mcp.ClientSession)
	for i, user := range users {
		d := browserOf(t, at, tokenOf(user))
		d.do(d.browser, chromedp.Navigate(pages[users[1-i]]), reads(map[int]string{0: "This sign-in is another user's", 1: "This sign-in has ended"}[i]))
		d.do(d.browser, chromedp.Navigate(pages[user]), reads("Sign in for crm"), reads("in your name"), click("a"),
			visible("form"), chromedp.SendKeys(chromedp.CSS("input"), user), click("button"), reads("Signed in for crm"))
		d.screenshot(d.browser, "signed-in-"+user)
		if text := got[string](d, d.browser, "document.documentElement.outerHTML + document.cookie"); strings.Contains(text, "access-") || strings.Contains(text, "refresh-") {
			t.Errorf("the browser of %s has a token of the server: %s", user, text)
		}
		cs, err := dial(user)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cs.Close() })
		sessions[user] = cs
	}
	for range 3 {
		var all sync.WaitGroup
		for user, cs := range sessions {
			for range 4 {
				all.Go(func() {
					res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "get_user"})
					if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != user {
						t.Errorf("the call of %s: got %+v, %v", user, res, err)
					}
				})
			}
		}
		all.Wait()
		server.Expire()
	}
	for _, user := range users {
		if !slices.Contains(server.Used(), user) {
			t.Errorf("no request had the token of %s", user)
		}
	}
}
