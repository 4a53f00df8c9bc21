package annotation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// A Condition states what one argument makes of a call. The hints of a tool are those of its worst call, and its
// conditions state which calls are less. The class of a call is the strictest that its conditions give (see
// [Annotations.Decide]). Each class is Safe, Moderate or Dangerous.
//
// A condition may also ask for more than the hints: a tool that can write its result to a file is Moderate, and a call
// that names the file, which may be any that is there, is Dangerous.
//
// There are five kinds, each with what it counts as worst:
//
//	an output file, an address, an amount   Absent safe, Other dangerous: given at all, also null or empty
//	a choice                                Values list safe, delete dangerous, Absent and Other the worst of them
//	a switch                                Values true safe (a dry run), Absent and Other the class of the deed
//	a text                                  Absent safe, Other dangerous, Language sql: judged by a probe
//	a verb in free text                     Absent and Other the class of the deed, Language verb: a probe can raise it
type Condition struct {
	// Argument is a JSON Pointer into the arguments, such as "/filename". A step "*" stands for every element of a
	// list. A place that is not there, or below one that is not there, is absent.
	Argument string `json:"argument"`
	// Absent is the class of a call without the argument. Null is not absent.
	Absent Safety `json:"absent"`
	// Values are the values of a choice or a switch with their classes; nil for an argument that has power if it is
	// given at all.
	Values []Outcome `json:"values,omitempty"`
	// Language is that of the argument's text, if a probe has to judge it: "sql", "shell", "javascript". Without such
	// a probe the text counts as Other. Where Other is not Dangerous, the probe can only raise: a text counts as Other,
	// or as what the probe finds if that is stricter.
	Language string `json:"language,omitempty"`
	// With are further arguments that the text is read together with, by the name of the part that they are, as JSON
	// Pointers of one step: {"method": "/method"} for a URL of "http". The probe then reads a JSON object with the part
	// "text", which is the argument itself, and those of With that the call has. Nil for a text that stands alone.
	With map[string]string `json:"with,omitempty"`
	// Other is the class of every other value: an unknown one, one of another type, null.
	Other Safety `json:"other"`
	// Effect states what the argument does, for people: "writes a file", "chooses the deed".
	Effect string `json:"effect,omitempty"`
	// Word is the word that shows the effect of the argument.
	Word string `json:"word,omitempty"`
}

// An Outcome is one value of an argument with the class that it leads to.
type Outcome struct {
	Value any    `json:"value"` // a string or a bool
	Class Safety `json:"class"`
	Word  string `json:"word,omitempty"` // the word of the value that decided
}

// OnlyRaises reports whether a text of the argument can give a stricter class than Other, and no milder one: Other is Safe or
// Moderate.
func (c *Condition) OnlyRaises() bool { return c.Language != "" && c.Other > Dangerous }

// Worst returns the strictest class that the condition can give.
func (c *Condition) Worst() Safety {
	worst := min(c.Absent, c.Other)
	if c.OnlyRaises() {
		worst = Dangerous
	}
	for _, o := range c.Values {
		worst = min(worst, o.Class)
	}
	return worst
}

// Decides reports whether the condition can give more than one class.
func (c *Condition) Decides() bool {
	mildest := max(c.Absent, c.Other)
	for _, o := range c.Values {
		mildest = max(mildest, o.Class)
	}
	return c.Language != "" || c.Worst() < mildest
}

// Name returns the argument as people write it: "filename", "steps[].action". A name that could be taken for something
// else is quoted.
func (c *Condition) Name() string {
	var name strings.Builder
	for step := range strings.SplitSeq(strings.TrimPrefix(c.Argument, "/"), "/") {
		switch {
		case step == "*":
			name.WriteString("[]")
			continue
		case name.Len() > 0:
			name.WriteByte('.')
		}
		name.WriteString(unescape.Replace(step))
	}
	return onLine(name.String())
}

