package sim

// What a call is, apart from its tool: its law by its arguments, which the resolver of the scenario answers and the
// checks compute on their own.

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
)

// mode is the member of arguments that decides the effect of a call: "read" or "purge".
var mode = regexp.MustCompile(`"mode":"(read|purge)"|$`)

// modeOf returns the mode of arguments, "" for those that do not decide.
func modeOf(text string) string { return mode.FindStringSubmatch(text)[1] }

var rules = preflight.Rules{
	liar + "/frobnicate":     rule,
	liar + "/set_note":       rule,
	replica + "/get_note":    rule,
	replica + "/create_note": rule,
}

var rule = preflight.Strictest(preflight.When("mode", "read").Safe(), preflight.When("mode", "purge").Dangerous())

// Resolve is how servers answer questions about arguments without a rule: the honest ones truthfully,
// the liar that everything reads, and now and then not at all.
func (w *scenario) Resolve(_ context.Context, call middleware.Call) (annotation.Annotations, bool, error) {
	m := modeOf(string(call.Arguments))
	switch {
	case m == "":
		return annotation.Annotations{}, false, nil
	case !w.answers(w.find(call.ID)):
		return annotation.Annotations{}, true, errors.New("no answer")
	case m == "read" || call.Tool.Server == liar:
		return annotation.Annotations{ReadOnly: annotation.Yes}, true, nil
	}
	return annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.Yes}, true, nil
}

// answers reports whether servers answer questions about the call.
func (w *scenario) answers(r *record) bool { return w.dice(forResolver, uint64(r.n), 0).IntN(6) > 0 }

func (w *scenario) trusts(server string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.policy.trusted[server]
}

// lawOf returns what must hold for a call with these arguments. The caller holds the mutex.
func (w *scenario) lawOf(r *record, server string, revision int, text string) law {
	return w.sourced(r, w.judgedLaw(r, server, revision, text), text)
}

// judgedLaw is lawOf without the sources of the arguments.
func (w *scenario) judgedLaw(r *record, server string, revision int, text string) law {
	static, m := w.policy.law(server, r.tool, revision), modeOf(text)
	if m == "read" && server == r.server && w.policy.conditional(server, r.tool, revision) {
		return reads
	}
	if !w.settings.judged || m == "" || server != r.server { // a call that goes elsewhere is not judged
		return static
	}
	at := place{server, r.tool.name}
	switch _, ruled := rules[server+"/"+r.tool.name]; {
	case w.wild(r, text):
		return asks
	case ruled:
		return reads
	case m == "purge" || !w.answers(r) || !w.policy.trusted[server]:
		return static
	}
	return max(reads, w.policy.word[at]) // the host's override holds
}

// wild reports whether the arguments make the call one that needs an approval, whatever its tool is.
// An untrusted server is not asked about calls that need one anyway.
func (w *scenario) wild(r *record, text string) bool {
	_, ruled := rules[r.server+"/"+r.tool.name]
	return w.settings.judged && modeOf(text) == "purge" && (ruled || r.server != liar && (r.trusted || r.static != asks) && w.answers(r))
}

// lowered reports whether the arguments make an approval unnecessary.
func (r *record) lowered() bool { return r.static == asks && r.law < asks }

// A question is what a remembered approval covers.
type question struct {
	effect

	digest middleware.Digest
	narrow bool // each chain remembers its own approvals
}

// edit returns the arguments of an approver's edit. They are never less strict.
func (w *scenario) edit(r *record, shown string) string {
	if w.settings.judged && (modeOf(shown) == "purge" || r.n%2 == 0) {
		return editedWorse
	}
	return edited
}

// naming are the tools of trusty with entities in their arguments.
var naming = []string{"get_note", "set_note", "create_note"}

func (w *scenario) names(server, tool, text string) string {
	if !w.settings.entities || server != trusty || !slices.Contains(naming, tool) {
		return ""
	}
	var a struct {
		ID json.RawMessage `json:"id"`
	}
	if text == ambiguous || json.Unmarshal([]byte(text), &a) != nil {
		return ""
	}
	return string(a.ID)
}

// touch reports whether one of the writes may change what is named.
func touch(writes []string, named string) bool {
	return slices.ContainsFunc(writes, func(w string) bool { return w == "" || named == "" || w == named })
}
