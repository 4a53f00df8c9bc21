package inbox_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}

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

// The first answer is the one.
func TestDecidedOnce(t *testing.T) {
	for _, tt := range []struct {
		name, first, then string
		want              hitl.Verdict
		says              string
	}{
		{"B221: approved twice", "approve", "approve", hitl.Approved, "decided already: approved by bob"},
		{"B223: denied, then approved", "deny", "approve", hitl.Denied, "decided already: denied by bob"},
		{"approved, then denied", "approve", "deny", hitl.Approved, "decided already: approved by bob"},
		{"approved, then edited", "approve", "edit", hitl.Approved, "decided already: approved by bob"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
				b := enters(t, n, in, "bob")
				a := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
				second := b.form("one", tt.then, "arguments", `{"path":"/"}`)
				b.decides("one", tt.first).want(t, http.StatusOK)
				b.post("/approvals/question/one/decision", second).want(t, http.StatusConflict, tt.says)
				second.Set("digest", "of another")
				b.post("/approvals/question/one/decision", second).want(t, http.StatusConflict, "not what waits")
				a.want(t, tt.want)
			})
		})
	}
}

func TestTooLate(t *testing.T) {
	t.Run("B225: a millisecond after its time", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			a := ask(t.Context(), in, asks(t, "one", `{}`))
			form := b.form("one", "approve")
			time.Sleep(time.Minute + time.Millisecond)
			b.post("/approvals/question/one/decision", form).want(t, http.StatusGone, "time is over")
			if <-a.over; a.err == nil {
				t.Errorf("got %+v", a.decision)
			}
		})
	})
	t.Run("B225: before anybody has noticed", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			r := asks(t, "one", `{}`)
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan struct{})
			go func() { // no deadline of its own
				defer close(over)
				if d, err := in.Confirm(ctx, r); err == nil {
					t.Errorf("got %+v", d)
				}
			}()
			synctest.Wait()
			form := b.form("one", "approve")
			time.Sleep(time.Minute)
			synctest.Wait() // the idle connection is closed at this instant
			b.post("/approvals/question/one/decision", form).want(t, http.StatusGone)
			cancel()
			<-over
		})
	})
}

// What was sent once counts for nothing else.
func TestReplay(t *testing.T) {
	t.Run("B233: for a new call that is the same", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			first := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
			captured := b.form("one", "approve")
			b.post("/approvals/question/one/decision", captured).want(t, http.StatusOK)
			first.want(t, hitl.Approved)
			second := ask(t.Context(), in, asks(t, "two", `{"path":"a.txt"}`))
			b.post("/approvals/question/one/decision", captured).want(t, http.StatusConflict, "decided already")
			b.post("/approvals/question/two/decision", captured).want(t, http.StatusConflict, "not what waits")
			second.waits(t)
			b.decides("two", "deny")
			second.want(t, hitl.Denied)
		})
	})
}

// The digest is over everything that a yes is to.
func TestOtherDigest(t *testing.T) {
	for name, change := range map[string]func(r *hitl.Request){
		"the id":              func(r *hitl.Request) { r.ID = "two" },
		"the arguments":       func(r *hitl.Request) { r.Arguments = []byte(`{"path":"/"}`) },
		"spelled otherwise":   func(r *hitl.Request) { r.Arguments = []byte(`{ "path":"a.txt"}`) },
		"the definition":      func(r *hitl.Request) { r.Tool = tool(t, "delete", "Delete all files.") },
		"the tool":            func(r *hitl.Request) { r.Tool = tool(t, "purge", "Delete a file.") },
		"whose call it is":    func(r *hitl.Request) { r.Scope = "carl" },
		"a draft":             func(r *hitl.Request) { r.Drafts = []hitl.Draft{{ID: "1", Shown: "x"}} },
		"what may be offered": func(r *hitl.Request) { r.Offers = []hitl.Offer{{Longest: hitl.Always}} },
	} {
		t.Run(name, func(t *testing.T) {
			var digests []string
			for _, f := range []func(*hitl.Request){func(*hitl.Request) {}, func(*hitl.Request) {}, change} {
				served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
					b := enters(t, n, in, "")
					r := asks(t, "one", `{"path":"a.txt"}`)
					f(&r)
					a := ask(t.Context(), in, r)
					digests = append(digests, b.form(r.ID, "deny").Get("digest"))
					b.decides(r.ID, "deny")
					<-a.over
				})
			}
			if digests[0] == "" || digests[0] != digests[1] || digests[0] == digests[2] {
				t.Errorf("got %q", digests)
			}
		})
	}
}

