package inbox

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

func (in *Inbox) together(w http.ResponseWriter, r *http.Request, s *session) {
	in.look(r.Context())
	in.render(w, http.StatusOK, "together", in.ofTool(s, r))
}

func (in *Inbox) ofTool(s *session, r *http.Request) togetherPage {
	of := r.URL.Query()
	page := "?" + url.Values{"server": {of.Get("server")}, "tool": {of.Get("tool")}}.Encode()
	return togetherPage{listPage: in.listed(s, nil, page), Tool: safetext.Word(of.Get("server")+"/"+of.Get("tool"), maxNameShown), Together: page}
}

// decideTogether decides the questions that were ticked, each as it was shown. The list
// shows what became of each of them.
func (in *Inbox) decideTogether(w http.ResponseWriter, r *http.Request, s *session) {
	const prefix = "q-"
	fields := []string{"decision"}
	in.mu.Lock()
	for id := range in.waiting {
		fields = append(fields, prefix+id)
	}
	for id := range in.past {
		fields = append(fields, prefix+id)
	}
	in.mu.Unlock()
	form, err := readForm(w, r, fields...)
	var ticked []string
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if id, ok := strings.CutPrefix(name, prefix); ok {
			ticked = append(ticked, id)
		}
	}
	verdict, says := map[string]hitl.Verdict{"approve": hitl.Approved, "deny": hitl.Denied}[form.Get("decision")]
	if err == nil && (!says || len(ticked) == 0) {
		err = refuse(http.StatusBadRequest, "Nothing was ticked, or the form says neither yes nor no. Nothing was decided.")
	}
	if err != nil {
		in.logRefused(r, err)
		page := in.ofTool(s, r)
		page.Problem = err.Error()
		in.render(w, status(err), "together", page)
		return
	}
	for _, id := range ticked {
		var err error = errPart
		if q, _ := in.find(id); q == nil || verdict == hitl.Denied || in.card(s, q, listed).Plain() {
			err = in.decide(r.Context(), id, answer{digest: form.Get(prefix + id), decision: hitl.Decision{Verdict: verdict}}, s)
		}
		if err != nil {
			in.logRefused(r, err)
		}
	}
	http.Redirect(w, r, in.o.Path+"?"+url.Values{"done": ticked}.Encode(), http.StatusSeeOther)
}
