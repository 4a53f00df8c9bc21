package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// readForm reads a body of the page's forms: each field once, and none that the form does not have.
func readForm(w http.ResponseWriter, r *http.Request, fields ...string) (url.Values, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, errForm
	}
	// Where the host's server cannot set it, a slow body holds one goroutine and no more.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(slowBody))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errLarge
	}
	if err != nil {
		return nil, errSlow
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "The form cannot be read. Nothing was decided.")
	}
	for name, values := range form {
		if !slices.Contains(fields, name) || len(values) != 1 {
			return form, refuse(http.StatusBadRequest, "The form has %d fields %q. Nothing was decided.", len(values), safetext.Cut(safetext.Line(name), 40))
		}
	}
	return form, nil
}

// read makes an answer of a form that readForm has read. q is nil for a question that is over, and
// deciding it is refused later, with what became of it.
func read(form url.Values, q *question) (answer, error) {
	a := answer{digest: form.Get("digest")}
	bad := func(format string, args ...any) (answer, error) {
		return answer{}, refuse(http.StatusBadRequest, format+" Nothing was decided.", args...)
	}
	switch what := form.Get("decision"); {
	case what == "deny":
		reason := strings.ReplaceAll(form.Get("reason"), "\r\n", "\n")
		if len(reason) > maxReason {
			return bad("The reason has %d bytes; at most %d are passed on.", len(reason), maxReason)
		}
		if instead := form.Get("instead"); instead != "" && !slices.Contains(hitl.Instead[:], instead) {
			return bad("The page suggested no such reason.")
		}
		a.decision.Reason = strings.TrimSpace(form.Get("instead") + " " + strings.TrimSpace(plain(reason)))
	case what != "approve" && what != "edit":
		return bad("The form says neither yes nor no.")
	case q == nil:
		a.decision.Verdict = hitl.Approved
	case what == "edit":
		arguments, err := q.edited(form.Get("arguments"))
		if err != nil {
			return bad("The arguments have to be one JSON object with each member once: %v.", err)
		}
		a.decision.Verdict, a.decision.Arguments = hitl.Approved, arguments
	default:
		a.decision.Verdict = hitl.Approved
		offered := q.request.Choices()
		i := slices.IndexFunc(offered, func(c hitl.Choice) bool { return c.Name == cmp.Or(form.Get("remember"), "once") })
		if i < 0 {
			return bad("The page offered no such thing to remember.")
		}
		a.decision = offered[i].Decision
		for i, m := range q.request.Free {
			if form.Has(freeName(i)) && a.decision.Remember != hitl.Once && a.decision.Offer == 0 {
				a.decision.Free = append(a.decision.Free, m.Name)
			}
		}
	}
	return a, nil
}

func freeName(i int) string { return fmt.Sprintf("free-%d", i) }

// plain drops what a reader of the reason could not see.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && safetext.Invisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}
