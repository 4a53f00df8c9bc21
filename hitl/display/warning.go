package display

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

// warnings returns what is known against a call, in the order of what a person has to think of first: whose idea it is,
// whether it happened already, whether it reads as it runs, whether it can be taken back, whom it concerns, and what
// leaves.
func warnings(r hitl.Request) (all []string) {
	sources := slices.DeleteFunc(slices.Clone(r.Sources), func(s middleware.Source) bool {
		return s.Rule == "" && (s.From != "result" || s.Trusted)
	})
	slices.SortStableFunc(sources, func(a, b middleware.Source) int { return min(1, len(b.Rule)) - min(1, len(a.Rule)) })
	for _, s := range sources {
		all = append(all, stranger(s))
	}
	if !r.InDoubt.IsZero() {
		all = append(all, fmt.Sprintf("It may have happened already: the same call was made %v ago, and its outcome is unknown. This one may do it again.",
			time.Since(r.InDoubt).Round(time.Second)))
	}
	form, _ := canonical.AppendObject(nil, r.Arguments) // ambiguous ones are not sent
	if safetext.Doubtful(r.Tool.String()) || safetext.Doubtful(string(form)) || safetext.Doubtful(string(r.Extra)) {
		all = append(all, `It has characters that can be taken for others; they are written as \u and their number.`)
	}
	if r.Preview != nil && r.Preview.Failed {
		all = append(all, "A trial of it failed.")
	}
	a, class := r.Tool.Annotations, r.Tool.Safety()
	switch {
	case class == annotation.Unknown:
		all = append(all, "It is not known what it does.")
	case class == annotation.Dangerous && a.Destructive != annotation.No && r.Undo == "":
		all = append(all, "It cannot be undone here.")
	}
	if concerns := concern(r.Tool); concerns != "" {
		all = append(all, concerns)
	}
	if a.OpenWorld == annotation.Yes && class != annotation.Safe {
		n := 0
		for _, p := range partsOf(r) {
			n += p.Bytes
		}
		all = append(all, fmt.Sprintf("It reaches others than %s: what it is given, %s, may go there.", safetext.Word(r.Tool.Server, maxWord), count(n, "byte")))
	}
	return all
}

// stranger is the warning about an argument that is not known to be the person's idea.
func stranger(s middleware.Source) string {
	if s.From != "result" {
		return s.String()
	}
	text := fmt.Sprintf("Not from you: %s %s comes from a text that %s returned", s.Argument, s.Value, s.Tool)
	switch {
	case s.Ago == 1:
		text += " 1 call ago"
	case s.Ago > 1:
		text += " " + count(s.Ago, "call") + " ago"
	case s.Call != "":
		text += " in another session"
	}
	if s.How != "" {
		text += ", " + s.How
	}
	if s.Note != "" {
		text += " (" + s.Note + ")"
	}
	if s.Around != "" {
		text += ", which reads: " + s.Around
	}
	return text
}

// concern returns whom a call concerns beside the person, as far as the tool's name states it. To take a thing away, or to
// another place, concerns nobody by the thing's name alone: archive_message writes to no one.
func concern(tool *middleware.Tool) string {
	away := false
	for _, word := range wordsOf(tool.Name()) {
		away = away || slices.Contains(takesAway, word)
		if text := concerns[word]; text != "" && (!away || deeds[word]) {
			return text
		}
	}
	return ""
}

// takesAway are verbs that take what follows them away, or put it elsewhere.
var takesAway = strings.Fields(`archive unarchive cancel clear close delete disable discard drop empty erase hide lock mark move mute pin purge remove
	rename revoke star trash unassign unlock unmute unpin unshare unstar`)

const (
	moves     = "By its name it moves money."
	admits    = "By its name it gives people access."
	publishes = "By its name it publishes: others can see the result."
	writes    = "By its name it writes to people."
)

var concerns = map[string]string{
	"pay": moves, "payment": moves, "transfer": moves, "refund": moves, "charge": moves, "withdraw": moves, "donate": moves, "purchase": moves, "buy": moves,
	"payout": moves, "payee": moves, "subscribe": moves, "checkout": moves,
	"invite": admits, "share": admits, "grant": admits, "collaborator": admits, "permission": admits, "member": admits,
	"publish": publishes, "tweet": publishes, "post": publishes, "deploy": publishes, "release": publishes, "announce": publishes,
	"send": writes, "reply": writes, "mail": writes, "email": writes, "forward": writes, "message": writes, "notify": writes,
}
