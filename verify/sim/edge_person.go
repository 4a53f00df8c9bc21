package sim

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/verify/world"
)

type desk uint8

const (
	atHost  desk = iota // by the host itself
	inForms             // by forms that the clients show, or by the host where a client shows none
	onPage              // on the page of the inbox
)

func (w *edges) confirmer() hitl.Confirmer {
	switch w.settings.desk {
	case inForms:
		return proxy.Fallback(elicit.New(elicit.Options{}), w)
	case onPage:
		in := inbox.New(inbox.Options{})
		b := w.enters(in)
		return hitl.ConfirmerFunc(func(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
			w.begin(func() { b.decides(request.ID) })
			return in.Confirm(ctx, request)
		})
	}
	return w
}

var edgeManners = []manner{denies, silent, late, closes, leaves, approves, approves, approves, approves, approves, approves, approves}

// decide shows the person a question, and returns the answer: silent if the context ends before it, unless the
// person does not heed that. An approval counts if it is in time.
func (w *edges) decide(ctx context.Context, shown *approved) manner {
	how, wait := w.drawAnswer(shown)
	if how == late {
		ctx = w.ctx
	}
	if how == silent || world.Wait(ctx, wait) != nil {
		return silent
	}
	if how == approves {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.say("person", "approves", shown.String())
		w.approvals = append(w.approvals, shown)
	}
	return how
}

func (w *edges) drawAnswer(shown *approved) (how manner, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dice := w.dice(forEdges, 2, uint64(w.numberIn(shown.arguments)))
	how, wait = edgeManners[dice.IntN(len(edgeManners))], span(dice, 10*time.Millisecond, 12*time.Second)
	w.say("person", "is asked", shown.String())
	if a := w.askOf(shown.arguments); a != nil && (a.rule.denied == shown.tool || a.rule.readOnly) && a.rule == w.rule {
		w.badf("I22", a, "is asked about and must be refused")
	}
	if w.settings.locked && shown.revision != 1 {
		w.badf("I7 pins", shown, "is asked about and was never accepted")
	}
	switch {
	case w.quiet:
		how, wait = approves, 0
	case how == late:
		wait = 2 * askTimeout
	}
	return how, wait
}

func (w *edges) Confirm(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	shown := &approved{server: request.Tool.Server, tool: request.Tool.Name(), arguments: compact(request.Arguments), revision: revisionOf(request.Tool.Definition)}
	switch w.decide(ctx, shown) {
	case denies, closes:
		return hitl.Decision{Reason: "not today"}, nil
	case silent, leaves:
		<-ctx.Done()
		return hitl.Decision{}, ctx.Err()
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "sim"}, nil
}

var (
	inForm = regexp.MustCompile(`(?s) asks for (\w+)/(\w+).*Notes, revision (\d)\..*\nAs JSON:\n\n((?:    [^\n]*\n)+)`)
	inPage = regexp.MustCompile(`(?s)<p class="asker"><bdi>[^<]* asks for (\w+)/(\w+).*?name="digest" value="(\w+)".*Notes, revision (\d)\..*<textarea id="arguments"[^>]*>(.*?)</textarea>`)
)

func shownAs(server, tool, revision, arguments string) *approved {
	n, _ := strconv.Atoi(revision) // it is a digit
	return &approved{server: server, tool: tool, revision: n, arguments: compact([]byte(arguments))}
}

// fill returns a client's answer to a form, "" if the person is silent.
func (p *peer) fill(form json.RawMessage) string {
	m := inForm.FindStringSubmatch(text(readers[0].member(form, "message")))
	if m == nil {
		p.w.badf("harness", p.w.asks[0], "%s cannot read the form %s", p.name, form)
		return ""
	}
	switch p.w.decide(p.w.ctx, shownAs(m[1], m[2], m[3], m[4])) {
	case silent:
		return ""
	case denies:
		return `{"action":"accept","content":{"decision":"deny"}}`
	case closes:
		return `{"action":"cancel"}`
	case leaves:
		if p.modern { // it has nothing to end
			return ""
		}
		p.quit()
	}
	return `{"action":"accept","content":{"decision":"allow"}}`
}

// A browser shows a person the page of an inbox.
type browser struct {
	w      *edges
	page   http.Handler
	cookie string
}

const origin = "http://127.0.0.1"

// enters opens the page by its link.
func (w *edges) enters(in *inbox.Inbox) *browser {
	b := &browser{w: w, page: in}
	_, token, _ := strings.Cut(in.Link(origin, "sim"), "=")
	res := b.opens("/approvals/enter", url.Values{"token": {token}}.Encode())
	b.cookie, _, _ = strings.Cut(res.Header().Get("Set-Cookie"), ";")
	return b
}

func (b *browser) opens(path, form string) *httptest.ResponseRecorder {
	res := httptest.NewRecorder()
	b.page.ServeHTTP(res, request(b.w.ctx, origin+path, form, "Content-Type", "application/x-www-form-urlencoded", "Origin", origin, "Cookie", b.cookie))
	return res
}

// decides has the person read the page of a question and press a button.
func (b *browser) decides(id string) {
	time.Sleep(time.Millisecond) // until it is there
	path := "/approvals/question/" + id
	m := inPage.FindStringSubmatch(html.UnescapeString(b.opens(path, "").Body.String()))
	if m == nil {
		return // it is over already
	}
	shown := shownAs(m[1], m[2], m[4], m[5])
	press := "approve"
	switch b.w.decide(b.w.ctx, shown) {
	case silent, leaves:
		return
	case denies, closes:
		press = "deny"
	}
	if res := b.opens(path+"/decision", url.Values{"decision": {press}, "digest": {m[3]}}.Encode()); res.Code != http.StatusSeeOther {
		b.w.mu.Lock()
		defer b.w.mu.Unlock()
		shown.used = true // it came too late
	}
}
