package access_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
)

// handmade returns a token whose signature is made by another rule than that of a public key.
func handmade(header, claims string, sign func(text string) []byte) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	return text + "." + base64.RawURLEncoding.EncodeToString(sign(text))
}

// asks sends a request with headers of its own over a socket, and returns the status and what it was answered.
func asks(t *testing.T, at string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		req.Header.Add("Authorization", h)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if (res.StatusCode == http.StatusUnauthorized) != (res.Header.Get("WWW-Authenticate") != "") {
		t.Errorf("got %d with WWW-Authenticate %q", res.StatusCode, res.Header.Get("WWW-Authenticate"))
	}
	return res.StatusCode, strings.TrimSpace(string(text))
}

// Each wrong token is refused over a real connection, for its own reason; and the same with the fault taken out counts.
func TestWrongTokens(t *testing.T) {
	t.Parallel()
	c := new(changing)
	served := httptest.NewServer(c)
	t.Cleanup(served.Close)
	c.url = served.URL
	key := c.has("k")["k"]
	a, err := access.Open(file(t, fmt.Sprintf(`{"hosts": ["127.0.0.1"], "tokens": {"issuer": %q, "audience": "here"}}`, c.url)))
	if err == nil {
		err = a.Renew(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(whoami(a))
	t.Cleanup(proxy.Close)
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	claims := func(iss, aud string, exp int64, more string) string {
		return fmt.Sprintf(`{"iss":%q,"aud":%s,"sub":"ann","exp":%d%s}`, iss, aud, exp, more)
	}
	ours := claims(c.url, `"here"`, in(time.Hour), "")
	sign := func(claims string) string { return oidctest.SignIDToken(key, "k", oidc.ES256, claims) }
	good := "Bearer " + sign(ours)
	bearer := func(claims string) []string { return []string{"Bearer " + sign(claims)} }
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	withPublicKey := func(text string) []byte { // the key that everybody has, as if it were a secret
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	nothing := func(string) []byte { return nil }
	parts := strings.Split(sign(ours), ".")
	for _, row := range []struct {
		name    string
		headers []string
		status  int
		want    string // in the answer
	}{
		{"the right one", []string{good}, 200, `"ann"`},
		{"the scheme in small letters", []string{"b" + good[1:]}, 200, `"ann"`},
		{"B370: expired a second ago", bearer(claims(c.url, `"here"`, in(-time.Second), "")), 401, "expired"},
		{"B370: without an expiry", bearer(fmt.Sprintf(`{"iss":%q,"aud":"here","sub":"ann"}`, c.url)), 401, "expired"},
		{"B370: an expiry that is text", bearer(fmt.Sprintf(`{"iss":%q,"aud":"here","sub":"ann","exp":"never"}`, c.url)), 401, "invalid token"},
		{"B371: of another audience", bearer(claims(c.url, `"mail"`, in(time.Hour), "")), 401, "audience"},
		{"B371: of no audience", bearer(claims(c.url, `[]`, in(time.Hour), "")), 401, "audience"},
		{"B371: an audience that begins with ours", bearer(claims(c.url, `"here.example"`, in(time.Hour), "")), 401, "audience"},
		{"B371: ours in capitals", bearer(claims(c.url, `"HERE"`, in(time.Hour), "")), 401, "audience"},
		{"B371: ours among others", bearer(claims(c.url, `["mail","here"]`, in(time.Hour), "")), 200, `"ann"`},
		{"B372: alg none", []string{"Bearer " + handmade(`{"alg":"none"}`, ours, nothing)}, 401, "invalid token"},
		{"B372: alg None with the known key", []string{"Bearer " + handmade(`{"alg":"None","kid":"k"}`, ours, nothing)}, 401, "invalid token"},
		{"B372: an empty signature", []string{"Bearer " + parts[0] + "." + parts[1] + "."}, 401, "invalid token"},
		{"B372: no signature", []string{"Bearer " + parts[0] + "." + parts[1]}, 401, "invalid token"},
		{"B372: HMAC by the public key", []string{"Bearer " + handmade(`{"alg":"HS256","kid":"k"}`, ours, withPublicKey)}, 401, "invalid token"},
		{"B373: an unknown kid", []string{"Bearer " + oidctest.SignIDToken(newKeyOf("stranger"), "stranger", oidc.ES256, ours)}, 401, "signature"},
		{"B373: a known kid of another key", []string{"Bearer " + oidctest.SignIDToken(newKeyOf("stranger"), "k", oidc.ES256, ours)}, 401, "signature"},
		{"B373: a kid that is a path", []string{"Bearer " + oidctest.SignIDToken(newKeyOf("stranger"), "../k", oidc.ES256, ours)}, 401, "signature"},
		{"B375: not before in four minutes", bearer(claims(c.url, `"here"`, in(time.Hour), fmt.Sprintf(`,"nbf":%d`, in(4*time.Minute)))), 200, `"ann"`},
		{"B375: not before in an hour", bearer(claims(c.url, `"here"`, in(2*time.Hour), fmt.Sprintf(`,"nbf":%d`, in(time.Hour)))), 401, "nbf"},
		{"B375: five minutes by a clock that is six behind", bearer(claims(c.url, `"here"`, in(-time.Minute), fmt.Sprintf(`,"iat":%d`, in(-6*time.Minute)))), 401, "expired"},
		{"B376: 40 KB", bearer(claims(c.url, `"here"`, in(time.Hour), `,"groups":"`+strings.Repeat("g", 30_000)+`"`)), 401, "bytes, want at most"},
		{"B376: 2 MB", []string{"Bearer " + strings.Repeat("a", 2<<20)}, 431, ""},
		{"B377: two headers, the first right", []string{good, "Bearer x"}, 400, "more than one"},
		{"B377: two headers, the second right", []string{"Bearer x", good}, 400, "more than one"},
		{"B377: two headers, the same", []string{good, good}, 400, "more than one"},
		{"B377: two tokens in one header", []string{good + ", " + good}, 401, ""},
		{"B377: two tokens with a blank", []string{good + " " + sign(ours)}, 401, ""},
		{"B378: Basic", []string{"Basic " + base64.StdEncoding.EncodeToString([]byte("ann:x"))}, 401, "no bearer token"},
		{"B378: no scheme", []string{sign(ours)}, 401, "no bearer token"},
		{"B378: no token", []string{"Bearer"}, 401, "no bearer token"},
		{"B378: an empty header", []string{""}, 401, "no bearer token"},
		{"B378: not a token", []string{"Bearer sesame"}, 401, "invalid token"},
		{"B378: two dots", []string{"Bearer .."}, 401, "invalid token"},
		{"B378: encrypted, of five parts", []string{"Bearer a.b.c.d.e"}, 401, "invalid token"},
		{"B379: of another issuer", bearer(claims("https://login.example", `"here"`, in(time.Hour), "")), 401, "issued by a different provider"},
		{"B379: the issuer with a slash", bearer(claims(c.url+"/", `"here"`, in(time.Hour), "")), 401, "issued by a different provider"},
		{"B379: of no issuer", bearer(fmt.Sprintf(`{"aud":"here","sub":"ann","exp":%d}`, in(time.Hour))), 401, "issued by a different provider"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if status, got := asks(t, proxy.URL, row.headers...); status != row.status || !strings.Contains(got, row.want) {
				t.Errorf("got  %d %.200s\nwant %d %s", status, got, row.status, row.want)
			}
		})
	}
}

// A token of a key that the issuer has added counts at once, and one of a key that it has replaced until the keys are
// renewed. A token of an unknown key does that, once in a time.
func TestKeyThatRotates(t *testing.T) {
	t.Parallel()
	c, a, as := changes(t)
	old := c.has("old")["old"]
	for _, row := range []struct {
		name string
		has  []string
		key  string
		want int
	}{
		{"B374: before", []string{"old"}, "old", http.StatusOK},
		{"B374: added", []string{"old", "new"}, "new", http.StatusOK},
		{"B374: the old one beside it", []string{"old", "new"}, "old", http.StatusOK},
		{"B374: another one, too soon", []string{"new", "third"}, "third", http.StatusUnauthorized},
		{"B374: another one, once the old one is gone", []string{"new", "third"}, "third", http.StatusOK},
		{"B374: the old one, which is gone", []string{"new", "third"}, "old", http.StatusUnauthorized},
	} {
		c.has(row.has...)
		by := old
		if row.key != "old" {
			by = newKeyOf(row.key)
		}
		if got := as(row.key, by); got != row.want {
			t.Errorf("%s: got %d, want %d", row.name, got, row.want)
		}
		if row.want == http.StatusUnauthorized {
			if err := a.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
