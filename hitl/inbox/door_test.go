package inbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

func TestGuesses(t *testing.T) {
	t.Run("B219: ids one after the other", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			a := ask(t.Context(), in, asks(t, "one", `{}`))
			form := b.form("one", "approve")
			got := make(map[int]int)
			for i := range 100 {
				got[b.post(fmt.Sprintf("/approvals/question/%d/decision", i), form).status]++
				got[b.get(fmt.Sprintf("/approvals/question/%d", i)).status]++
			}
			if got[http.StatusNotFound] != 20 || got[http.StatusTooManyRequests] != 180 {
				t.Errorf("got %v, want 20 times 404 and 180 times 429", got)
			}
			b.decides("one", "approve").want(t, http.StatusOK) // what is known is not held up
			a.want(t, hitl.Approved)
		})
	})
	t.Run("tokens one after the other", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			inside := enters(t, n, in, "")
			link, err := url.Parse(in.Link(origin, ""))
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[int]int)
			b := newBrowser(t, n)
			for i := range 100 {
				got[b.post("/approvals/enter", url.Values{"token": {fmt.Sprint(i)}}).status]++
			}
			if got[http.StatusUnauthorized] != 20 || got[http.StatusTooManyRequests] != 80 {
				t.Errorf("got %v, want 20 times 401 and 80 times 429", got)
			}
			inside.get("/approvals/").want(t, http.StatusOK) // who is in stays in
			form := url.Values{"token": {link.Query().Get("token")}}
			b.post("/approvals/enter", form).want(t, http.StatusTooManyRequests)
			time.Sleep(2 * time.Second)
			b.post("/approvals/enter", form).want(t, http.StatusOK)
		})
	})
}

func TestLink(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := newBrowser(t, n)
		link := strings.TrimPrefix(in.Link(origin+"/", "bob"), origin)
		door := b.get(link)
		door.want(t, http.StatusOK, "Go in")
		if cookies := door.header["Set-Cookie"]; cookies != nil {
			t.Errorf("a look let somebody in: %q", cookies)
		}
		b.get(link).want(t, http.StatusOK, "Go in") // a program may look before the person does
		form := url.Values{"token": {field(door.text, "token")}}
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		in1 := b.post("/approvals/enter", form)
		in1.want(t, http.StatusSeeOther)
		cookie := in1.header.Get("Set-Cookie")
		for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/approvals/", "Max-Age=43200"} {
			if !strings.Contains(cookie, part) {
				t.Errorf("no %s in %s", part, cookie)
			}
		}
		newBrowser(t, n).post("/approvals/enter", form).want(t, http.StatusUnauthorized, "used already")
		b.get("/approvals/").want(t, http.StatusOK, "bob")

		late := strings.TrimPrefix(in.Link(origin, ""), origin)
		time.Sleep(time.Hour)
		newBrowser(t, n).post("/approvals/enter", url.Values{"token": {field(b.get(late).text, "token")}}).want(t, http.StatusUnauthorized, "too old")
		b.get("/approvals/").want(t, http.StatusOK)
		time.Sleep(11 * time.Hour)
		b.client.Jar = keeping{b.client.Jar, cookie}
		b.get("/approvals/").want(t, http.StatusUnauthorized)
	})
}

// keeping is a jar whose cookies do not expire.
type keeping struct {
	http.CookieJar
	line string
}

func (k keeping) Cookies(*url.URL) []*http.Cookie {
	c, _ := http.ParseSetCookie(k.line)
	return []*http.Cookie{c}
}
