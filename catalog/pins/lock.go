// Package pins records which definitions of tools were accepted, in a file that is reviewed like code. With a
// [Lock] in catalog.Options.Lock the catalogue neither lists nor calls any other tool.
package pins

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/internal/wholefile"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// A Lock holds the definitions that were accepted. It is safe for concurrent use. The zero value accepts none;
// a nil Lock accepts all. As text it is sorted JSON, in which a review can see each change:
//
//	{
//	  "version": 1,
//	  "tools": {
//	    "crm/list_customers": {
//	      "class": "safe",
//	      "digest": "5b8a…",
//	      "definition": {"description": "Lists customers.", …
//
// The definition serves to show a later one beside it; the digest is over its canonical form.
type Lock struct {
	mu   sync.RWMutex
	pins map[name]pin
}

type name struct{ server, tool string }

func (n name) String() string { return n.server + "/" + n.tool }

type pin struct {
	class    annotation.Safety
	digest   middleware.Digest
	form     []byte    // the definition in its canonical form
	decision *Decision // of a review, nil for none; never changed
}

// Check returns a [*NotAcceptedError] unless the tool is as it was accepted. A less strict class counts as a
// change: other tools of the server, or another version of this module, may lower it.
func (l *Lock) Check(tool *middleware.Tool, form []byte) error {
	if l == nil {
		return nil
	}
	p, class := l.pin(name{tool.Server, tool.Name()}), tool.Safety()
	if p.form != nil && p.digest == tool.Digest && class <= max(p.class, annotation.Dangerous) {
		return nil
	}
	c := Change{Server: tool.Server, Tool: tool.Name(), Kind: New, Was: p.class, Is: class, accepted: p, Now: tool}
	c.now = pin{class: class, digest: tool.Digest, form: form}
	if p.form != nil {
		c.Kind = Changed
	}
	if p.digest == tool.Digest { // the class alone has changed
		c.now.decision = p.decision
	}
	return &NotAcceptedError{Change: c}
}

func (l *Lock) pin(id name) pin {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.pins[id]
}

// Accepted returns the names of a server's tools that were accepted, sorted.
func (l *Lock) Accepted(server string) []string {
	if l == nil {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	var names []string
	for id := range l.pins {
		if id.server == server {
			names = append(names, id.tool)
		}
	}
	slices.Sort(names)
	return names
}

// A Catalog is what a [Lock] is compared with; *catalog.Catalog is one.
type Catalog interface {
	// Held returns the error of Lock.Check for each held tool, and by server the accepted tools that are gone.
	Held() (held []error, gone map[string][]string)
	// Recheck asks the catalogue's lock about every tool again.
	Recheck()
}

// Changes returns what differs from the accepted definitions, sorted. Until Accept, no such tool is listed or called.
func (l *Lock) Changes(c Catalog) []Change {
	var changes []Change
	held, gone := c.Held()
	for _, err := range held {
		if refused, ok := errors.AsType[*NotAcceptedError](err); ok {
			changes = append(changes, refused.Change)
		}
	}
	for server, tools := range gone {
		for _, tool := range tools {
			p := l.pin(name{server, tool})
			changes = append(changes, Change{Server: server, Tool: tool, Kind: Removed, Was: p.class, accepted: p})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool))
	})
	return changes
}

// Accept accepts the definitions that the changes show, and deletes removed tools. If one has changed again
// since, it fails and accepts none. Call [Lock.Save] afterwards.
//
//	lock.Accept(tools, lock.Changes(tools)...) // trust on first use
func (l *Lock) Accept(c Catalog, changes ...Change) error {
	if len(changes) == 0 {
		return nil
	}
	current := l.Changes(c)
	accepted := make(map[name]pin, len(changes))
	for _, change := range changes {
		if !slices.ContainsFunc(current, change.same) {
			return fmt.Errorf("pins: %s is no longer as this change shows it, so nothing was accepted; look at Lock.Changes again", safetext.Cut(safetext.Line(change.name().String()), 200))
		}
		accepted[change.name()] = change.now
	}
	l.put(c, accepted)
	return nil
}

