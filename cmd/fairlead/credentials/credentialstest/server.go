// Package credentialstest is a server of MCP that wants OAuth, its authorization server, and a browser, for tests.
package credentialstest

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// A Server is both servers, each with a socket. What it does wrong is set before the first request.
type Server struct {
	URL    string // of the server of MCP
	Issuer string
	IDP    string // the issuer of the company's identity provider, with a socket of its own

	Resource   string        // in the metadata of the server; "" is URL
	IssuerName string        // in the metadata of the issuer; "" is Issuer
	Iss        string        // in the callback; "" is Issuer, and "none" leaves it out
	Lifetime   time.Duration // of tokens; 0 is an hour
	Redirect   string        // where the token endpoint redirects to; "" is nowhere
	Authorize  string        // the authorization endpoint in the metadata; "" is that of the issuer
	Refuses    string        // the error in the callback, in the place of a code; "" is a code
	Rubbish    string        // what the token endpoint answers; "" is a token
	Metadata   string        // where the metadata of the issuer redirects to; "" leaves it there
	Elsewhere  string        // the authorization server in the metadata of the server; "" is Issuer

	mu       sync.Mutex
	codes    map[string]grant
	tokens   map[string]grant // access
	refreshs map[string]grant
	clients  map[string]string // secrets
	used     []string          // the users of the tokens that came, and "" for none
	down     bool
	count    map[string]int

	subjects   map[string]grant // tokens of users at the identity provider, with the client that may exchange them
	assertions map[string]grant
}

type grant struct {
	user, client, challenge, redirect, resource string
	until                                       time.Time
}

// New starts the servers; that of MCP has sessions, each for one user, or none.
func New(tb testing.TB, sessions bool) *Server {
	tb.Helper()
	s := &Server{
		codes: map[string]grant{}, tokens: map[string]grant{}, refreshs: map[string]grant{},
		clients: map[string]string{"service": "secret-of-the-service", "idp-client": "secret-at-the-idp"}, count: map[string]int{},
		subjects: map[string]grant{}, assertions: map[string]grant{},
	}
	as := http.NewServeMux()
	as.HandleFunc("/.well-known/oauth-authorization-server", s.metadata)
	as.HandleFunc("POST /register", s.register)
	as.HandleFunc("POST /login", login)
	as.HandleFunc("GET /authorize", s.authorize)
	as.HandleFunc("POST /token", s.token)
	as.HandleFunc("POST /revoke", func(_ http.ResponseWriter, r *http.Request) { s.Revoke(r.PostFormValue("token")) })
	issuer := httptest.NewServer(as)
	tb.Cleanup(issuer.Close)
	s.Issuer = issuer.URL

	idp := http.NewServeMux()
	idp.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		write(w, oauthex.AuthServerMeta{
			Issuer: s.IDP, AuthorizationEndpoint: s.IDP + "/authorize", TokenEndpoint: s.IDP + "/token",
			ResponseTypesSupported: []string{"code"}, CodeChallengeMethodsSupported: []string{"S256"},
		})
	})
	idp.HandleFunc("POST /token", s.token)
	provider := httptest.NewServer(idp)
	tb.Cleanup(provider.Close)
	s.IDP = provider.URL

	tools := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	mcp.AddTool(tools, &mcp.Tool{Name: "get_user", Description: "Get the user", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: req.Extra.TokenInfo.UserID}}}, nil, nil
		})
	served := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, &mcp.StreamableHTTPOptions{Stateless: !sessions})
	m := http.NewServeMux()
	m.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		resource := s.URL
		if s.Resource != "" {
			resource = s.Resource
		}
		write(w, oauthex.ProtectedResourceMetadata{Resource: resource, AuthorizationServers: []string{cmp.Or(s.Elsewhere, s.Issuer)}, ScopesSupported: []string{"crm"}})
	})
	mcpServer := httptest.NewServer(m)
	tb.Cleanup(mcpServer.Close)
	s.URL = mcpServer.URL + "/mcp"
	guard := auth.RequireBearerToken(s.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: mcpServer.URL + "/.well-known/oauth-protected-resource/mcp"})
	m.Handle("/mcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			s.mu.Lock()
			s.used = append(s.used, "")
			s.mu.Unlock()
		}
		guard(served).ServeHTTP(w, r)
	}))
	return s
}

func (s *Server) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.tokens[token]
	if !ok || time.Now().After(g.until) || g.resource != "" && g.resource != s.URL {
		return nil, auth.ErrInvalidToken
	}
	s.used = append(s.used, g.user)
	return &auth.TokenInfo{UserID: g.user, Expiration: g.until}, nil
}