// texts returns the arguments that make up a text.
func (c *Condition) texts() string {
	if len(c.With) == 0 {
		return c.Name()
	}
	return c.Name() + ", with " + onLine(strings.Join(slices.Sorted(maps.Keys(c.With)), ", "))
}

// onLine returns a text as it is shown among others: quoted if it has characters that cannot be seen, or is long.
func onLine(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.Quote(s[:most])
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// unescape and escape are those of RFC 6901.
var (
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
)

// Pointer returns the [Condition].Argument of the named members, each in the one before. It reports false for a name
// that cannot be distinguished from the step for every element.
func Pointer(names ...string) (pointer string, ok bool) {
	for _, name := range names {
		pointer += "/" + escape.Replace(name)
		if name == "*" {
			return "", false
		}
	}
	return pointer, pointer != ""
}

// String returns a phrase such as `by action: "list", "get" safe, "delete" dangerous, otherwise dangerous`.
func (c Condition) String() string {
	because := ""
	if c.Effect != "" {
		because = " (" + onLine(c.Effect) + ")"
	}
	switch {
	case c.OnlyRaises():
		return fmt.Sprintf("%s, or stricter by the %s in %s%s", c.Other, onLine(c.Language), c.texts(), because)
	case c.Language != "":
		return fmt.Sprintf("by the %s in %s%s: judged by its text, unjudged %s", onLine(c.Language), c.texts(), because, c.Other)
	case len(c.Values) == 0:
		return fmt.Sprintf("%s if %s is given%s, otherwise %s", c.Other, c.Name(), because, c.Absent)
	}
	var said []string
	for _, class := range []Safety{Safe, Moderate, Dangerous} {
		var values []string
		for _, o := range c.Values {
			if o.Class == class {
				values = append(values, quoted(o.Value))
			}
		}
		if len(values) > 0 {
			said = append(said, strings.Join(values, ", ")+" "+class.String())
		}
	}
	s := fmt.Sprintf("by %s%s: %s, otherwise %s", c.Name(), because, strings.Join(said, "; "), c.Other)
	if c.Absent != c.Other {
		s += ", absent " + c.Absent.String()
	}
	return s
}

func quoted(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}

// Limits on conditions from outside.
const (
	maxConditions = 64
	maxOutcomes   = 512
	maxArgument   = 512
	maxParts      = 8
)

// textPart is the part of a text with further parts that is the argument itself.
const textPart = "text"

func (c *Condition) validate() error {
	switch {
	case !strings.HasPrefix(c.Argument, "/") || len(c.Argument) == 1 || len(c.Argument) > maxArgument:
		return fmt.Errorf("want a pointer to an argument, such as /action, got %.40q", c.Argument)
	case !c.Absent.known() || !c.Other.known():
		return fmt.Errorf("%s: the classes of an absent and of another value are %v and %v, and have to be safe, moderate or dangerous",
			c.Argument, c.Absent, c.Other)
	case len(c.With) > maxParts || c.With != nil && (c.Language == "" || c.With[textPart] != ""):
		return fmt.Errorf("%s: with takes up to %d further parts of a text in a language", c.Argument, maxParts)
	case len(c.Values) > maxOutcomes:
		return fmt.Errorf("%s: %d values are more than %d", c.Argument, len(c.Values), maxOutcomes)
	}
	for part, pointer := range c.With {
		if name, ok := strings.CutPrefix(pointer, "/"); part == "" || !ok || name == "" || name == "*" || strings.Contains(name, "/") {
			return fmt.Errorf("%s: with: want a pointer of one step to an argument, such as /method, got %.40q", c.Argument, pointer)
		}
	}
	for i, o := range c.Values {
		_, text := o.Value.(string)
		_, truth := o.Value.(bool)
		switch {
		case !text && !truth:
			return fmt.Errorf("%s: value number %d: want a string or a boolean", c.Argument, i+1)
		case !o.Class.known():
			return fmt.Errorf("%s: the class of value number %d: want safe, moderate or dangerous", c.Argument, i+1)
		}
	}
	return nil
}

func (s Safety) known() bool { return Unknown < s && s <= Safe }

func validate(conditions []Condition) error {
	if len(conditions) > maxConditions {
		return fmt.Errorf("%d conditions are more than %d", len(conditions), maxConditions)
	}
	var errs []error
	for i := range conditions {
		errs = append(errs, conditions[i].validate())
	}
	return errors.Join(errs...)
}

func decodeConditions(raw json.RawMessage) (all []Condition, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields() // a condition of which a part is not understood would be a weaker one
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("want a list of conditions, got %.40s", raw)
	}
	return all, validate(all)
}

