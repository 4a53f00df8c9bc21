// Package access decides who may use a proxy that other machines reach: by the bearer tokens of an OpenID Connect
// issuer, by client certificates, or by both. A file has the settings, as JSON with optional comments:
//
//	{
//	  "hosts": ["fairlead.example"],
//	  "tls": {"certificate": "tls.crt", "key": "tls.key", "clients": "ca.crt"},
//	  "tokens": {"issuer": "https://login.example", "audience": "https://fairlead.example/mcp", "user": "email", "scopes": "scope"},
//	  "approvers": ["ann@example.com"],
//	  "sessions": 100, "requests": 2000,
//	  "perUser": {"sessions": 20, "requests": 400, "questions": 20}
//	}
package access

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/cmd/fairlead/jsonc"
	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/tailscale/hujson"
)

const (
	maxName  = 200      // bytes of a user's name
	maxToken = 32 << 10 // bytes of a token
	patience = 10 * time.Second
	// againAfter is when a client is to try again whose token could not be checked.
	againAfter = 15 * time.Second
	metadata   = "/.well-known/oauth-protected-resource"
)

// A File is what a file of access holds.
type File struct {
	// Hosts are the names, without ports, by which clients reach the proxy. One is required.
	Hosts []string `json:"hosts"`
	// TLS has the certificate and key of the server, read again for each connection, and the certificates that sign
	// those of clients. Nil is plain HTTP, for a server in front that ends TLS.
	TLS *struct {
		Certificate string `json:"certificate"`
		Key         string `json:"key"`
		Clients     string `json:"clients"`
	} `json:"tls"`
	// Tokens has the issuer of the tokens and the audience that they need; the claim that names the user, "sub" by
	// default; and the claim with what the user may do, as in --scope. Without that claim's name a user may do everything.
	Tokens *struct {
		Issuer   string `json:"issuer"`
		Audience string `json:"audience"`
		User     string `json:"user"`
		Scopes   string `json:"scopes"`
	} `json:"tokens"`
	// Approvers are the users who may decide on the page of approvals.
	Approvers []string `json:"approvers"`
	// Sessions is how many may be open at once; 0 means 100.
	Sessions int `json:"sessions"`
	// Requests is how many may be under way at once, over all sessions; 0 means 2,000.
	Requests int `json:"requests"`
	// PerUser is how much of it one user may have.
	PerUser Share `json:"perUser"`
}

// A Share is how much of a proxy one user may have at once. 0 means a fifth of what there is in all, at least 2.
type Share struct {
	Sessions int `json:"sessions"`
	Requests int `json:"requests"`
	// Questions are calls that wait for a person. In all there may be as many as the policy's maxPending, 100 by default.
	Questions int `json:"questions"`
}

// An Access decides who may use the proxy. Make one with [Open]. It is safe for concurrent use.
type Access struct {
	File

	// Brought is called with the token of each request that is let in, and until when it counts; nil is not called. Set
	// it before the first request.
	Brought func(c Caller, token string, until time.Time)

	tls     *tls.Config
	clients *x509.CertPool
	issuer  issuer
}

