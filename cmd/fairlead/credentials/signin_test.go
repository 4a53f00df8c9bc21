package credentials

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A callback counts once, for the user who began, in the browser that has the page open. Each of the three is held back by
// its own rule: the browser's mark may have been copied, and the sign-in may be under way still.
func TestCallbackCountsOnceForItsUserInTheirBrowser(t *testing.T) {
	t.Parallel()
	s := &signIn{account: &Account{user: "ann"}, ticket: "ticket-of-ann", browser: "mark", state: "state"}
	k := &Keeper{states: map[string]*signIn{"state": s}}
	from := func(mark string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/callback?state=state", http.NoBody)
		if mark != "" {
			r.AddCookie(&http.Cookie{Name: s.cookie(), Value: mark})
		}
		return r
	}
	for _, c := range []struct {
		name, state, user, mark string
		want                    int
	}{
		{"another user with the mark", "state", "bob", "mark", http.StatusForbidden},
		{"no user with the mark", "state", "", "mark", http.StatusForbidden},
		{"another browser", "state", "ann", "", http.StatusForbidden},
		{"another mark", "state", "ann", "other", http.StatusForbidden},
		{"another state", "other", "ann", "mark", http.StatusGone},
		{"no state", "", "ann", "mark", http.StatusGone},
		{"the first time", "state", "ann", "mark", 0},
		{"the second time", "state", "ann", "mark", http.StatusGone},
	} {
		got, status, err := k.take(c.state, c.user, from(c.mark))
		if status != c.want || (err == nil) != (c.want == 0) || (got == s) != (c.want == 0) {
			t.Errorf("%s: got %d, %v, want %d", c.name, status, err, c.want)
		}
	}
}
