//go:build unix

package outages

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// An answer is what a client got for a call.
type answer struct {
	done bool   // a result without an error
	text string // of the result or the error
	lost bool   // there was no answer
}

// notCalled reports whether the answer states that nothing happened.
func (a answer) notCalled() bool {
	for _, words := range []string{"was not called", "nothing was called", "Nothing has happened", notSent} {
		if strings.Contains(a.text, words) {
			return true
		}
	}
	return false
}

// notSent is the text of a call that did not leave the client.
const notSent = "no session"

// mayHave reports whether the client has to think that the call may have happened.
func (a answer) mayHave() bool { return !a.done && !a.notCalled() }

// A client makes calls at one replica, and goes to the other one if that does not answer.
type client struct {
	rig         *rig
	user, token string
	number      int
	at          int // which replica
	session     string
	ids         int

	made, failed, lost, repeated int
	why                          map[string]int  // calls failed, by the begin of the text
	attempts                     map[string]int  // of writes, by the id
	denied                       map[string]bool // ids whose only attempt was answered with "was not called"
	slowest                      time.Duration
}

func (r *rig) client(user string, number int) *client {
	return &client{rig: r, user: user, token: r.issuer.token(user), number: number, at: number % 2, attempts: make(map[string]int), why: make(map[string]int), denied: make(map[string]bool)}
}

// work makes calls until ctx is done: reads, writes, and deletions that a person approves or denies.
func (c *client) work(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		switch at := rand.IntN(100); {
		case at < 74:
			c.count(c.call("get_item", fmt.Sprint(rand.IntN(200))))
		case at < 97:
			c.write("add_item", fmt.Sprintf("w-%d-%d", c.number, n))
		case at < 99:
			c.write("delete_item", fmt.Sprintf("d-%d-%d-yes", c.number, n))
		default:
			c.write("delete_item", fmt.Sprintf("d-%d-%d-no", c.number, n))
		}
		time.Sleep(time.Duration(50+rand.IntN(200)) * time.Millisecond)
	}
}

func (c *client) count(a answer) {
	switch {
	case a.done:
		c.made++
	case a.lost:
		c.lost++
	default:
		c.failed++
		text := strings.Join(strings.Fields(a.text), " ")
		c.why[text[:min(len(text), 90)]]++
	}
}

// write makes a call that has an effect, and repeats it at the other replica if it may have happened, as an agent does.
func (c *client) write(tool, id string) {
	a := c.call(tool, id)
	c.attempts[id]++
	c.denied[id] = a.notCalled()
	c.count(a)
	if a.mayHave() {
		c.at = 1 - c.at
		c.count(c.call(tool, id))
		c.attempts[id]++
		c.repeated++
	}
}

func (c *client) call(tool, id string) answer {
	began := time.Now()
	defer func() { c.slowest = max(c.slowest, time.Since(began)) }()
	for range 3 {
		if c.session == "" && !c.hello() {
			return answer{text: notSent}
		}
		status, a := c.post("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"id":%q}}`, tool, id))
		switch {
		case status == http.StatusNotFound:
			c.session = ""
			continue
		case a.lost:
			c.at = 1 - c.at
		}
		return a
	}
	return answer{text: notSent}
}

// hello opens a session at one of the replicas.
func (c *client) hello() bool {
	for range 2 {
		if status, _ := c.post("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}`); status == http.StatusOK && c.session != "" {
			c.post("notifications/initialized", `{}`)
			return true
		}
		c.at = 1 - c.at
	}
	time.Sleep(200 * time.Millisecond)
	return false
}

var httpClient = &http.Client{Timeout: 40 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 50}}

func (c *client) post(method, params string) (status int, a answer) {
	c.ids++
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.ids, method, params)
	if strings.HasPrefix(method, "notifications/") {
		body = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+c.rig.replicas[c.at].at+"/mcp", strings.NewReader(body))
	if err != nil {
		return 0, answer{lost: true}
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + c.token,
		"MCP-Protocol-Version": "2025-06-18", "Mcp-Session-Id": c.session,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := httpClient.Do(req)
	if err != nil {
		return 0, answer{lost: !refusedConnection(err), text: err.Error()}
	}
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	return res.StatusCode, read(res)
}