// A Judge reads the text of an argument and returns the class of a call with it and, for people, the word that decided.
// It returns Unknown for a language or a text that it cannot read. The text of a language that is written as JSON, such
// as "mongodb", may be an object or a list of the arguments, as it was sent; see also [Condition].With.
type Judge func(language, text string) (class Safety, why string)

// A Decision is what the conditions of a tool make of one call.
type Decision struct {
	Class Safety
	// Condition is the one that decided, nil if the tool has none that account for its class.
	Condition *Condition
	// Why states what of the argument decided: `action is "delete"`, "filename is not given".
	Why string
}

// Decide returns the class of a call with these arguments: the strictest that a condition gives. It is that of the
// tool if the tool has no conditions, or if its hints are stricter than every condition, as they are after a person
// has raised them for another reason. A nil judge judges no text.
//
// Arguments that are not one JSON object, a name that is given twice and one in another case count as the worst.
func (a Annotations) Decide(arguments json.RawMessage, judge Judge) Decision {
	class := a.Safety()
	if len(a.Conditions) == 0 || a.worst() > class {
		return Decision{Class: class}
	}
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	d := Decision{Class: Safe}
	for i := range a.Conditions {
		c := &a.Conditions[i]
		found, why := c.at(arguments, strings.Split(c.Argument, "/")[1:], c.reader(arguments, judge))
		if d.Condition == nil || found < d.Class {
			d = Decision{found, c, why}
		}
	}
	return d
}

// at returns the class of a value for the steps that are left of the pointer.
func (c *Condition) at(value json.RawMessage, steps []string, judge Judge) (Safety, string) {
	switch {
	case len(steps) == 0:
		return c.of(value, judge)
	case steps[0] == "*":
		return c.each(value, steps[1:], judge)
	}
	members, ok := strictjson.Members(value)
	if !ok {
		return c.unread(), c.Name() + " cannot be read"
	}
	found, similar := member(members, unescape.Replace(steps[0]))
	switch {
	case similar == 0:
		return c.Absent, c.Name() + " is not given"
	case similar > 1 || found == nil:
		return c.unread(), c.Name() + " is given twice or in another case"
	}
	return c.at(found, steps[1:], judge)
}

// unread returns the class of a call whose argument cannot be found beyond doubt: servers may find it elsewhere.
func (c *Condition) unread() Safety {
	if c.OnlyRaises() {
		return Dangerous
	}
	return min(c.Other, c.Absent)
}

// each returns the strictest class of the elements of a list.
func (c *Condition) each(list json.RawMessage, steps []string, judge Judge) (Safety, string) {
	var elements []json.RawMessage
	if json.Unmarshal(list, &elements) != nil || elements == nil {
		return c.unread(), c.Name() + " is not a list"
	}
	class, why := c.Absent, c.Name()+" is empty"
	for i, element := range elements {
		if found, because := c.at(element, steps, judge); i == 0 || found < class {
			class, why = found, because
		}
	}
	return class, why
}

// inJSON reports whether texts of a language are JSON: a query may then be an object or a list, and no text.
func inJSON(language string) bool { return language == "mongodb" }