// Open reads a file of access. Names of files in it are relative to its folder. Tokens are refused until [Access.Renew]
// has reached their issuer.
func Open(name string) (*Access, error) {
	if err := owned.File(name); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	a := new(Access)
	if err = a.read(text); err == nil {
		err = a.check()
	}
	if err == nil && a.TLS != nil {
		err = a.openTLS(filepath.Dir(name))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

func (a *Access) read(text []byte) error {
	if line := jsonc.Deep(text); line > 0 {
		return fmt.Errorf("line %d: it is nested too deep", line)
	}
	standard, err := hujson.Standardize(text)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(standard))
	d.DisallowUnknownFields()
	return d.Decode(&a.File)
}

func (a *Access) check() error {
	switch {
	case len(a.Hosts) == 0 || slices.Contains(a.Hosts, ""):
		return errors.New(`"hosts" has to name how clients reach the proxy, such as ["fairlead.example"]`)
	case a.Tokens == nil && (a.TLS == nil || a.TLS.Clients == ""):
		return errors.New(`anyone could use the proxy; name the issuer of "tokens", or in "tls" the certificates of "clients"`)
	case a.Tokens != nil && (a.Tokens.Issuer == "" || a.Tokens.Audience == ""):
		return errors.New(`"tokens" needs an "issuer" and an "audience", since any token of the issuer would do`)
	case a.Sessions < 0 || a.Requests < 0:
		return errors.New(`"sessions" or "requests" is negative`)
	case a.PerUser.Sessions < 0 || a.PerUser.Requests < 0 || a.PerUser.Questions < 0:
		return errors.New(`"perUser" has a negative number`)
	}
	for i, host := range a.Hosts {
		a.Hosts[i] = strings.ToLower(strings.Trim(host, "[]"))
	}
	return nil
}

func (a *Access) openTLS(dir string) error {
	in := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	pair := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(in(a.TLS.Certificate), in(a.TLS.Key))
		return &c, err
	}
	if _, err := pair(nil); err != nil {
		return fmt.Errorf(`"tls": %w`, err)
	}
	a.tls = &tls.Config{GetCertificate: pair, MinVersion: tls.VersionTLS12}
	if a.TLS.Clients == "" {
		return nil
	}
	signers, err := os.ReadFile(in(a.TLS.Clients))
	if err == nil {
		err = owned.File(in(a.TLS.Clients))
	}
	if err != nil {
		return fmt.Errorf(`"tls": %w`, err)
	}
	a.clients = x509.NewCertPool()
	if !a.clients.AppendCertsFromPEM(signers) {
		return fmt.Errorf(`"tls": %s holds no certificate in PEM`, a.TLS.Clients)
	}
	// A probe of the machine's health has none, so that the handler asks for it.
	a.tls.ClientCAs, a.tls.ClientAuth = a.clients, tls.VerifyClientCertIfGiven
	return nil
}

// Listen returns the listener with the file's TLS, which it has to have.
func (a *Access) Listen(l net.Listener) net.Listener { return tls.NewListener(l, a.tls) }

// A Caller is who sent a request.
type Caller struct {
	User   string
	Client string   // that the token was given to (azp or client_id); "" if the token names none
	Actors []string // who acts for the user by the token (act of RFC 8693), the current one first
	Scopes []string // what the user may do, if they are Limited
	// Limited reports whether the scopes count, even if there are none.
	Limited bool
}

// String is the same for the same user with the same client, actors and scopes alone, and "" for the zero value.
func (c Caller) String() string {
	if c.User == "" {
		return ""
	}
	text := fmt.Sprintf("%q %t %q", c.User, c.Limited, c.Scopes)
	if c.Client != "" || len(c.Actors) > 0 {
		text += fmt.Sprintf(" by %q %q", c.Client, c.Actors)
	}
	return text
}

type callerKey struct{}

// Of returns who sent a request that [Access.Handler] let in, the zero value for any other.
func Of(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Handler lets in the requests of those who may use the proxy. Anything else is answered with 401, or 403, and with 503
// if the issuer of the tokens has to be asked and cannot be reached. Refused is called with why a token does not count, in
// words that may be a stranger's; nil is not called.
func (a *Access) Handler(next http.Handler, refused func(ctx context.Context, why error)) http.Handler {
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := a.caller(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		ctx := context.WithValue(r.Context(), callerKey{}, c)
		if t := auth.TokenInfoFromContext(ctx); t != nil {
			if a.Brought != nil {
				a.Brought(c, strings.Fields(r.Header.Get("Authorization"))[1], t.Expiration)
			}
			if r.Method == http.MethodGet { // a stream that would outlive the token
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadline(ctx, t.Expiration)
				defer cancel()
			}
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
	m := http.NewServeMux()
	if a.Tokens == nil {
		m.Handle("/", known)
	} else {
		about := "https://" + a.Hosts[0] + metadata
		m.Handle("/", a.checked(refused, auth.RequireBearerToken(found, &auth.RequireBearerTokenOptions{ResourceMetadataURL: about})(known)))
		m.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource: a.Tokens.Audience, AuthorizationServers: []string{a.Tokens.Issuer}, BearerMethodsSupported: []string{"header"},
		}))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, origin, _ := strings.Cut(r.Header.Get("Origin"), "://")
		if !a.isHost(r.Host) || r.Header.Get("Origin") != "" && !a.isHost(origin) {
			http.Error(w, "the Host or Origin header is not one of this proxy", http.StatusForbidden)
			return
		}
		m.ServeHTTP(w, r)
	})
}

func (a *Access) isHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return slices.Contains(a.Hosts, strings.ToLower(host))
}

