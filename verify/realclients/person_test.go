package realclients_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A person decides on the page of the proxy, one question after the other.
type person struct {
	t         *testing.T
	said      *os.File
	ended     chan struct{}
	decisions []string // what is remembered with an approval; "" denies
	asked     int
}

// person reads the links that the proxy writes to standard error, until it leaves.
func (h *home) person(decisions ...string) *person {
	h.t.Helper()
	said, err := os.OpenFile(h.path("said"), os.O_RDWR, 0) // it does not wait for the proxy
	if err != nil {
		h.t.Fatal(err)
	}
	p := &person{h.t, said, make(chan struct{}), decisions, 0}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if lines.Text() == "the person leaves" {
				return
			}
			if _, link, ok := strings.Cut(lines.Text(), "waits for approval at "); ok {
				p.decide(strings.Fields(link)[0])
			}
		}
	}()
	return p
}

// leave ends once all that the proxy wrote was read.
func (p *person) leave() {
	p.t.Helper()
	if _, err := io.WriteString(p.said, "the person leaves\n"); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
	_ = p.said.Close()
}

var (
	form   = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>`)
	hidden = regexp.MustCompile(`<input[^>]*type="hidden"[^>]*name="([^"]*)"[^>]*value="([^"]*)"`)
	open   = regexp.MustCompile(`<a class="open" href="([^"]*/question/[^"]*)"`)
)

// decide opens the link as a browser does, and the question, and submits the form for the next decision.
func (p *person) decide(link string) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Error(err)
		return
	}
	at, err := url.Parse(link)
	if err != nil {
		p.t.Error(err)
		return
	}
	b := browser{p.t, at, &http.Client{Jar: jar}}
	b.submit(b.get(link), "Go in", nil)
	// The line with the link is written before the question stands on the page.
	var question []string
	for end := time.Now().Add(patience); question == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		question = open.FindStringSubmatch(b.get("/approvals/"))
	}
	if question == nil {
		p.t.Error("the question is not on the page")
		return
	}
	p.asked++
	if p.asked > len(p.decisions) || p.decisions[p.asked-1] == "" {
		b.submit(b.get(question[1]), ">Deny<", url.Values{"decision": {"deny"}})
		return
	}
	b.submit(b.get(question[1]), "Approve and remember", url.Values{"decision": {"approve"}, "remember": {p.decisions[p.asked-1]}})
}

// A browser has the cookies of a person.
type browser struct {
	t    *testing.T
	at   *url.URL
	http *http.Client
}

func (b browser) get(path string) string { return b.do(http.MethodGet, path, nil) }

// submit submits the form of a page that has a text.
func (b browser) submit(page, text string, values url.Values) {
	for _, f := range form.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(f[2], text) {
			continue
		}
		all := url.Values{}
		for _, field := range hidden.FindAllStringSubmatch(f[2], -1) {
			all.Set(field[1], field[2])
		}
		for name := range values {
			all.Set(name, values.Get(name))
		}
		b.do(http.MethodPost, strings.ReplaceAll(f[1], "&amp;", "&"), all)
		return
	}
	b.t.Errorf("there is no form with %q on\n%s", text, page)
}

func (b browser) do(method, path string, values url.Values) string {
	to, err := b.at.Parse(path)
	if err != nil {
		b.t.Error(err)
		return ""
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, to.String(), strings.NewReader(values.Encode()))
	if err != nil {
		b.t.Error(err)
		return ""
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.at.Scheme+"://"+b.at.Host)
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Error(err)
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		b.t.Errorf("%s %s: %s %v\n%s", method, path, res.Status, err, text)
	}
	return string(text)
}
