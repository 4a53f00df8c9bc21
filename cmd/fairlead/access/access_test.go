package access_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
)

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "access.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issuer serves an issuer, and returns its address and what signs claims by its key.
func issuer(t *testing.T) (url string, sign func(claims string) string) {
	t.Helper()
	key := newKey(t)
	s := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	served := httptest.NewServer(s)
	t.Cleanup(served.Close)
	s.SetIssuer(served.URL)
	return served.URL, func(claims string) string {
		return oidctest.SignIDToken(key, "k", oidc.ES256, strings.ReplaceAll(claims, "ISSUER", served.URL))
	}
}

// whoami answers with the caller, and whether it may approve.
func whoami(a *access.Access) http.Handler {
	return a.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := access.Of(r.Context())
		_, may := a.Approver(r)
		fmt.Fprintf(w, "%s %v %t", c, c.Scopes, may)
	}), nil)
}

func TestFileIsChecked(t *testing.T) {
	t.Parallel()
	const tokens = `"tokens": {"issuer": "http://127.0.0.1:1", "audience": "a"}`
	for text, want := range map[string]string{
		`{` + tokens + `}`:                     `"hosts"`,
		`{"hosts": ["a", ""], ` + tokens + `}`: `"hosts"`,
		`{"hosts": ["a"]}`:                     "anyone could use the proxy",
		`{"hosts": ["a"], "tls": {"certificate": "c", "key": "k"}}`:                 "anyone could use the proxy",
		`{"hosts": ["a"], "tokens": {"issuer": "http://127.0.0.1:1"}}`:              `an "audience"`,
		`{"hosts": ["a"], "sessions": -1, ` + tokens + `}`:                          "negative",
		`{"hosts": ["a"], "token": {}}`:                                             `unknown field "token"`,
		`{"hosts": ["a"], ` + tokens + `} {}`:                                       "after top-level value",
		`{"hosts": ["a"], "tls": {"certificate": "c", "key": "k", "clients": "d"}}`: "no such file",
		strings.Repeat("[", 20_000):                                                 "nested too deep",
		``:                                                                          "EOF",
	} {
		if _, err := access.Open(file(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %q", text, err, want)
		}
	}
	if _, err := access.Open("nothing.json"); err == nil {
		t.Error("a file that is not there is no error")
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	url, sign := issuer(t)
	_, other := issuer(t)
	a, err := access.Open(file(t, `{
		"hosts": ["Fairlead.example"], // and no other
		"tokens": {"issuer": "`+url+`", "audience": "fairlead", "user": "email", "scopes": "scp"},
		"approvers": ["bob@example.com"],
	}`))
	if err == nil {
		err = a.Renew(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour).Unix()
	claims := func(more string, until int64) string {
		return fmt.Sprintf(`{"iss":"ISSUER","aud":"fairlead","sub":"1","exp":%d%s}`, until, more)
	}
	const ann = `,"email":"ann@example.com","email_verified":true`
	for _, c := range []struct {
		name, token, host, origin, want string
	}{
		{"a user", sign(claims(ann+`,"scp":"openid files.read"`, later)), "", "", `"ann@example.com" true ["openid" "files.read"] [openid files.read] false`},
		{"a list of scopes", sign(claims(ann+`,"scp":["files.*",1]`, later)), "", "", `"ann@example.com" true ["files.*"] [files.*] false`},
		{"no scopes", sign(claims(ann, later)), "", "", `"ann@example.com" true [] [] false`},
		{"a page of the proxy", sign(claims(ann, later)), "", "https://fairlead.example", `"ann@example.com" true [] [] false`},
		{"an approver", sign(claims(`,"email":"bob@example.com","email_verified":true`, later)), "", "", `"bob@example.com" true [] [] true`},
		{"another audience behind it", sign(claims(ann+`,"aud":"mail"`, later)), "", "", "401 invalid token: "},
		{"two audiences in two cases", sign(claims(ann+`,"AUD":"fairlead"`, later)), "", "", "401 invalid token: it can be read in two ways: "},
		{"another's audience, and ours in capitals", sign(strings.Replace(claims(ann+`,"AUD":"fairlead"`, later), `"fairlead"`, `"mail"`, 1)), "", "", "401 invalid token: "},
		{"our audience in capitals alone", sign(strings.Replace(claims(ann, later), `"aud"`, `"AUD"`, 1)), "", "", `401 invalid token: it can be read in two ways: its claim "AUD" is "aud" in another case`},
		{"two addresses", sign(claims(ann+`,"email":"bob@example.com"`, later)), "", "", "401 invalid token: it can be read in two ways: "},
		{"without a token", "", "", "", "401 no bearer token"},
		{"without a name", sign(claims("", later)), "", "", "401 invalid token: its email address is not verified"},
		{"an address that is not verified", sign(claims(`,"email":"bob@example.com","email_verified":false`, later)), "", "", "401 invalid token: its email address is not verified"},
		{"an empty name", sign(claims(`,"email":"","email_verified":true`, later)), "", "", "401 the token or certificate names no user, or one that cannot be shown"},
		{"a name of two lines", sign(claims(`,"email":"a\nb","email_verified":true`, later)), "", "", "401 the token or certificate names no user, or one that cannot be shown"},
		{"an old token", sign(claims(ann, time.Now().Add(-time.Hour).Unix())), "", "", "401 invalid token: "},
		{"for another audience", sign(strings.Replace(claims(ann, later), `"fairlead"`, `"mail"`, 1)), "", "", "401 invalid token: "},
		{"of another issuer", other(claims(ann, later)), "", "", "401 invalid token: "},
		{"by another key", other(strings.ReplaceAll(claims(ann, later), "ISSUER", url)), "", "", "401 invalid token: "},
		{"a name that leads here", sign(claims(ann, later)), "evil.example", "", "403 the Host or Origin"},
		{"a page from elsewhere", sign(claims(ann, later)), "", "https://evil.example", "403 the Host or Origin"},
		{"a page of no site", sign(claims(ann, later)), "", "null", "403 the Host or Origin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "https://fairlead.example:8808/mcp", nil)
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			if c.host != "" {
				r.Host = c.host
			}
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			whoami(a).ServeHTTP(w, r)
			got := strings.TrimSpace(w.Body.String())
			if w.Code != http.StatusOK {
				got = fmt.Sprint(w.Code, " ", got)
			}
			if !strings.HasPrefix(got, c.want) || w.Code == http.StatusOK && got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if w.Code == http.StatusUnauthorized && c.token == "" && !strings.Contains(w.Header().Get("WWW-Authenticate"), `resource_metadata="https://fairlead.example/.well-known/oauth-protected-resource"`) {
				t.Error("got", w.Header())
			}
		})
	}
	w := httptest.NewRecorder()
	whoami(a).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://fairlead.example/.well-known/oauth-protected-resource", nil))
	if got := w.Body.String(); !strings.Contains(got, `"authorization_servers":["`+url+`"]`) {
		t.Error("a client cannot find where to log in:", got)
	}
}

// authority returns a certificate that signs others, and what makes files of a certificate that it signs.
func authority(t *testing.T) (pool *x509.CertPool, text []byte, sign func(name string) (cert, key string)) {
	t.Helper()
	key := newKey(t)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(root)
	return pool, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), func(name string) (string, string) {
		own := newKey(t)
		leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
		der, err := x509.CreateCertificate(rand.Reader, leaf, root, own.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := x509.MarshalPKCS8PrivateKey(own)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for file, block := range map[string]*pem.Block{"/crt": {Type: "CERTIFICATE", Bytes: der}, "/key": {Type: "PRIVATE KEY", Bytes: secret}} {
			if err := os.WriteFile(dir+file, pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir + "/crt", dir + "/key"
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	pool, text, sign := authority(t)
	_, _, other := authority(t)
	signers := file(t, string(text))
	cert, key := sign("the server")
	a, err := access.Open(file(t, fmt.Sprintf(`{"hosts": ["127.0.0.1"], "tls": {"certificate": %q, "key": %q, "clients": %q}, "approvers": ["ann"]}`, cert, key, signers)))
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: whoami(a), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(a.Listen(l)) }()
	t.Cleanup(func() { _ = s.Close() })
	for name, c := range map[string]struct {
		signed func(string) (string, string)
		want   string
	}{
		"a user":               {sign, `"ann" false [] [] true`},
		"without one":          {nil, "401 this proxy needs a client certificate"},
		"of another authority": {other, "remote error: tls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := &tls.Config{RootCAs: pool}
			if c.signed != nil {
				pair, err := tls.LoadX509KeyPair(c.signed("ann"))
				if err != nil {
					t.Fatal(err)
				}
				config.Certificates = []tls.Certificate{pair}
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
			defer client.CloseIdleConnections()
			var got string
			if res, err := client.Get("https://" + l.Addr().String()); err != nil {
				got = err.Error()
			} else {
				body, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if got = strings.TrimSpace(string(body)); res.StatusCode != http.StatusOK {
					got = fmt.Sprint(res.StatusCode, " ", got)
				}
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The client of a token, and its actors, are known beside the user. A token that states them in a way that
// cannot be recorded is refused.
func TestClientAndActorsOfAToken(t *testing.T) {
	t.Parallel()
	c, a, _ := changes(t)
	key := c.has("old")["old"]
	var got access.Caller
	var brought string
	a.Brought = func(_ access.Caller, token string, _ time.Time) { brought = token }
	h := a.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = access.Of(r.Context()) }), nil)
	as := func(claims string) (int, access.Caller) {
		got = access.Caller{}
		token := oidctest.SignIDToken(key, "old", oidc.ES256, fmt.Sprintf(`{"iss":%q,"aud":"here","sub":"ann","exp":%d%s}`, c.url, time.Now().Add(time.Hour).Unix(), claims))
		r := httptest.NewRequest(http.MethodPost, "http://a/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if (w.Code == http.StatusOK) != (brought == token) {
			t.Errorf("%s: got %d, and the token was handed on: %t", claims, w.Code, brought == token)
		}
		return w.Code, got
	}
	names := make(map[string]string)
	for claims, want := range map[string]access.Caller{
		``:                                {User: "ann"},
		`,"azp":"desk"`:                   {User: "ann", Client: "desk"},
		`,"client_id":"desk","scope":"x"`: {User: "ann", Client: "desk"},
		`,"azp":"cli","client_id":"desk"`: {User: "ann", Client: "cli"},
		`,"act":{"sub":"planner"}`:        {User: "ann", Actors: []string{"planner"}},
		`,"act":{"client_id":"planner"}`:  {User: "ann", Actors: []string{"planner"}},
		`,"azp":"desk","act":{"sub":"coder","act":{"sub":"planner"}}`: {User: "ann", Client: "desk", Actors: []string{"coder", "planner"}},
	} {
		status, got := as(claims)
		if status != http.StatusOK || got.User != want.User || got.Client != want.Client || !slices.Equal(got.Actors, want.Actors) {
			t.Errorf("%s: got %d, %+v, want %+v", claims, status, got, want)
		}
		if strings.Contains(claims, `"azp":"desk"`) {
			names[got.String()] = claims
		}
	}
	if len(names) != 2 {
		t.Errorf("callers with other actors have the same name: %v", names)
	}
	for _, claims := range []string{
		`,"azp":7`, `,"azp":""`, `,"client_id":["a"]`, `,"act":"planner"`, `,"act":{}`, `,"act":{"sub":""}`, `,"act":{"sub":"a\u202eb"}`,
		`,"act":{"sub":"a","act":null}`, `,"act":` + strings.Repeat(`{"sub":"a","act":`, 8) + `{"sub":"a"}` + strings.Repeat("}", 8),
		`,"ACT":{"sub":"planner"}`,
	} {
		if status, got := as(claims); status != http.StatusUnauthorized {
			t.Errorf("%s: got %d, %+v", claims, status, got)
		}
	}
}