func (a *Access) caller(r *http.Request) (Caller, error) {
	var c Caller
	if a.clients != nil {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			return c, errors.New("this proxy needs a client certificate")
		}
		leaf := r.TLS.VerifiedChains[0][0]
		names := slices.Concat(leaf.EmailAddresses, leaf.DNSNames, []string{leaf.Subject.CommonName})
		c.User = names[0]
	}
	if t := auth.TokenInfoFromContext(r.Context()); t != nil {
		c.User, c.Scopes, c.Limited = t.UserID, t.Scopes, a.Tokens.Scopes != ""
		c.Client, _ = t.Extra[extraClient].(string)
		c.Actors, _ = t.Extra[extraActors].([]string)
	}
	if !canBeShown(c.User) {
		return c, errors.New("the token or certificate names no user, or one that cannot be shown")
	}
	return c, nil
}

// A verdict is what became of the token of a request.
type verdict struct {
	info *auth.TokenInfo
	err  error
}

type verdictKey struct{}

// checked verifies the token of a request for [found], and answers what is not about the token: a request with two, and an
// issuer that cannot be reached, since a client that gets 401 for that has its user sign in again for nothing.
func (a *Access) checked(refused func(ctx context.Context, why error), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := r.Header.Values("Authorization")
		if len(all) > 1 {
			// What is in front may have checked the other one.
			http.Error(w, "the request has more than one Authorization header", http.StatusBadRequest)
			return
		}
		var v verdict
		if fields := strings.Fields(strings.Join(all, "")); len(fields) == 2 {
			v.info, v.err = a.verify(r.Context(), fields[1])
		}
		if _, away := errors.AsType[*AwayError](v.err); away {
			w.Header().Set("Retry-After", strconv.Itoa(int(againAfter/time.Second)))
			http.Error(w, fmt.Sprintf("%v; nothing was called, try again in %v", v.err, againAfter), http.StatusServiceUnavailable)
			return
		}
		if v.err != nil && refused != nil {
			refused(r.Context(), v.err)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), verdictKey{}, v)))
	})
}

// found implements [auth.TokenVerifier] by what checked has found.
func found(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	v, _ := ctx.Value(verdictKey{}).(verdict)
	return v.info, v.err
}

func (a *Access) verify(ctx context.Context, token string) (*auth.TokenInfo, error) {
	if len(token) > maxToken {
		return nil, fmt.Errorf("%w: it has %d bytes, want at most %d", auth.ErrInvalidToken, len(token), maxToken)
	}
	t, err := a.issuer.verify(ctx, token)
	if _, away := errors.AsType[*AwayError](err); away {
		return nil, err
	}
	var claims map[string]any
	if err == nil {
		err = t.Claims(&claims)
	}
	if err == nil {
		err = unambiguous(token, claims)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
	}
	name := cmp.Or(a.Tokens.User, "sub")
	user, _ := claims[name].(string)
	if name == "email" && claims["email_verified"] != true {
		return nil, fmt.Errorf("%w: its email address is not verified", auth.ErrInvalidToken)
	}
	client, actors, err := partiesOf(claims)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
	}
	return &auth.TokenInfo{
		UserID: user, Expiration: t.Expiry, Scopes: words(claims[a.Tokens.Scopes]), Extra: map[string]any{extraClient: client, extraActors: actors},
	}, nil
}

// unambiguous returns an error for a token with a claim twice, in any case, or with the name of a registered claim in
// another case (RFC 7519, 4.1: names are compared as they are written), since the verifier would take it for that claim.
func unambiguous(token string, claims map[string]any) error {
	for part := range strings.SplitSeq(token[:strings.LastIndexByte(token, '.')], ".") {
		text, err := base64.RawURLEncoding.DecodeString(part)
		if err == nil {
			err = mount.Unambiguous(text)
		}
		if err != nil {
			return fmt.Errorf("it can be read in two ways: %w", err)
		}
	}
	for name := range claims {
		for _, registered := range []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "act", "azp", "client_id"} {
			if name != registered && strings.EqualFold(name, registered) {
				return fmt.Errorf("it can be read in two ways: its claim %q is %q in another case", name, registered)
			}
		}
	}
	return nil
}

// words are those of a claim: a string with spaces between them, or a list.
func words(claim any) (all []string) {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		for _, word := range claim {
			if text, ok := word.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

// Approver returns the user who sent a request that [Access.Handler] let in, and whether that user may approve calls.
func (a *Access) Approver(r *http.Request) (user string, may bool) {
	user = Of(r.Context()).User
	return user, user != "" && slices.Contains(a.Approvers, user)
}