// reader returns the judge of the condition's texts, each with its further parts. A part that cannot be told from another
// makes the text one that nobody has judged.
func (c *Condition) reader(arguments json.RawMessage, judge Judge) Judge {
	if judge == nil || len(c.With) == 0 {
		return judge
	}
	return func(language, text string) (Safety, string) {
		members, ok := strictjson.Members(arguments)
		parts := map[string]any{textPart: text}
		for part, pointer := range c.With {
			found, similar := member(members, unescape.Replace(pointer[1:]))
			if similar > 0 {
				parts[part] = found
			}
			ok = ok && (similar == 0 || similar == 1 && found != nil)
		}
		raw, err := json.Marshal(parts)
		if err != nil || !ok {
			return Unknown, ""
		}
		return judge(language, string(raw))
	}
}

// member returns the member of a name, and how many there are that servers may take for it: those in Go do not tell case
// apart.
func member(members []strictjson.Member, name string) (found json.RawMessage, similar int) {
	for _, m := range members {
		if strings.EqualFold(m.Name, name) {
			similar++
		}
		if m.Name == name {
			found = m.Value
		}
	}
	return found, similar
}

// of returns the class of the argument's value.
func (c *Condition) of(raw json.RawMessage, judge Judge) (Safety, string) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return c.Other, c.Name() + " cannot be read"
	}
	for _, o := range c.Values {
		if o.Value == value {
			return o.Class, fmt.Sprintf("%s is %.80s", c.Name(), quoted(value))
		}
	}
	text, isText := value.(string)
	if raw = bytes.TrimSpace(raw); inJSON(c.Language) && (raw[0] == '{' || raw[0] == '[') {
		text, isText = string(raw), true
	}
	if !isText && c.OnlyRaises() { // a list of such texts, say
		text, isText = string(raw), true
	}
	is, isBool := value.(bool)
	switch {
	case len(c.Values) > 0 && isBool:
		return c.Other, fmt.Sprintf("%s is %v", c.Name(), is)
	case len(c.Values) > 0:
		return c.Other, fmt.Sprintf("%s is not one of the known values", c.Name())
	case c.Language == "":
		return c.Other, c.Name() + " is given"
	case isText && judge != nil:
		if class, why := judge(c.Language, text); class != Unknown && (class < c.Other || !c.OnlyRaises()) {
			return class, strings.TrimSuffix(c.Name()+": "+why, ": ")
		}
	}
	if c.OnlyRaises() {
		return c.Other, fmt.Sprintf("the %s in %s is not known to do more", onLine(c.Language), c.texts())
	}
	return c.Other, fmt.Sprintf("the %s in %s is not judged", onLine(c.Language), c.texts())
}

// For returns what is known about a call with these arguments, and the decision. The class is that of
// [Annotations.Decide]; a call of another class than the tool's has the hints of that class, with the evidence of the
// conditions. The result has no conditions, since they have been applied; the evidence of the field Conditions is the
// decision: the class, the word by which the argument was found, and what of it decided.
func (a Annotations) For(arguments json.RawMessage, judge Judge) (Annotations, Decision) {
	d := a.Decide(arguments, judge)
	out := a.Without(Conditions)
	if d.Condition == nil {
		return out, d
	}
	because := Evidence{Source: a.SourceOf(Conditions), Strength: Strong, Word: onLine(d.Condition.Word), Place: d.Condition.place(d.Why)}
	if e, ok := a.EvidenceOf(Conditions); ok {
		because.By, because.Rule = e.By, e.Rule
	}
	decided := because
	decided.Field, decided.Value = Conditions, d.Class.String()
	if d.Condition.Language != "" && !d.Condition.OnlyRaises() { // the text is carried out
		decided.Argument, decided.Language = d.Condition.Argument, d.Condition.Language
	}
	if d.Class != a.Safety() {
		out = out.Without(ReadOnlyHint, DestructiveHint, RequiresConfirmation)
		out = hintsOf(d.Class, because).over(out)
	}
	out.Evidence = append(out.Evidence, decided)
	return out, d
}

// place is the place of the evidence of a decision: what of the arguments decided, and what the argument does. "dry_run
// is not given (only tries)" would read as if the call only tried.
func (c *Condition) place(why string) string {
	if c.Effect == "" {
		return "by the arguments: " + why
	}
	return "by the arguments: " + why + " (an argument that " + onLine(c.Effect) + ")"
}