// The one who asks is not the one who answers.
func TestRequesterCannotApprove(t *testing.T) {
	for _, tt := range []struct {
		name, by string
		options  inbox.Options
		status   int
	}{
		{"B211: by its own name", "ann", inbox.Options{}, http.StatusForbidden},
		{"by its own name, in another case", "Ann ", inbox.Options{}, http.StatusForbidden},
		{"B211: opted in", "ann", inbox.Options{OwnCalls: true}, http.StatusOK},
		{"somebody else", "bob", inbox.Options{}, http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := new(logged)
			tt.options.Logger = log.logger()
			served(t, tt.options, func(t *testing.T, in *inbox.Inbox, n *network) {
				b := enters(t, n, in, tt.by)
				a := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
				for _, decision := range []string{"edit", "approve"} {
					if tt.status != http.StatusOK || decision == "approve" {
						b.decides("one", decision, "arguments", `{"path":"b"}`).want(t, tt.status)
					}
				}
				if tt.status == http.StatusOK {
					a.want(t, hitl.Approved)
					return
				}
				a.waits(t)
				if !strings.Contains(log.String(), "status=403") {
					t.Errorf("not in the log:\n%s", log.String())
				}
				if strings.Contains(b.get("/approvals/").text, `value="approve"`) {
					t.Error("the page has a button that does nothing")
				}
				b.decides("one", "deny").want(t, http.StatusOK)
				a.want(t, hitl.Denied)
			})
		})
	}
	t.Run("B211: with all that a model can see and no cookie", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			a := ask(t.Context(), in, asks(t, "one", `{}`))
			form := b.form("one", "approve")
			model := newBrowser(t, n)
			model.post("/approvals/question/one/decision", form).want(t, http.StatusUnauthorized)
			model.get("/approvals/").want(t, http.StatusUnauthorized)
			model.get("/approvals/question/one").want(t, http.StatusUnauthorized)
			model.get("/approvals/version").want(t, http.StatusUnauthorized)
			a.waits(t)
			b.decides("one", "deny")
		})
	})
}

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

// A body that trickles in ends in ten seconds, whoever else waits.
func TestSlowBody(t *testing.T) {
	t.Run("B231: a byte a second", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			a := ask(t.Context(), in, asks(t, "one", `{}`))
			r := b.request(http.MethodPost, "/approvals/question/one/decision", "")
			r.Body, r.ContentLength = io.NopCloser(&trickle{left: []byte(b.form("one", "approve").Encode())}), -1
			began := time.Now()
			b.do(r).want(t, http.StatusRequestTimeout)
			if took := time.Since(began); took < 9*time.Second || took > 12*time.Second {
				t.Errorf("it took %v", took)
			}
			a.waits(t)
			b.decides("one", "approve").want(t, http.StatusOK)
			a.want(t, hitl.Approved)
			time.Sleep(time.Minute) // the sender notices that nobody listens any more
		})
	})
}

type trickle struct{ left []byte }

func (r *trickle) Read(b []byte) (int, error) {
	time.Sleep(time.Second)
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:1], r.left)
	r.left = r.left[n:]
	return n, nil
}

// Nothing is kept by a browser, told to others, framed or run.
func TestHeaders(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		for _, path := range []string{"/approvals/", "/approvals/question/x", "/approvals/style.css", "/approvals/script.js", "/approvals/nothing", "/approvals/?token=x"} {
			p := b.get(path)
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
				"Content-Security-Policy": "default-src 'none'; script-src 'self'",
			} {
				if !strings.HasPrefix(p.header.Get(name), want) {
					t.Errorf("%s: %s is %q", path, name, p.header.Get(name))
				}
			}
			if strings.Contains(p.text, "<script>") || strings.Contains(p.text, "style=") || strings.Contains(p.text, "javascript:") {
				t.Errorf("%s: something stands in the page that the policy forbids", path)
			}
		}
	})
}
