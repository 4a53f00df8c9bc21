package infer

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/schema"
)

// chooses reads the values of a parameter such as "action" like names of tools.
func (c *parameters) chooses(p parameter, ws []word, operation bool) bool {
	if len(p.Values) == 0 || compares(p.Values) {
		return false
	}
	last := &ws[len(ws)-1]
	sure := last.may(chooser) || operation
	perhaps := last.may(mode) // a mode or an event, unless most of its values are plain verbs
	// Any other name, if all of its values are plain verbs and one of them is grave: toolId: clear_sessions, reset_roles.
	other := !sure && !perhaps
	if other && (len(p.Values) < 2 || !anything(&ws[0])) {
		return false
	}
	p.choices = make([]choice, len(p.Values))
	plain := 0
	for i, value := range p.Values {
		name, _ := value.(string)
		words := cut(name[:min(len(name), maxChoice)])
		v := judge(words)
		p.choices[i].finding, p.choices[i].noun = v.at(inChoice), v.verb.means(noun)
		if v.head != 0 && !v.firm {
			p.choices[i].finding = finding{}
		}
		if len(words) == 1 && words[0].is(report) && !words[0].is(verbs) { // history, status
			p.choices[i].finding = finding{effect: reads, place: inChoice, word: words[0].base}
		}
		switch {
		case v.head != 0, v.effect == unknown, !v.firm && (v.verb.means(weak) || !v.effect.dangerous()):
		case v.verb.means(noun):
			p.noun = p.noun.worse(v.at(inChoice))
		default:
			if !perhaps || !v.verb.means(either|weak) {
				plain++
			}
			p.choices[i].firm = true
			p.found = p.found.worse(v.at(inChoice))
		}
	}
	understood := slices.ContainsFunc(p.choices, func(c choice) bool { return c.effect != unknown })
	if p.found.effect == unknown && p.noun.effect == unknown && !(last.may(chooser) && understood) || perhaps && 2*plain <= len(p.Values) ||
		other && (plain < len(p.Values) || !p.found.effect.dangerous()) {
		return false
	}
	c.choose = c.choose || plain > 0
	p.kind, p.unusual = choosesDeed, other
	c.powers = append(c.powers, p)
	return true
}

// trials are the values that turn a deed into a trial, by the manuals of programs that have such a mode: --dry-run of many,
// preview of Pulumi, what-if and validate of Azure, plan of Terraform, check of Ansible, noop of Puppet. The one that shows
// most is first. They are without the marks between their words, as are those of deeds: the one other value of such a mode.
var (
	trials = strings.Fields("dryrun preview previewonly whatif simulate simulation plan planonly check checkonly validate validateonly noop")
	doings = strings.Fields("apply execute exec run commit live real perform enforce write fix deploy confirm up")
	// dryRuns and wetRuns are those of a parameter that is called dry_run itself, as for kubectl.
	dryRuns = strings.Fields("server client all")
	wetRuns = strings.Fields("none off")
)

// rehearses finds a parameter one of whose values turns the deed of the name into a trial: mode: preview, execute. Its other
// values have to be one: a plain word for doing it, or the verb of the name. With a second one, the trial may be of that.
// A value that is not known makes all of them doubtful: a check may be one that is written, and one that is ticked.
func (c *parameters) rehearses(p parameter, ws []word) bool {
	first, last := &ws[0], &ws[len(ws)-1]
	dry := first.may(rehearsal)
	if c.own == "" || p.Open || !p.Only(schema.Text) || !(dry || last.may(chooser|mode) || last.base == "execution") {
		return false
	}
	tries, does := trials, append([]string{c.own}, doings...)
	if dry {
		tries, does = dryRuns, wetRuns
	}
	deed := ""
	for _, value := range p.Values {
		text, ok := value.(string)
		plain := unmarked(text)
		switch {
		case ok && slices.Contains(tries, plain):
			p.trial = append(p.trial, text)
		case !ok || deed != "" || !slices.Contains(does, plain):
			return false
		default:
			deed = text
		}
	}
	if len(p.trial) == 0 || deed == "" {
		return false
	}
	slices.SortStableFunc(p.trial, func(a, b string) int { return slices.Index(tries, unmarked(a)) - slices.Index(tries, unmarked(b)) })
	p.trial = append(p.trial, deed)
	return c.add(p, triesOnly, changes, last)
}