// over lays hints over annotations that have none.
func (a Annotations) over(under Annotations) Annotations {
	under.ReadOnly, under.Destructive, under.RequiresConfirmation = a.ReadOnly, a.Destructive, a.RequiresConfirmation
	under.Evidence = append(slices.Clone(a.Evidence), under.Evidence...)
	return under
}

// hintsOf returns hints whose class is the given one, none for Unknown.
func hintsOf(class Safety, because Evidence) (a Annotations) {
	switch class {
	case Safe:
		a.ReadOnly = Yes
	case Moderate:
		a.ReadOnly, a.Destructive = No, No
	case Dangerous:
		a.ReadOnly, a.Destructive = No, Yes
	}
	for i := range fields {
		if v := fields[i].text(&a); v != "" {
			because.Field, because.Value = fields[i].name, v
			a.Evidence = append(a.Evidence, because)
		}
	}
	return a
}

// conditionsField is the row of the conditions. Without evidence, what sets them is the host.
func conditionsField() field {
	f := row(Conditions, func(a *Annotations) *[]Condition { return &a.Conditions },
		func(have, _ []Condition) ([]Condition, bool) { return have, false })
	f.raise = func(a, claim *Annotations) bool { return a.claimed(claim) }
	return f
}

// worst returns the strictest class that a condition gives, Safe without one.
func (a Annotations) worst() Safety {
	worst := Safe
	for i := range a.Conditions {
		worst = min(worst, a.Conditions[i].Worst())
	}
	return worst
}

// claimed adds the conditions of an untrusted claim where they can only raise: to a tool with conditions that account
// for its class, since the strictest counts, and to one that is Safe.
func (a *Annotations) claimed(claim *Annotations) bool {
	class := a.Safety()
	if len(claim.Conditions) == 0 || a.worst() > class || validate(claim.Conditions) != nil {
		return false
	}
	a.Conditions = append(slices.Clone(a.Conditions), claim.Conditions...)
	return true
}

// raiseConditions makes no outcome milder than a class, and leaves out conditions that decide nothing any more.
func (a *Annotations) raiseConditions(class Safety) {
	class = max(class, Dangerous) // Unknown asks as well
	raised := make([]Condition, 0, len(a.Conditions))
	for _, c := range a.Conditions {
		raises := c.OnlyRaises()
		c.Absent, c.Other = min(c.Absent, class), min(c.Other, class)
		c.Values = slices.Clone(c.Values)
		for i := range c.Values {
			c.Values[i].Class = min(c.Values[i].Class, class)
		}
		if class < Safe && !raises || class == Dangerous {
			c.Language, c.With = "", nil // whatever the text is
		}
		if c.Decides() {
			raised = append(raised, c)
		}
	}
	if a.Conditions = raised; len(raised) == 0 {
		*a = a.Without(Conditions)
	}
}

// outranks reports whether a layer takes away the conditions that are under it: one that states a deciding hint. What
// a server declares of its worst call does not, unless it leads to another class than before.
func (a Annotations) outranks(under, merged Annotations) bool {
	for _, f := range []Field{ReadOnlyHint, DestructiveHint, RequiresConfirmation} {
		if a.textOf(f) == "" {
			continue
		}
		if a.SourceOf(f) != Declared || under.Safety() != merged.Safety() {
			return true
		}
	}
	return false
}

// insists reports whether a claim that can only raise states a strict hint by a person else than the server: it is
// about each call.
func (a Annotations) insists() bool {
	strict := func(f Field, h, strict Hint) bool { return h == strict && a.SourceOf(f) != Declared }
	return strict(ReadOnlyHint, a.ReadOnly, No) || strict(DestructiveHint, a.Destructive, Yes) ||
		strict(RequiresConfirmation, a.RequiresConfirmation, Yes)
}

func (a Annotations) textOf(name Field) string {
	i := slices.IndexFunc(fields[:], func(f field) bool { return f.name == name })
	return fields[i].text(&a)
}
