package inbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

// Whatever is not a person's own form, about what they were shown, in time and for
// the first time, is refused with a status and a line in the log, and the question
// waits on.
func TestRefused(t *testing.T) {
	const decision = "/approvals/question/one/decision"
	for _, tt := range []struct {
		name   string
		status int
		send   func(b *browser) page
	}{
		{"B207: GET decides nothing", http.StatusMethodNotAllowed, func(b *browser) page {
			return b.get(decision + "?" + b.form("one", "approve").Encode())
		}},
		{"B207: PUT", http.StatusMethodNotAllowed, func(b *browser) page {
			return b.do(b.request(http.MethodPut, decision, b.form("one", "approve").Encode()))
		}},
		{"B207: POST to what is only looked at", http.StatusMethodNotAllowed, func(b *browser) page {
			return b.post("/approvals/", b.form("one", "approve"))
		}},
		{"B209: no cookie", http.StatusUnauthorized, func(b *browser) page {
			form := b.form("one", "approve")
			b.client.Jar = nil
			return b.post(decision, form)
		}},
		{"B209: a cookie of somebody's own making", http.StatusUnauthorized, func(b *browser) page {
			form := b.form("one", "approve")
			at, _ := url.Parse(b.origin + "/approvals/")
			made := b.client.Jar.Cookies(at)
			made[0].Value = "AAAAAAAAAAAAAAAAAAAAAAAAAA"
			made[0].Path = "/approvals/"
			b.client.Jar.SetCookies(at, made)
			return b.post(decision, form)
		}},
		{"B213: another origin", http.StatusForbidden, func(b *browser) page {
			r := b.request(http.MethodPost, decision, b.form("one", "approve").Encode())
			r.Header.Set("Origin", "https://evil.example")
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			return b.do(r)
		}},
		{"B213: another origin in an old browser", http.StatusForbidden, func(b *browser) page {
			r := b.request(http.MethodPost, decision, b.form("one", "approve").Encode())
			r.Header.Set("Origin", "https://evil.example")
			r.Header.Del("Sec-Fetch-Site")
			return b.do(r)
		}},
		{"B213: another port of this machine", http.StatusForbidden, func(b *browser) page {
			r := b.request(http.MethodPost, decision, b.form("one", "approve").Encode())
			r.Header.Set("Origin", "http://127.0.0.1:9999")
			r.Header.Set("Sec-Fetch-Site", "same-site")
			return b.do(r)
		}},
		{"B213: no origin at all", http.StatusForbidden, func(b *browser) page {
			r := b.request(http.MethodPost, decision, b.form("one", "approve").Encode())
			r.Header.Del("Origin")
			r.Header.Del("Sec-Fetch-Site")
			return b.do(r)
		}},
		{"another host", http.StatusMisdirectedRequest, func(b *browser) page {
			r := b.request(http.MethodPost, decision, b.form("one", "approve").Encode())
			r.Host = "rebound.example:8080"
			r.Header.Set("Origin", "http://rebound.example:8080")
			return b.do(r)
		}},
		{"another host looks", http.StatusMisdirectedRequest, func(b *browser) page {
			r := b.request(http.MethodGet, "/approvals/", "")
			r.Host = "rebound.example:8080"
			return b.do(r)
		}},
		{"B215: text/plain", http.StatusUnsupportedMediaType, func(b *browser) page {
			r := b.request(http.MethodPost, decision, `{"decision":"approve"}`)
			r.Header.Set("Content-Type", "text/plain")
			return b.do(r)
		}},
		{"B215: JSON", http.StatusUnsupportedMediaType, func(b *browser) page {
			r := b.request(http.MethodPost, decision, `{"decision":"approve"}`)
			r.Header.Set("Content-Type", "application/json")
			return b.do(r)
		}},
		{"B217: an unknown id", http.StatusNotFound, func(b *browser) page {
			return b.post("/approvals/question/two/decision", b.form("one", "approve"))
		}},
		{"B227: another digest", http.StatusConflict, func(b *browser) page {
			return b.decides("one", "approve", "digest", strings.Repeat("0", 64))
		}},
		{"B227: no digest", http.StatusConflict, func(b *browser) page {
			form := b.form("one", "approve")
			form.Del("digest")
			return b.post(decision, form)
		}},
		{"B229: a member twice", http.StatusBadRequest, func(b *browser) page {
			form := b.form("one", "approve")
			form.Add("decision", "deny")
			return b.post(decision, form)
		}},
		{"B229: a member twice, the same", http.StatusBadRequest, func(b *browser) page {
			form := b.form("one", "approve")
			form.Add("decision", "approve")
			return b.post(decision, form)
		}},
		{"a member that the form does not have", http.StatusBadRequest, func(b *browser) page {
			return b.decides("one", "approve", "always", "yes")
		}},
		{"neither yes nor no", http.StatusBadRequest, func(b *browser) page { return b.decides("one", "yes") }},
		{"no percent-encoding", http.StatusBadRequest, func(b *browser) page {
			return b.do(b.request(http.MethodPost, decision, "decision=%zz"))
		}},
		{"B231: a large body", http.StatusRequestEntityTooLarge, func(b *browser) page {
			return b.do(b.request(http.MethodPost, decision, "reason="+strings.Repeat("a", inbox.MaxBody)))
		}},
		{"B235: a long reason", http.StatusBadRequest, func(b *browser) page {
			return b.decides("one", "deny", "reason", strings.Repeat("\x1b[31m<script>", 1<<20/13))
		}},
		{"an edit that is no JSON", http.StatusBadRequest, func(b *browser) page {
			return b.decides("one", "edit", "arguments", `{"path":`)
		}},
		{"an edit with a member twice", http.StatusBadRequest, func(b *browser) page {
			return b.decides("one", "edit", "arguments", `{"path":"a","path":"b"}`)
		}},
		{"an edit that is empty", http.StatusBadRequest, func(b *browser) page { return b.decides("one", "edit", "arguments", " ") }},
		{"to remember what was not offered", http.StatusBadRequest, func(b *browser) page {
			return b.decides("one", "approve", "remember", "session 1")
		}},
		{"to remember for longer than was offered", http.StatusBadRequest, func(b *browser) page {
			return b.decides("one", "approve", "remember", "always 0")
		}},
		{"to remember the offer before the first", http.StatusBadRequest, func(b *browser) page {
			return b.decides("one", "approve", "remember", "session -1")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := new(logged)
			served(t, inbox.Options{Logger: log.logger()}, func(t *testing.T, in *inbox.Inbox, n *network) {
				b := enters(t, n, in, "bob")
				r := asks(t, "one", `{"path":"a.txt"}`)
				r.Offers = []hitl.Offer{{Longest: hitl.Session}}
				a := ask(t.Context(), in, r)
				tt.send(b).want(t, tt.status)
				a.waits(t)
				if want := fmt.Sprintf("status=%d", tt.status); !strings.Contains(log.String(), want) {
					t.Errorf("no %s in the log:\n%s", want, log.String())
				}
				enters(t, n, in, "carl").decides("one", "deny").want(t, http.StatusOK)
				a.want(t, hitl.Denied)
			})
		})
	}
}