// unmarked returns a value in small letters, without the marks between its words.
func unmarked(text string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(text))
}

// outcomes are the values of a parameter that rehearses: the trials are harmless, and the deed is of its class.
func (p *parameter) outcomes(deed annotation.Safety) (all []annotation.Outcome) {
	last := len(p.trial) - 1
	for _, text := range p.trial[:last] {
		all = append(all, annotation.Outcome{Value: text, Class: annotation.Safe, Word: p.found.word})
	}
	return append(all, annotation.Outcome{Value: p.trial[last], Class: deed})
}

// saysVerb reports whether a parameter is a text that chooses the deed, and whose choices the schema does not list. Its
// name has no other word that could be a thing: a payment_method and a mode_id are not, and a task may be described in
// sentences. The op of a JSON Patch is about one field.
func saysVerb(p *schema.Parameter, ws []word, at *step) bool {
	if !p.May(schema.Text) || len(p.Values) > 0 && !p.Open || at.within("patch") {
		return false
	}
	chooses := false
	for i := range ws {
		w := &ws[i]
		switch {
		case w.base == "task" || w.base == "event":
			return false
		case w.may(chooser | mode):
			chooses = true
		case w.base != "name" && w.base != "type" && w.base != "kind":
			return false
		}
	}
	return chooses
}

// mentionsLoss reports whether a text may have a word that destroys states, or "remove"; most have none, and are not read.
func mentionsLoss(description string) bool {
	for _, stem := range [...]string{"elet", "verwr", "ras", "wip", "estro", "urg", "emov", "ELET", "VERWR", "RAS", "WIP", "ESTRO", "URG", "EMOV"} {
		if strings.Contains(description, stem) {
			return true
		}
	}
	return !isASCII(description) // it may be spelled with look-alikes
}

// destroys reports whether a verb, stated of a thing, can hardly be about a value or a result.
func destroys(verb string) bool {
	switch verb {
	case "delete", "overwrite", "erase", "wipe", "destroy", "purge":
		return true
	}
	return false
}

// listedValues returns the values that a description lists: "One of: list, get, purge".
func listedValues(description string) (values []any) {
	const most = 64
	at := -1
	for _, head := range [...]string{"ne of", "ither", "ptions:", "ctions:", "perations:", "alues:"} {
		if i := strings.Index(description, head); i > 0 && (at < 0 || i+len(head) < at) {
			at = i + len(head)
		}
	}
	if at < 0 {
		return nil
	}
	rest := strings.TrimPrefix(strings.TrimLeft(description[at:], " :"), "the following")
	rest = strings.TrimLeft(rest, " :")
	separated := false
	for len(values) < most {
		rest = strings.TrimLeft(rest, " \t\r\n'\"`(-*•")
		end := strings.IndexFunc(rest, func(r rune) bool {
			return !(r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
		})
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		if word == "or" || word == "and" {
			rest, separated = rest[end:], true
			continue
		}
		if word == "" || len(values) > 0 && !separated {
			break
		}
		values = append(values, word)
		rest = strings.TrimLeft(rest[end:], " '\"`)")
		separated = strings.HasPrefix(rest, ",") || strings.HasPrefix(rest, "|") || strings.HasPrefix(rest, "/")
		if separated {
			rest = rest[1:]
		}
		separated = separated || strings.HasPrefix(rest, "or ") || strings.HasPrefix(rest, "and ")
	}
	if len(values) < 2 {
		return nil
	}
	return values
}

// anything reports whether a word names a choice of any kind.
func anything(w *word) bool {
	switch w.base {
	case "what", "do", "tool", "function", "step", "choice", "option", "request", "kind", "type":
		return true
	}
	return false
}

// compares reports whether values are operators of a comparison, and no deeds: eq, starts_with.
func compares(values []any) bool {
	for _, v := range values {
		switch v {
		case "eq", "neq", "ne", "equals", "=", "==", "gt", "lt", ">", "contains":
			return true
		}
	}
	return false
}

// chosen returns the gravest value of the parameters that choose the deed.
func (c *parameters) chosen() (f finding) {
	for i := range c.powers {
		if c.powers[i].kind == choosesDeed {
			f = f.worse(c.powers[i].found)
		}
	}
	return f
}
