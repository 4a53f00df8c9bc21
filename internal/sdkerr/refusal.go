package sdkerr

// By these statuses of HTTP a server, or what is in front of it, turns a request away before anything reads its body as
// a call: the token, the size, the media type or the session of the request was at fault. A status that a server may
// also give after it has begun, such as 408, 409 and every 5xx, is not among them, and neither is a redirect.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// turnsAway reports whether a status means that the request was not executed. A server of revision 2026-07-28 also gives
// 400 and 404 to the error of a call, so these count only if the body does not answer the request.
func turnsAway(status int, answers bool) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusProxyAuthRequired, http.StatusLengthRequired, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnsupportedMediaType, http.StatusMisdirectedRequest, http.StatusUpgradeRequired, http.StatusRequestHeaderFieldsTooLarge:
		return true
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone:
		return !answers
	}
	return false
}

// A refusal is how HTTP turned a request away. The zero value means that there was none.
type refusal struct {
	status  int
	session bool   // it was the session that the server did not have
	reason  string // the server's, for the host
}

// refusal returns how the request was turned away.
func (a *httpAnswer) refusal() refusal {
	body := a.read.reply()
	ended := a.session && (a.status == http.StatusNotFound || a.status == http.StatusBadRequest && !body.answers && aboutSession(body.reason))
	if !ended && !turnsAway(a.status, body.answers) {
		return refusal{}
	}
	return refusal{a.status, ended, body.reason}
}

// aboutSession reports whether a server's reason is that it does not have the session: some answer with 400 instead of
// 404, and no code of the protocol is about it.
func aboutSession(reason string) bool { return strings.Contains(strings.ToLower(reason), "session") }

// turnedAway takes over that HTTP refused the call, if only one request left.
func (e *Error) turnedAway(w *Wire, r refusal) {
	if r.status == 0 || !w.once() {
		return
	}
	e.refused, e.permanent, e.turned = true, !r.session, r
}

// words returns why a request was turned away, and what a model can do about it.
func (r refusal) words() (why, next string) {
	why, next = fmt.Sprintf("its server turned it away with HTTP %d before it ran", r.status), "The same call would only be refused again; tell the user."
	switch {
	case r.session:
		why, next = "its server had ended the session", "Call it again if it is still wanted."
	case r.status == http.StatusUnauthorized || r.status == http.StatusProxyAuthRequired:
		why = "its server did not accept the token"
	case r.status == http.StatusForbidden:
		why = "its server does not let this client make it"
	case r.status == http.StatusRequestEntityTooLarge || r.status == http.StatusRequestHeaderFieldsTooLarge:
		why, next = "its arguments are too long for its server", "Call it with less."
	}
	return why, next
}

// excerptLimit is how many bytes of the body of a refusal are kept.
const excerptLimit = 4 << 10

// An excerpt keeps the beginning of a body while another reader has it.
type excerpt struct {
	io.ReadCloser

	mu   sync.Mutex
	text []byte
}

func (e *excerpt) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, p[:min(n, excerptLimit-len(e.text))]...)
	return n, err
}

// A reply is the body of a refusal.
type reply struct {
	answers bool   // it has the ID of a request
	reason  string // its words, on one line
}

func (e *excerpt) reply() reply {
	if e == nil {
		return reply{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var body struct {
		ID          json.RawMessage `json:"id"`
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"` // of OAuth
	}
	text := string(e.text)
	if json.Unmarshal(e.text, &body) == nil {
		var its struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(body.Error, &its) // OAuth has a string there
		text = cmp.Or(its.Message, body.Description, text)
	}
	words := strings.Fields(strings.ToValidUTF8(text, ""))
	if text = strings.Join(words, " "); len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "")
	}
	return reply{len(body.ID) > 0 && string(body.ID) != "null", text}
}
