package proxy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// An httpError is a status of HTTP in the place of an answer. Whether the request was executed is decided by the status,
// see [mount.RoundTripper].
type httpError struct {
	status string
	reason string // the server's, on one line
	ended  bool   // the server no longer has the session
}

func (e *httpError) Error() string {
	text := "HTTP " + e.status
	if e.ended {
		text += ", it no longer has the session"
	}
	if e.reason != "" {
		text += fmt.Sprintf(" (%q)", e.reason)
	}
	return text
}

// maxReason is how many bytes of a body are read for its reason.
const maxReason = 4 << 10

// reasonIn returns the reason that the body of a refusal gives: of JSON-RPC, of OAuth, or a plain text.
func reasonIn(body []byte) string {
	text := string(body[:min(len(body), maxReason)])
	if all := members(body); all != nil {
		text = cmp.Or(textOf(all["error"], "message"), textOf(body, "error_description"), text)
	}
	return strings.TrimSpace(safetext.Line(safetext.Cut(text, 200)))
}

// aboutSession reports whether a reason names the session: some servers answer with 400 where the protocol has 404.
func aboutSession(reason string) bool { return strings.Contains(strings.ToLower(reason), "session") }

// answers reports whether a message is the response to a request. Some servers write the ID 1 as "1".
func (m *message) answers(request *message) bool {
	return m.Method == "" && (m.id() == request.id() || m.id() == otherForm(request.id()))
}

// otherForm returns an ID as the other of text and number, "" if it has no other form.
func otherForm(id string) string {
	var text string
	if json.Unmarshal([]byte(id), &text) != nil {
		if json.Valid([]byte(id)) && id != "null" && id != "true" && id != "false" {
			return string(quoted(id))
		}
		return ""
	}
	var number json.Number
	if json.Unmarshal([]byte(text), &number) != nil || number.String() != text {
		return ""
	}
	return text
}
