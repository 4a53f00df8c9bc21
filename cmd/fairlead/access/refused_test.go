package access_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
)

// Why a token does not count is reported, as when the clocks of the issuer and of this machine are apart, without the token.
// A request without a token, and one whose token counts, are not.
func TestRefusedTokenIsReported(t *testing.T) {
	t.Parallel()
	url, sign := issuer(t)
	a, err := access.Open(file(t, fmt.Sprintf(`{"hosts": ["127.0.0.1"], "tokens": {"issuer": %q, "audience": "here"}}`, url)))
	if err == nil {
		err = a.Renew(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	var reported []string
	h := a.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(_ context.Context, why error) { reported = append(reported, why.Error()) })
	token := func(in time.Duration) string {
		return sign(fmt.Sprintf(`{"iss":"ISSUER","aud":"here","sub":"ann","exp":%d}`, time.Now().Add(in).Unix()))
	}
	for _, tt := range []struct{ name, header, want string }{
		{"no token", "", ""},
		{"one that counts", "Bearer " + token(time.Hour), ""},
		{"one that has expired by our clock", "Bearer " + token(-2*time.Hour), "token is expired"},
		{"one that is none", "Bearer sesame", "malformed jwt"},
	} {
		reported = nil
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
		if tt.header != "" {
			r.Header.Set("Authorization", tt.header)
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		if (len(reported) == 1) != (tt.want != "") || len(reported) > 0 && !strings.Contains(reported[0], tt.want) {
			t.Errorf("%s: reported %q, want %q", tt.name, reported, tt.want)
		}
		for part := range strings.SplitSeq(strings.TrimPrefix(tt.header, "Bearer "), ".") {
			if part != "" && strings.Contains(strings.Join(reported, ""), part) {
				t.Errorf("%s: the token is in %q", tt.name, reported)
			}
		}
	}
}