func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	if s.Metadata != "" {
		http.Redirect(w, r, s.Metadata, http.StatusFound)
		return
	}
	issuer := s.Issuer
	if s.IssuerName != "" {
		issuer = s.IssuerName
	}
	write(w, oauthex.AuthServerMeta{
		Issuer: issuer, AuthorizationEndpoint: cmp.Or(s.Authorize, s.Issuer+"/authorize"), TokenEndpoint: s.Issuer + "/token", RegistrationEndpoint: s.Issuer + "/register",
		RevocationEndpoint: s.Issuer + "/revoke", ResponseTypesSupported: []string{"code"}, CodeChallengeMethodsSupported: []string{"S256"},
		AuthorizationResponseIssParameterSupported: true,
	})
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	m, id := make(map[string]json.RawMessage), rand.Text()
	_ = json.NewDecoder(r.Body).Decode(&m)
	m["client_id"] = json.RawMessage(`"` + id + `"`)
	s.mu.Lock()
	s.clients[id] = ""
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	write(w, m)
}

// login logs the user of a form in, in the user's browser.
func login(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: "login", Value: r.PostFormValue("user"), Path: "/authorize", HttpOnly: true, SameSite: http.SameSiteLaxMode}) //nolint:gosec // a test has no TLS
	http.Redirect(w, r, "/authorize?"+r.URL.RawQuery, http.StatusSeeOther)                                                                             //nolint:gosec // of a test, to its own path
}

