package approvals

// A pattern is which arguments a remembered approval covers, as an allow list: each member is named, with what it may
// be, and arguments with another member are not covered. Arguments are compared in canonical form, so that another
// spelling of the same JSON is the same. A glob matches part by part between slashes, and only texts in which a person
// and a server cannot read different paths.

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Pattern is which arguments a remembered approval covers. It names every member that they have: a call with
// one more, or one less, is not covered. A pattern that names none covers nothing.
type Pattern []Member

// A Member is one member of the arguments: exactly a value, a string that fits a glob, or
// anything. It has one of these.
type Member struct {
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value,omitempty"`  // in any spelling
	Digest string          `json:"digest,omitempty"` // SHA-256 of the value's canonical form
	// Glob is as in [path.Match], each part between slashes by itself: * is any run of characters, one at
	// least. A string that could climb out of it or be more than one thing fits no glob: with a part that is
	// empty or of dots, with .., with one of \ % * ? [ ] { } ~ $, or with what [safetext.Line] escapes.
	Glob string `json:"glob,omitempty"`
	Any  bool   `json:"any,omitempty"`
}

// String describes what the member may be, safe to show to a person.
func (m Member) String() string {
	// A name is the model's or the server's, and a folder too: outside of quotation marks they could read as more members.
	name := safetext.Word(m.Name, maxShown)
	text := name + " as it was shown"
	folder, one := strings.CutSuffix(m.Glob, "*")
	switch {
	case m.Any:
		text = "any " + name
	case m.Value != nil:
		text = name + " = " + safetext.Line(string(m.Value))
	case m.Glob == "*":
		text = "any name as " + name
	case one && strings.HasSuffix(folder, "/") && !strings.ContainsAny(folder, `*?[\`):
		text = name + " under " + safetext.Word(folder, maxShown) + ", any name"
	case m.Glob != "":
		text = name + " like " + safetext.Word(m.Glob, maxShown)
	}
	return text
}

// maxShown is how many bytes of a name are in a sentence: more than any has that is meant to be read.
const maxShown = 1000

// String describes what the pattern covers, safe to show to a person.
func (p Pattern) String() string {
	var parts []string
	for _, m := range p {
		parts = append(parts, m.String())
	}
	return strings.Join(parts, ", ")
}

// FreeMembers returns the members of arguments that a person may leave free, each with what it may
// be then: a string that may be a path stays in its folder, and a longer string, or what is not a
// string, may be anything. One that cannot be kept in its folder is left out.
func FreeMembers(arguments json.RawMessage) Pattern {
	var free Pattern
	for _, m := range exactly(arguments) {
		if m.loose.Name != "" {
			free = append(free, m.loose)
		}
	}
	return free
}

// WithFree returns the pattern of exactly these arguments with the named members left free,
// and nil if one of them cannot be.
func WithFree(arguments json.RawMessage, names []string) Pattern {
	var p Pattern
	left := len(names)
	for _, m := range exactly(arguments) {
		if !slices.Contains(names, m.Name) {
			p = append(p, m.Member)
			continue
		}
		left--
		if p = append(p, m.loose); m.loose.Name == "" {
			return nil
		}
	}
	if left != 0 || len(names) == 0 {
		return nil
	}
	return p
}

// Rule returns the pattern of arguments with those members left free in which they differ
// from earlier ones, if it covers these, and nil if it does not or if there are none.
func Rule(arguments json.RawMessage, earlier []json.RawMessage) Pattern {
	var differ []string
	for _, m := range exactly(arguments) {
		same := Pattern{m.Member}
		if slices.ContainsFunc(earlier, func(its json.RawMessage) bool { return !same.covers(its, false) }) {
			differ = append(differ, m.Name)
		}
	}
	p := WithFree(arguments, differ)
	if len(earlier) == 0 || slices.ContainsFunc(earlier, func(its json.RawMessage) bool { return !p.Covers(its) }) {
		return nil
	}
	return p
}

// A freeable is a member as it is, and as it may be if it is left free.
type freeable struct {
	Member

	loose Member // no name if it cannot be
}

// exactly returns the members of arguments in canonical form, each pinned by its digest. It returns nil if they are not
// one unambiguous object.
func exactly(arguments json.RawMessage) []freeable {
	form, err := canonical.AppendObject(nil, arguments)
	if err != nil {
		return nil
	}
	members, _ := strictjson.Members(form)
	var all []freeable
	for _, m := range members {
		all = append(all, freeable{Member{Name: m.Name, Digest: digest(m.Value)}, loose(m.Name, m.Value)})
	}
	return all
}

// bodies are members that are neither paths nor names.
var bodies = []string{"body", "comment", "content", "description", "message", "subject", "text", "title"}

// loose returns what a member may be if it is left free: anything, or for a string that may be a path, any name in
// the same folder.
func loose(name string, value json.RawMessage) Member {
	var text string
	if json.Unmarshal(value, &text) != nil || strings.Contains(text, "\n") || slices.Contains(bodies, name) {
		return Member{Name: name, Any: true}
	}
	if m := (Member{Name: name, Glob: text[:strings.LastIndexByte(text, '/')+1] + "*"}); m.covers(value) {
		return m
	}
	return Member{}
}

func digest(value []byte) string { return middleware.Digest(sha256.Sum256(value)).String() }

// Check returns what is wrong with a pattern.
func (p Pattern) Check() error {
	seen := make(map[string]bool, len(p))
	for _, m := range p {
		_, bad := path.Match(m.Glob, "")
		ways := slices.DeleteFunc([]bool{m.Value != nil, m.Digest != "", m.Glob != "", m.Any}, func(way bool) bool { return !way })
		switch {
		case seen[m.Name]:
			return fmt.Errorf("approvals: a pattern names the member %q twice", m.Name)
		case len(ways) != 1:
			return fmt.Errorf("approvals: the member %q of a pattern needs a value or a glob", m.Name)
		case bad != nil:
			return fmt.Errorf("approvals: the glob %q: %w", m.Glob, bad)
		}
		seen[m.Name] = true
	}
	if len(p) == 0 {
		return errors.New("approvals: a pattern names no member")
	}
	return nil
}

// Covers reports whether the arguments are what the pattern names.
func (p Pattern) Covers(arguments json.RawMessage) bool { return p.covers(arguments, true) }

// covers reports whether the arguments have each member of the pattern, and with all, no other.
func (p Pattern) covers(arguments json.RawMessage, all bool) bool {
	form, err := canonical.AppendObject(nil, arguments)
	if err != nil || p.Check() != nil {
		return false
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(form, &members); err != nil || all && len(members) != len(p) {
		return false
	}
	for _, m := range p {
		value, ok := members[m.Name]
		if !ok || !m.covers(value) {
			return false
		}
	}
	return true
}

// covers takes a value in canonical form.
func (m Member) covers(value json.RawMessage) bool {
	switch {
	case m.Any:
		return true
	case m.Digest != "":
		return m.Digest == digest(value)
	case m.Value != nil:
		form, err := canonical.Append(nil, m.Value)
		return err == nil && bytes.Equal(form, value)
	}
	var text string
	if !bytes.HasPrefix(value, []byte{'"'}) || json.Unmarshal(value, &text) != nil {
		return false
	}
	if strings.Contains(text, "..") || strings.ContainsAny(text, `\%*?[]{}~$`) || safetext.Line(text) != text {
		return false
	}
	globs, parts := strings.Split(m.Glob, "/"), strings.Split(text, "/")
	if len(globs) != len(parts) {
		return false
	}
	for i, part := range parts {
		fits, err := path.Match(globs[i], part)
		if err != nil || !fits || part == "." || part == "" && globs[i] != "" {
			return false
		}
	}
	return true
}
