package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Level is how much a finding matters. The names are SARIF's.
type Level uint8

// The levels.
const (
	None Level = iota
	Note
	Warning
	Error
)

var levels = [...]string{"none", "note", "warning", "error"}

// Levels are the names, the worst first.
func Levels() []string {
	names := slices.Clone(levels[:])
	slices.Reverse(names)
	return names
}

// String returns the name.
func (l Level) String() string { return levels[min(int(l), len(levels)-1)] }

// MarshalText returns the name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a name.
func (l *Level) UnmarshalText(text []byte) error {
	i := slices.Index(levels[:], string(text))
	if i < 0 {
		return fmt.Errorf("want one of %s, got %.40q", strings.Join(Levels(), ", "), text)
	}
	*l = Level(i)
	return nil
}

// The rules that are not the catalog's.
const (
	ruleUndeclared  = "declares-nothing"
	ruleUnknown     = "class-unknown"
	ruleHidden      = "hidden-characters"
	ruleUnreachable = "unreachable"
)

// A rule has the subject of its findings, and the next step. Its id never changes its meaning.
type rule struct {
	id    string
	level Level
	short string
	help  string
	next  string // what a person does now
}

var rules = []rule{
	{string(finding.Schema), Error, "A schema will be refused.", "The tool is left out, since its schema cannot be compiled or is too large or too deep.", "ask the server's author to mend it"},
	{string(finding.LeftOut), Error, "A tool cannot be taken.", "Its name breaks MCP's rule, is there twice, or its definition cannot be read. It is neither listed nor called.", "ask the server's author to mend it"},
	{string(finding.Suspect), Error, "It is declared read-only, and its words describe a deletion or another loss.", "An annotation is a claim. Where the leading verb or the schema contradicts it, the words count, unless you trust the server.", "read what the tool does, and decide its class with 'fairlead review'"},
	{ruleHidden, Error, "Characters that nobody sees.", "Names, descriptions or schemas hold controls, zero-width or reordering characters. They can hide instructions from a person that a model reads.", "look at the text with 'fairlead lock diff', and do not use the server if it hides something"},
	{string(finding.NotAccepted), Error, "New or changed since the lock file.", "Nobody has accepted this definition.", "look at it with 'fairlead lock diff', and accept it with 'fairlead lock accept'"},
	{ruleUnreachable, Error, "A server did not answer.", "It could not be started or reached, or did not list its tools.", "run its command by hand, or check its address"},
	{string(finding.Contradiction), Warning, "Annotations that contradict each other.", "The more dangerous one counts.", "nothing has to be done; the server's author can mend it"},
	{string(finding.Unchecked), Warning, "An output schema that cannot be compiled.", "Answers of the tool pass unchecked.", "ask the server's author for a schema without parts that only ECMAScript or an older draft has"},
	{string(finding.Unreadable), Warning, "Annotations that cannot be read.", "They are left out, and the careful value counts.", "nothing has to be done; the server's author can mend it"},
	{string(finding.Repeatable), Warning, "It says idempotent, and cannot be taken back.", "It is not repeated on that word.", "nothing has to be done; decide its class with 'fairlead review' if it may be repeated"},
	{string(finding.SuspectWrite), Warning, "It is declared read-only, and its words describe a write.", "The words count until you trust the server.", "if it only reads, decide so with 'fairlead review', or believe the server with --trust"},
	{ruleUnknown, Warning, "Nothing says what it does.", "Neither annotations nor words give it away, so it counts as dangerous and asks every time.", "decide its class with 'fairlead review'"},
	{string(finding.Stale), Warning, "A list that could not be read again.", "The class that was known before counts.", "see whether the server still runs"},
	{string(finding.Gone), Warning, "Accepted, and no longer listed.", "The lock file has a tool that its server no longer lists.", "take it out of the lock file with 'fairlead lock accept'"},
	{string(finding.Unused), Warning, "A word of the host for a tool that is not there.", "The override is about nothing. A tool may have been renamed.", "correct the name in the policy file"},
	{string(finding.Permission), Warning, "A permission that cannot be read.", "Only \"*.all\" covers the tool.", "correct the permission in the policy file"},
	{string(finding.Stray), Note, "Something other than messages on its standard output.", "MCP allows messages alone there. The lines are left out; an answer that shares a line with other text is lost.", "ask the server's author to log to standard error"},
	{string(finding.Null), Note, "Null where its output schema takes none.", "An answer had null for an optional member. It is read as no member, so that the rest of the answer counts.", "ask the server's author to leave the member out, or to allow null in the output schema"},
	{string(finding.Overruled), Note, "It is declared read-only, and somebody has decided otherwise.", "A review or the host's own setting counts, and not the declaration.", "nothing has to be done; the server's author can mend it"},
	{ruleUndeclared, Note, "It declares nothing about itself.", "What it does is inferred from its words. MCP's annotations would say it better.", "nothing has to be done"},
	{string(finding.Untrusted), Note, "It says milder things than anything else does.", "A server's own word only raises a class until the server is trusted.", "if the server is yours, believe it with --trust"},
	{string(finding.Lowered), Note, "The host's own word lowers its class.", "Somebody decided that.", "see that it is still right"},
	{string(finding.Unprepared), Note, "Parts of the list were not seen as the server wrote it.", "The session was not prepared.", "nothing has to be done"},
}

// ruleOf returns the rule of an id. A new rule of the catalog is a warning.
func ruleOf(id string) rule {
	for _, r := range rules {
		if r.id == id {
			return r
		}
	}
	return rule{id: id, level: Warning, short: id, help: id, next: "see docs/reference/command.md"}
}

// advice is what a rule is about, and what to do.
func (r rule) advice() string {
	return r.help + " " + strings.ToUpper(r.next[:1]) + r.next[1:] + "."
}

// own finds what the catalog does not look for.
func (r *Report) own(t *middleware.Tool, declared annotation.Annotations) {
	find := func(rule, text string) { r.find(rule, t.Server, t.Name(), text, t.Digest.String()) }
	if hints(declared) == none {
		find(ruleUndeclared, "declares nothing; what it does is inferred")
	}
	if t.Safety() == annotation.Unknown {
		find(ruleUnknown, "nobody says what it does and no word gives it away; it counts as dangerous")
	}
	if found := hidden(t.Definition); found != "" {
		find(ruleHidden, "hidden characters: "+found)
	}
}