// refusedConnection reports whether a request did not leave, since nothing listened.
func refusedConnection(err error) bool { return strings.Contains(err.Error(), "connection refused") }

// read reads the answer of a response, which may be a stream.
func read(res *http.Response) answer {
	text, err := io.ReadAll(res.Body)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		last := []byte(nil)
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok && (bytes.Contains(data, []byte(`"result"`)) || bytes.Contains(data, []byte(`"error"`))) {
				last = bytes.Clone(data)
			}
		}
		if last == nil {
			return answer{lost: true, text: "the stream ended"}
		}
		text, err = last, nil
	}
	if err != nil {
		return answer{lost: true, text: err.Error()}
	}
	var m struct {
		Result *struct {
			IsError bool
			Content []struct{ Text string }
		}
		Error *struct{ Message string }
	}
	switch err := json.Unmarshal(text, &m); {
	case err != nil:
		return answer{text: string(text)}
	case m.Error != nil:
		return answer{text: m.Error.Message}
	case m.Result == nil:
		return answer{text: string(text)}
	}
	a := answer{done: res.StatusCode == http.StatusOK && !m.Result.IsError}
	for _, part := range m.Result.Content {
		a.text += part.Text
	}
	return a
}

// An approver looks at the page of approvals, and approves a deletion whose id ends with yes, once. It denies what is asked
// about again, since the call may have happened.
type approver struct {
	rig   *rig
	token string

	mu      sync.Mutex
	decided map[string]bool // whether the call with the id was approved
	denied  int
}

var (
	card = regexp.MustCompile(`(?s)<article.*?</article>`)
	ofID = regexp.MustCompile(`\b[wd]-\d+-\d+(?:-yes|-no)?\b`)
	key  = regexp.MustCompile(`data-id="([^"]+)"`)
	sum  = regexp.MustCompile(`name="digest" value="([^"]*)"`)
)

func (p *approver) work(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		at := p.rig.replicas[n%2].at
		page, err := p.do(http.MethodGet, at, "/approvals/", nil)
		if err != nil {
			page = "" // the other replica has it too
		}
		for _, one := range card.FindAllString(page, -1) {
			p.decide(at, one)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (p *approver) decide(at, card string) {
	question, digest, id := key.FindStringSubmatch(card), sum.FindStringSubmatch(card), ofID.FindString(card)
	if question == nil || digest == nil || id == "" {
		p.rig.t.Errorf("a question cannot be read: %s", card)
		return
	}
	decision := "deny"
	p.mu.Lock()
	if _, known := p.decided[id]; !known && strings.HasSuffix(id, "-yes") {
		decision = "approve"
		p.decided[id] = true
	} else {
		p.denied++
	}
	p.mu.Unlock()
	_, _ = p.do(http.MethodPost, at, "/approvals/question/"+question[1]+"/decision", url.Values{"decision": {decision}, "digest": {html.UnescapeString(digest[1])}})
}

func (p *approver) approved(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.decided[id]
}

func (p *approver) do(method, at, path string, form url.Values) (string, error) {
	req, err := http.NewRequest(method, "http://"+at+path, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "http://"+at)
	req.Header.Set("Authorization", "Bearer "+p.token)
	res, err := pageClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		err = errors.Join(err, errors.New(res.Status))
	}
	return string(text), err
}

var pageClient = &http.Client{Timeout: 5 * time.Second}

// flood has one user open sessions and make requests as fast as it can.
func (r *rig) flood(d time.Duration) {
	ctx, stop := context.WithTimeout(context.Background(), d)
	defer stop()
	token := r.issuer.token("mallory")
	var flooding sync.WaitGroup
	var mu sync.Mutex
	turned, all := 0, 0
	for n := range 8 {
		flooding.Go(func() {
			for ctx.Err() == nil {
				c := &client{rig: r, token: token, at: n % 2}
				status, _ := c.post("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bot","version":"1"}}`)
				mu.Lock()
				all++
				if status == http.StatusTooManyRequests {
					turned++
				}
				mu.Unlock()
			}
		})
	}
	flooding.Wait()
	r.t.Logf("       the flood: %d requests, %d of them answered with 429", all, turned)
	if turned == 0 {
		r.t.Error("no request of the flood was turned away")
	}
}