// authorize agrees at once, for the user that the browser's cookie names; without one it shows a form.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	login, err := r.Cookie("login")
	if err != nil {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!DOCTYPE html><h1>Log in</h1><form method="post" action="/login?`+html.EscapeString(r.URL.RawQuery)+`"><input name="user"><button>Log in</button></form>`)
		return
	}
	if q.Get("code_challenge_method") != "S256" {
		http.Error(w, "it has no proof key", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	s.mu.Lock()
	s.codes[code] = grant{user: login.Value, client: q.Get("client_id"), challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri"), resource: q.Get("resource")}
	s.mu.Unlock()
	iss := s.Issuer
	if s.Iss != "" {
		iss = s.Iss
	}
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {iss}}
	if s.Refuses != "" {
		back.Set("error", s.Refuses) // beside a code, which does not count then
	}
	if iss == "none" {
		back.Del("iss")
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound) //nolint:gosec // a test registers its own address
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if s.Redirect != "" {
		http.Redirect(w, r, s.Redirect, http.StatusTemporaryRedirect)
		return
	}
	kind := r.PostFormValue("grant_type")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[kind]++
	if s.Rubbish != "" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, s.Rubbish)
		return
	}
	if s.down {
		http.Error(w, "down; the token was "+r.PostFormValue("refresh_token"), http.StatusServiceUnavailable)
		return
	}
	client, secret, _ := r.BasicAuth()
	if client == "" {
		client, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	var g grant
	var ok bool
	switch kind {
	case "authorization_code":
		code := r.PostFormValue("code")
		g, ok = s.codes[code]
		delete(s.codes, code)
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		ok = ok && g.challenge == base64.RawURLEncoding.EncodeToString(sum[:]) && g.redirect == r.PostFormValue("redirect_uri")
	case "refresh_token":
		token := r.PostFormValue("refresh_token")
		g, ok = s.refreshs[token]
		delete(s.refreshs, token) // each is good once
	case kindExchange:
		s.exchange(w, r, client, secret)
		return
	case kindBearer:
		g, ok = s.assertions[r.PostFormValue("assertion")]
		g.client = client
	case "client_credentials":
		g, ok = grant{user: "client " + client, client: client}, secret != ""
	}
	if want, known := s.clients[client]; !ok || !known || want != secret || g.client != client {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		write(w, map[string]string{"error": "invalid_grant"})
		return
	}
	access, refresh, expires := s.give(g)
	if kind == kindBearer {
		refresh = ""
	}
	write(w, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": expires})
}

const (
	kindExchange = oauthex.GrantTypeTokenExchange
	kindBearer   = "urn:ietf:params:oauth:grant-type:jwt-bearer"   //nolint:gosec // a name of a grant
	accessToken  = "urn:ietf:params:oauth:token-type:access_token" //nolint:gosec // a name of a type
)

// give makes the tokens of a grant. The mutex is held.
func (s *Server) give(g grant) (access, refresh string, expires int) {
	lifetime := time.Hour
	if s.Lifetime != 0 {
		lifetime = s.Lifetime
	}
	g.until = time.Now().Add(lifetime)
	access, refresh = "access-"+rand.Text(), "refresh-"+rand.Text()
	s.tokens[access], s.refreshs[refresh] = g, g
	return access, refresh, int(lifetime / time.Second)
}

// exchange answers a request of RFC 8693: at the issuer with an access token, and at the identity provider with an
// assertion for the issuer. The mutex is held.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, client, secret string) {
	g, ok := s.subjects[r.PostFormValue("subject_token")]
	kind, wants := r.PostFormValue("subject_token_type"), r.PostFormValue("requested_token_type")
	g.resource = r.PostFormValue("resource")
	ok = ok && s.clients[client] != "" && s.clients[client] == secret && g.resource == s.URL
	if atIDP := "http://"+r.Host == s.IDP; atIDP {
		ok = ok && client == "idp-client" && kind == oauthex.TokenTypeIDToken && wants == oauthex.TokenTypeIDJAG && r.PostFormValue("audience") == s.Issuer
	} else {
		ok = ok && client == "service" && kind == accessToken && wants == accessToken
	}
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		write(w, map[string]string{"error": "invalid_request", "error_description": r.PostFormValue("subject_token")})
		return
	}
	if wants == oauthex.TokenTypeIDJAG {
		assertion := "assertion-" + rand.Text()
		s.assertions[assertion] = g
		write(w, map[string]any{"access_token": assertion, "issued_token_type": wants, "token_type": "N_A", "expires_in": 300})
		return
	}
	g.client = client
	access, _, expires := s.give(g)
	write(w, map[string]any{"access_token": access, "issued_token_type": wants, "token_type": "Bearer", "expires_in": expires})
}

// Enter has the issuer and the identity provider take a token as that of a user.
func (s *Server) Enter(token, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subjects[token] = grant{user: user}
}

// Leave has them take no token of a user any more.
func (s *Server) Leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, g := range s.subjects {
		if g.user == user {
			delete(s.subjects, token)
		}
	}
}

// Revoke ends a refresh token, with its user's access tokens.
func (s *Server) Revoke(refresh string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.refreshs[refresh]
	delete(s.refreshs, refresh)
	for token, one := range s.tokens {
		if one.user == g.user {
			delete(s.tokens, token)
		}
	}
}

// Expire ends all access tokens.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Forget ends all refresh tokens.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refreshs)
}

// Down has the token endpoint answer with an error, or no longer.
func (s *Server) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Count returns how many requests of a grant the token endpoint has had.
func (s *Server) Count(grant string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[grant]
}

// Used returns the user of each request to the server of MCP, "" for one without a token.
func (s *Server) Used() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.used...)
}

// Secrets returns all tokens that were given and still count.
func (s *Server) Secrets() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range []map[string]grant{s.tokens, s.refreshs} {
		for token := range of {
			all = append(all, token)
		}
	}
	return all
}

func write(w io.Writer, v any) {
	if h, ok := w.(http.ResponseWriter); ok {
		h.Header().Set("Content-Type", "application/json")
	}
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // a client that has gone gets no answer
}

// Browser returns the browser of a user who is logged in at the issuer. Its requests go through next, nil for
// http.DefaultTransport.
func (s *Server) Browser(tb testing.TB, user string, next http.RoundTripper) *http.Client {
	tb.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	at, err := url.Parse(s.Issuer + "/authorize")
	if err != nil {
		tb.Fatal(err)
	}
	jar.SetCookies(at, []*http.Cookie{{Name: "login", Value: user, Path: "/authorize"}}) //nolint:gosec // in a jar, for a socket without TLS
	return &http.Client{Jar: jar, Transport: next}
}

var link = regexp.MustCompile(`<a href="([^"]+)"`)

// Get returns the status and the text of a page.
func Get(tb testing.TB, browser *http.Client, page string) (status int, text string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, page, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	res, err := browser.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// Link returns the link of a page to the authorization server.
func Link(tb testing.TB, browser *http.Client, page string) string {
	tb.Helper()
	status, text := Get(tb, browser, page)
	found := link.FindStringSubmatch(text)
	if status != http.StatusOK || found == nil {
		tb.Fatalf("the page to sign in: HTTP %d, %s", status, text)
	}
	return html.UnescapeString(found[1])
}

// SignIn opens a page, follows its link, and returns what the user sees at the end.
func SignIn(tb testing.TB, browser *http.Client, page string) (status int, text string) {
	tb.Helper()
	return Get(tb, browser, Link(tb, browser, page))
}
