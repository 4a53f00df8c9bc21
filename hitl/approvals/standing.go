package approvals

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// A Standing is a yes that a person wanted remembered. It covers calls of one
// scope, of one tool under exactly one definition and in one class, with either
// exactly one set of arguments or what its pattern names.
type Standing struct {
	ID         string    `json:"id"`
	Session    string    `json:"session,omitempty"` // "" where it outlives a session
	Scope      string    `json:"scope"`
	Server     string    `json:"server"`
	Tool       string    `json:"tool"`
	Definition string    `json:"definition"`
	Class      string    `json:"class"`
	Arguments  string    `json:"arguments,omitempty"` // [ExactArguments], where there is no pattern
	Pattern    Pattern   `json:"pattern,omitempty"`
	By         string    `json:"by,omitempty"`
	Until      time.Time `json:"until"`
}

// Covers reports whether the call is one that the person said yes to. Whose
// session it is, is not looked at.
func (s Standing) Covers(call middleware.Call) bool {
	if call.Tool == nil || call.Tool.Digest == (middleware.Digest{}) || !time.Now().Before(s.Until) ||
		s.Scope != call.Scope || s.Server != call.Tool.Server || s.Tool != call.Tool.Name() ||
		s.Definition != call.Tool.Digest.String() || s.Class != call.Tool.Safety().String() {
		return false
	}
	if s.Arguments != "" {
		exact, err := ExactArguments(call.Arguments)
		return err == nil && exact == s.Arguments && s.Pattern == nil
	}
	return s.Pattern.Covers(call.Arguments)
}

// check says what keeps a standing yes from being written down.
func (s Standing) check() error {
	switch {
	case s.ID == "" || s.Tool == "" || s.Definition == "" || s.Class == "":
		return errors.New("approvals: a standing yes needs an ID, a tool, its definition and its class")
	case (s.Arguments == "") == (s.Pattern == nil):
		return errors.New("approvals: a standing yes is to exact arguments or to a pattern")
	case s.Pattern != nil:
		return s.Pattern.check()
	}
	return nil
}

// ExactArguments is the hash under which exact arguments are remembered: the same
// for every spelling of the same value. An error means that they are no
// unambiguous JSON object.
func ExactArguments(arguments json.RawMessage) (string, error) {
	form, err := canonical.AppendObject(nil, arguments)
	if err != nil {
		return "", fmt.Errorf("approvals: the arguments: %w", err)
	}
	return middleware.Digest(sha256.Sum256(form)).String(), nil
}

// A Pattern says which arguments a standing yes covers. It names every member
// that they have: a call with one more, or one less, is not covered. A pattern
// that names none covers nothing.
type Pattern []Member

// A Member is one member of the arguments: exactly a value, or a text that fits a
// glob.
type Member struct {
	Name string `json:"name"`
	// Value is the value in any spelling; nil where Glob says.
	Value json.RawMessage `json:"value,omitempty"`
	// Glob is as in [path.Match], each part between slashes by itself: * is any run of
	// characters, one at least. A text that could climb out of it or be more than one
	// thing fits no glob: with a part that is empty or of dots, with .., with one of
	// \ % * ? [ ] { } ~ $, or with what [safetext.Line] escapes.
	Glob string `json:"glob,omitempty"`
}

// String says what the pattern covers, safe to show to a person.
func (p Pattern) String() string {
	var parts []string
	for _, m := range p {
		text := m.Name + " = " + string(m.Value)
		if m.Value == nil {
			text = m.Name + " like " + m.Glob
		}
		parts = append(parts, safetext.Line(text))
	}
	return strings.Join(parts, ", ")
}

// check says what is wrong with a pattern.
func (p Pattern) check() error {
	seen := make(map[string]bool, len(p))
	for _, m := range p {
		_, bad := path.Match(m.Glob, "")
		switch {
		case seen[m.Name]:
			return fmt.Errorf("approvals: a pattern names the member %q twice", m.Name)
		case (m.Value == nil) == (m.Glob == ""):
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
func (p Pattern) Covers(arguments json.RawMessage) bool {
	form, err := canonical.AppendObject(nil, arguments)
	if err != nil || p.check() != nil {
		return false
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(form, &members); err != nil || len(members) != len(p) {
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
	if m.Value != nil {
		form, err := canonical.Append(nil, m.Value)
		return err == nil && bytes.Equal(form, value)
	}
	if len(value) == 0 || value[0] != '"' {
		return false
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
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