// put replaces the pins of these names; one without a definition is deleted.
func (l *Lock) put(c Catalog, accepted map[name]pin) {
	l.mu.Lock()
	if l.pins == nil {
		l.pins = make(map[name]pin)
	}
	maps.Copy(l.pins, accepted)
	maps.DeleteFunc(l.pins, func(_ name, p pin) bool { return p.form == nil })
	l.mu.Unlock()
	c.Recheck()
}

// A Decision is the class that a review gave one definition of a tool.
type Decision struct {
	Class    annotation.Safety `json:"class"` // any but Unknown
	Reason   string            `json:"reason"`
	Reviewer string            `json:"reviewer"` // the person; empty for a model alone, which can only raise
	Date     time.Time         `json:"date"`
	// The model that proposed a class, if one did, what it was sent and what it answered.
	Model  string `json:"model,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	Answer string `json:"answer,omitempty"`
}

func (d Decision) check() error {
	switch {
	case d.Class == annotation.Unknown || d.Class > annotation.Safe || d.Reason == "":
		return errors.New("it needs a reason, and a class: safe, moderate or dangerous")
	case d.Reviewer == "" && (d.Model == "" || d.Class == annotation.Safe):
		return errors.New("it needs a reviewer, since a model alone can only raise")
	}
	return nil
}

// Decide keeps a decision on the tool, which c lists or holds back, until its definition changes. A person's
// decision also accepts the definition; a model's neither does that nor replaces a person's. Call [Lock.Save]
// afterwards.
func (l *Lock) Decide(c Catalog, tool *middleware.Tool, d Decision) error {
	id := name{tool.Server, tool.Name()}
	p, err := l.pin(id), d.check()
	current := p.form != nil && p.digest == tool.Digest
	if err == nil && d.Reviewer == "" && (!current || p.decision != nil && p.decision.Reviewer != "") {
		err = errors.New("only a person can accept a definition, or replace what a person decided")
	}
	if !current {
		changes := l.Changes(c)
		if i := slices.IndexFunc(changes, func(c Change) bool { return c.name() == id && c.now.digest == tool.Digest }); i >= 0 {
			p = changes[i].now
		} else {
			err = cmp.Or(err, errors.New("its server has changed it; look at it again"))
		}
	}
	if err != nil {
		return fmt.Errorf("pins: the decision on %s: %w", safetext.Cut(safetext.Line(id.String()), 200), err)
	}
	if p.decision = &d; d.Reviewer != "" {
		p.class = d.Class
	}
	l.put(c, map[name]pin{id: p})
	return nil
}

// Decided returns what was decided of the definition: by a person as the host's word, by a model alone as a claim.
func (l *Lock) Decided(tool *middleware.Tool) (word, claim annotation.Annotations) {
	if l == nil {
		return word, claim
	}
	p := l.pin(name{tool.Server, tool.Name()})
	if p.decision == nil || p.digest != tool.Digest {
		return word, claim
	}
	set := annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.No, RequiresConfirmation: annotation.No}
	switch p.decision.Class {
	case annotation.Safe:
		set.ReadOnly = annotation.Yes
	case annotation.Dangerous:
		set.Destructive, set.RequiresConfirmation = annotation.Yes, annotation.Unset
	}
	if p.decision.Reviewer == "" {
		return word, set.Attribute(annotation.Inferred, p.decision.Model)
	}
	return set.Attribute(annotation.Host, p.decision.Reviewer+" on "+p.decision.Date.Format(time.DateOnly)), claim
}

const (
	version = 1
	maxLock = 64 << 20 // bytes
)

// MarshalText returns the text of a lock file. The same lock has the same text.
func (l *Lock) MarshalText() ([]byte, error) {
	type block struct {
		Class      string          `json:"class"`
		Digest     string          `json:"digest"`
		Review     *Decision       `json:"review,omitempty"`
		Definition json.RawMessage `json:"definition"`
	}
	l.mu.RLock()
	tools := make(map[string]block, len(l.pins))
	for id, p := range l.pins {
		tools[id.String()] = block{p.class.String(), p.digest.String(), p.decision, p.form}
	}
	l.mu.RUnlock()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(struct {
		Version int              `json:"version"`
		Tools   map[string]block `json:"tools"`
	}{version, tools}); err != nil {
		return nil, fmt.Errorf("pins: the lock: %w", err)
	}
	text := []byte(safetext.JSON(shortEscapes.Replace(b.String()))) // with the ends of lines as a reader knows them
	if len(text) > maxLock {
		return nil, fmt.Errorf("pins: the lock has %d bytes, more than the %d that can be read again", len(text), maxLock)
	}
	return text, nil
}

// shortEscapes has the backslash first, so that one that was escaped begins none.
var shortEscapes = strings.NewReplacer(`\\`, `\\`, `\u000a`, `\n`, `\u000d`, `\r`, `\u0009`, `\t`)

// Load reads a lock file, see [Parse]. If the file does not exist, the error is [fs.ErrNotExist]; begin with an
// empty Lock.
func Load(path string) (*Lock, error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("pins: the lock: %w", err)
	}
	l, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return l, nil
}

// Save writes the whole lock to a file, or nothing, even if the host ends meanwhile.
func (l *Lock) Save(path string) error {
	text, err := l.MarshalText()
	if err != nil {
		return err
	}
	if err := wholefile.Replace(filepath.Clean(path), text); err != nil {
		return fmt.Errorf("pins: the lock was not saved: %w", err)
	}
	return nil
}

// Parse reads the text of a lock file, and refuses anything unknown and a wrong digest; the error names line and key.
func Parse(text []byte) (*Lock, error) {
	if len(text) > maxLock {
		return nil, fmt.Errorf("pins: the lock has %d bytes, more than %d", len(text), maxLock)
	}
	l, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("pins: the lock, %w; restore the file, or accept the tool again", err)
	}
	return l, nil
}

func read(text []byte) (*Lock, error) {
	whole, err := strictjson.Parse(text)
	if err != nil {
		return nil, err
	}
	top, err := membersOf(whole, "the lock", []string{"version", "tools"})
	if err != nil {
		return nil, err
	}
	var is int
	if err := decode(top["version"], &is); err != nil {
		return nil, err
	}
	if is != version {
		return nil, top["version"].Errorf("is %d; this Fairlead reads %d", is, version)
	}
	blocks, err := top["tools"].Object("tools")
	if err != nil {
		return nil, err
	}
	l := &Lock{pins: make(map[name]pin, len(blocks))}
	for _, block := range blocks {
		server, tool, _ := strings.Cut(block.Name(), "/")
		if !toolname.IsServer(server) || toolname.Check(tool) != nil {
			return nil, block.Errorf(`is not the name of a tool; write "server/tool"`)
		}
		if l.pins[name{server, tool}], err = pinOf(block, tool); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// membersOf returns the members of an object that has all of the keys, and no others but the optional ones.
func membersOf(object strictjson.Value, what string, keys []string, optional ...string) (map[string]strictjson.Value, error) {
	values, err := object.Object(what)
	if err != nil {
		return nil, err
	}
	members := make(map[string]strictjson.Value, len(values))
	for _, v := range values {
		if known := slices.Concat(keys, optional); !slices.Contains(known, v.Name()) {
			return nil, v.Errorf("is an unknown key; %s has %s", what, strings.Join(known, ", "))
		}
		members[v.Name()] = v
	}
	for _, key := range keys {
		if members[key].Raw() == nil {
			return nil, object.Errorf("%s has no %q", what, key)
		}
	}
	return members, nil
}

// decode reads a value of the type that into points to. A null is of no type.
func decode(v strictjson.Value, into any) error {
	if string(v.Raw()) == "null" {
		return v.Errorf("is null")
	}
	if err := json.Unmarshal(v.Raw(), into); err != nil {
		return v.Errorf("is of the wrong type: %w", err)
	}
	return nil
}

func pinOf(block strictjson.Value, tool string) (p pin, err error) {
	members, err := membersOf(block, "a tool", []string{"class", "digest", "definition"}, "review")
	if err != nil {
		return p, err
	}
	var digest string
	if err := cmp.Or(decode(members["class"], &p.class), decode(members["digest"], &digest)); err != nil {
		return p, err
	}
	if members["review"].Raw() != nil {
		if p.decision, err = decisionOf(members["review"]); err != nil {
			return p, err
		}
	}
	if p.form, err = definitionOf(members["definition"], tool); err != nil {
		return p, err
	}
	if p.digest = sha256.Sum256(p.form); p.digest.String() != digest {
		return p, members["digest"].Errorf("is not that of the definition, which is %d lower-case hexadecimal digits", 2*len(p.digest))
	}
	return p, nil
}

func definitionOf(v strictjson.Value, tool string) ([]byte, error) {
	text := v.Raw()
	if len(text) > canonical.MaxBytes { // most of it is indentation
		var b bytes.Buffer
		_ = json.Compact(&b, text) // it was JSON
		text = b.Bytes()
	}
	form, err := canonical.Append(nil, text)
	if err != nil {
		return nil, v.Errorf("cannot be taken: %w", err)
	}
	switch definition := members(form); {
	case definition == nil:
		return nil, v.Errorf("is not an object")
	case definition["name"] != any(tool):
		return nil, v.Errorf("is the definition of another tool")
	}
	return form, nil
}

func decisionOf(v strictjson.Value) (*Decision, error) {
	d := new(Decision)
	if _, err := membersOf(v, "a review", []string{"class", "reason", "reviewer", "date"}, "model", "prompt", "answer"); err != nil {
		return nil, err
	}
	if err := decode(v, d); err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, v.Errorf("cannot be taken: %w", err)
	}
	return d, nil
}

// Limits on what is shown of a change.
const (
	maxEdits  = 40  // fields
	maxValue  = 400 // bytes of what differs in one field
	maxKey    = 64  // bytes of one key
	margin    = 40  // bytes around what differs
	shortText = 160 // bytes of a value that is shown whole
)

// An edit is one field in which two definitions differ, with its values as text, "" for none.
type edit struct {
	member  string // of the definition, in which the field is
	path    string
	was, is string
}

// members returns the members of a definition, its numbers as they are written; nil if it is not an object.
func members(form []byte) map[string]any {
	tree, _ := jsontree.Decode(form)
	members, _ := tree.(map[string]any)
	return members
}

// edits returns the fields in which two definitions differ, sorted by path. A list is one value.
func edits(before, after map[string]any) (found []edit) {
	var walk func(member, path string, old, now map[string]any)
	walk = func(member, path string, old, now map[string]any) {
		keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			was, had := old[key]
			is, has := now[key]
			wasMembers, wasObject := was.(map[string]any)
			isMembers, isObject := is.(map[string]any)
			at := path + shownKey(path, key)
			in := cmp.Or(member, at)
			switch {
			case wasObject && isObject:
				walk(in, at, wasMembers, isMembers)
			case had && has && reflect.DeepEqual(was, is):
			default:
				found = append(found, edit{in, at, text(was, had), text(is, has)})
			}
		}
	}
	walk("", "", before, after)
	return found
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

// shownKey returns a key as the next part of a path, safe to show.
func shownKey(path, key string) string {
	switch {
	case !plainKey.MatchString(key) || len(key) > maxKey:
		return `["` + safetext.Cut(safetext.Line(key), maxKey) + `"]`
	case path == "":
		return key
	}
	return "." + key
}

func fields(was, is []byte) []string {
	var fields []string
	for _, e := range edits(members(was), members(is)) {
		fields = append(fields, e.member)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

func writeDiff(b *strings.Builder, was, is []byte) {
	found := edits(members(was), members(is))
	for i, e := range found {
		if i == maxEdits {
			fmt.Fprintf(b, "  … and %d more\n", len(found)-i)
			return
		}
		was, is := around(e.was, e.is)
		fmt.Fprintf(b, "  %s\n", e.path)
		if was != "" {
			fmt.Fprintf(b, "    - %s\n", was)
		}
		if is != "" {
			fmt.Fprintf(b, "    + %s\n", is)
		}
	}
}

// text returns a value as JSON, a string without JSON's escapes, and "" if it is not there.
func text(v any, there bool) string {
	if !there {
		return ""
	}
	if s, ok := v.(string); ok {
		return `"` + s + `"`
	}
	return jsontree.Encode(v)
}

func around(was, is string) (shownWas, shownIs string) {
	head, tail := 0, 0
	if max(len(was), len(is)) > shortText && was != "" && is != "" {
		for head < min(len(was), len(is)) && was[head] == is[head] {
			head++
		}
		for tail < min(len(was), len(is))-head && was[len(was)-1-tail] == is[len(is)-1-tail] {
			tail++
		}
		head, tail = max(0, head-margin), max(0, tail-margin)
		for head > 0 && !utf8.RuneStart(was[head]) {
			head--
		}
		for tail > 0 && !utf8.RuneStart(was[len(was)-tail]) {
			tail--
		}
	}
	show := func(s string) string {
		return same(head) + safetext.Cut(safetext.Line(s[head:len(s)-tail]), maxValue) + same(tail)
	}
	return show(was), show(is)
}

// same replaces text that two values share. A value cannot contain it, since its backslashes are doubled.
func same(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(`⟦%d bytes the same⟧`, n)
}

// A ChangeKind is how a tool has changed since definitions were accepted.
type ChangeKind string

// The kinds of a [Change].
const (
	New     ChangeKind = "new"     // no tool of this name was accepted
	Changed ChangeKind = "changed" // its definition, or its class has become less strict
	Removed ChangeKind = "removed" // its server no longer lists it
)

// A Change is a difference between what a server listed, when [Lock.Changes] was called, and what was accepted.
type Change struct {
	Server, Tool string
	Kind         ChangeKind
	// Was is the class with which it was accepted, Is its class now; Unknown without one.
	Was, Is annotation.Safety

	// Now is the tool as its server lists it; nil for one that was removed. No model may see it.
	Now *middleware.Tool

	accepted, now pin
}

func (c Change) name() name { return name{c.Server, c.Tool} }

func (c Change) same(o Change) bool {
	return c.name() == o.name() && c.Is == o.Is && c.now.digest == o.now.digest
}

// String returns the change on one line, without any text that the server wrote:
//
//	crm/list_customers: changed since it was accepted (annotations, description; safe → dangerous)
func (c Change) String() string { return c.name().String() + ": " + c.reason() }

func (c Change) reason() string {
	switch {
	case c.Kind == New:
		return fmt.Sprintf("new, nobody has accepted it (%s)", c.Is)
	case c.Kind == Removed:
		return "was accepted, and its server no longer lists it"
	case c.accepted.digest == c.now.digest:
		return fmt.Sprintf("its class has become less strict since it was accepted (%s → %s)", c.Was, c.Is)
	}
	what := strings.Join(fields(c.accepted.form, c.now.form), ", ")
	if c.Was != c.Is {
		what += fmt.Sprintf("; %s → %s", c.Was, c.Is)
	}
	return "changed since it was accepted (" + what + ")"
}

// Diff returns the change on many lines, safe to show to a person: the class with its reasons if it changed, and
// each field that differs. Long values are cut to the difference.
func (c Change) Diff() string {
	var b strings.Builder
	b.WriteString(c.String() + "\n")
	if c.Now != nil && (c.Was != c.Is || c.Kind == New) {
		_, reasons, _ := strings.Cut(c.Now.Explain(), "\n")
		b.WriteString("  class\n")
		if c.Kind != New {
			fmt.Fprintf(&b, "    - %s\n", c.Was)
		}
		fmt.Fprintf(&b, "    + %s\n", c.Is)
		for reason := range strings.Lines(reasons) {
			b.WriteString("    " + safetext.Text(reason))
		}
	}
	if c.Kind != Removed {
		writeDiff(&b, c.accepted.form, c.now.form)
	}
	return b.String()
}

// ErrNotAccepted is in the tree of every error about a tool whose definition was not accepted.
var ErrNotAccepted = errors.New("pins: definition not accepted")

type refused = fault.Final

// A NotAcceptedError refuses a call of a new or changed tool. Its text holds nothing that the server wrote.
type NotAcceptedError struct {
	refused

	Change Change
}

func (e *NotAcceptedError) Error() string {
	return fmt.Sprintf("pins: refused: %s; the host must look at Lock.Changes and accept it", e.Change)
}

// Reason returns what has changed, without the name of the tool.
func (e *NotAcceptedError) Reason() string { return e.Change.reason() }

func (*NotAcceptedError) ForModel() string {
	return "The tool was not called: it is new or has changed, and the host has not accepted it yet. Use another tool, or tell the user."
}

func (e *NotAcceptedError) Is(target error) bool { return target == ErrNotAccepted }
