// Package redact takes secrets out of what is written down: by a value's schema, by its name and by its shape, at
// every depth, and in text that holds JSON too. A value that was taken out once is taken out wherever the same
// [Redactor] finds it again, so that a result cannot repeat what the arguments hid.
//
// It cannot recognize every secret. In doubt, or at a limit, it takes out more.
package redact

// A value of JSON is walked twice. The first pass only looks for what is to be hidden and notes it (hide, note); the
// second one writes, and takes out all that was noted wherever it is found again (echo). So a secret that is in the
// open in one place and behind its name further on is hidden in both. A text is searched too: as JSON if it parses as
// JSON, and otherwise for the shapes of formats.go.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/schema"
)

// Mark replaces what was removed.
const Mark = "[redacted]"

// Limits on what is looked at. Anything beyond is taken out whole.
const (
	maxBytes  = 64 << 10 // of one text or value, unless [Redactor.Max] is set
	maxDepth  = 256      // levels of nesting
	maxNested = 4        // texts of JSON within texts of JSON
	maxTries  = 8        // until there is nothing left to take out
	minEcho   = 4        // bytes of a secret that is looked for elsewhere; what is shorter is everywhere
)

// A Redactor takes secrets out of related values, such as one call. The zero value is ready, for one goroutine.
type Redactor struct {
	// Max is how many bytes of one text or value are looked at; 1 MiB takes seconds. Zero means 64 KiB.
	Max int

	seen    map[string]bool
	echoes  *strings.Replacer // of what was seen, nil where that has changed
	forms   []string          // of what was seen, that echoes replaces
	unknown bool              // something was too long to look for secrets in
	looking bool              // for what is to be hidden; nothing is written yet
}

// JSON returns a JSON value without its secrets. The schema is that of the value, nil for none. What is not JSON,
// or too long, is replaced by a text.
func (r *Redactor) JSON(raw []byte, of any) json.RawMessage {
	root := schema.Decoded(of)
	return r.json(raw, schema.NewShape(root, root, true))
}

// Result is [Redactor.JSON] for the result of a call whose structured content has the schema.
func (r *Redactor) Result(raw []byte, of any) json.RawMessage {
	root := schema.Decoded(of)
	return r.json(raw, schema.NewShape(root, map[string]any{"properties": map[string]any{
		"structuredContent": root,
		"content":           map[string]any{"items": map[string]any{"properties": map[string]any{"text": map[string]any{"contentSchema": root}}}},
	}}, true))
}

func (r *Redactor) json(raw []byte, at *schema.Shape) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if len(raw) > cmp.Or(r.Max, maxBytes) {
		r.unknown = true
	}
	if r.unknown {
		return quoted(fmt.Sprintf("[%d bytes left out]", len(raw)))
	}
	v, err := jsontree.Decode(raw)
	if err != nil {
		r.unknown = true // two parsers may read it differently
		return quoted(fmt.Sprintf("[%d bytes that are not JSON]", len(raw)))
	}
	// Twice: a value that is hidden further on may be in the open further up.
	r.looking = true
	r.walk(v, at, level{})
	r.looking = false
	clean, err := json.Marshal(r.walk(v, at, level{}))
	if err != nil {
		return quoted(Mark)
	}
	return clean
}

// Text returns a text without its secrets.
func (r *Redactor) Text(s string) string {
	if len(s) > cmp.Or(r.Max, maxBytes) || r.unknown && s != "" {
		return fmt.Sprintf("[%d bytes left out]", len(s))
	}
	return r.text(s, nil, level{})
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) //nolint:errchkjson // a text
	return b
}

// A level is how deep a value is: in objects and lists, and in texts of JSON within texts of JSON.
type level struct{ deep, nested int }

// walk returns a value without its secrets: what its schema, its name or a limit hides is the mark, and what is left
// is walked.
func (r *Redactor) walk(v any, at *schema.Shape, l level) any {
	l.deep++
	if l.deep > maxDepth || !at.Known() || v != nil && at.Any(isSecretBySchema) {
		return r.hide(v)
	}
	switch v := v.(type) {
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, member := range v {
			name := r.text(key, nil, l)
			if secretName(key, member) || isPair(v, key) || isTyped(v, key) {
				clean[name] = r.hide(member)
			} else {
				clean[name] = r.walk(member, at.Member(key), l)
			}
		}
		return clean
	case []any:
		clean := make([]any, len(v))
		for i, item := range v {
			if i > 0 && (isFlag(v[i-1]) || i%2 == 1 && isHeader(v[i-1])) {
				clean[i] = r.hide(item)
			} else {
				clean[i] = r.walk(item, at.Item(i), l)
			}
		}
		return clean
	case string:
		return r.text(v, at, l)
	case json.Number:
		if r.seen[v.String()] || card.MatchString(v.String()) && luhn(v.String()) {
			return Mark
		}
	}
	return v
}

// text returns a text without its secrets. JSON stays as it was written if nothing is hidden in it. A text may become
// JSON only when a secret is gone from it, and is then read once more as what it has become.
func (r *Redactor) text(s string, at *schema.Shape, l level) string {
	if len(s) < minEcho {
		return s
	}
	if clean, is := r.embedded(s, at, l); is {
		return clean
	}
	clean := s
	if !r.looking && len(r.seen) > 0 {
		shapes(s, r.noteParts) // first, since a shape without a part that was seen before would not be found
		clean = r.echo(s)
	}
	clean = shapes(clean, r.noteParts)
	if clean != s {
		if again, is := r.embedded(clean, at, l); is {
			return again
		}
	}
	return clean
}

// embedded returns a text that is JSON without its secrets, and reports whether it is JSON.
func (r *Redactor) embedded(s string, at *schema.Shape, l level) (clean string, is bool) {
	trimmed := strings.TrimSpace(s)
	if trimmed == "" || strings.IndexByte(`{["`, trimmed[0]) < 0 {
		return "", false
	}
	v, err := jsontree.Decode([]byte(trimmed))
	if err != nil {
		return "", false
	}
	if l.nested++; l.nested > maxNested {
		return Mark, true
	}
	walked := r.walk(v, at.Content(), l)
	if reflect.DeepEqual(walked, v) {
		return s, true
	}
	b, err := json.Marshal(walked)
	return string(b), err == nil
}

// hide notes what is taken out, so that it is found elsewhere.
func (r *Redactor) hide(v any) any {
	if v == nil || v == "" {
		return v
	}
	for leaf := range jsontree.Leaves(v) {
		switch leaf := leaf.(type) {
		case string:
			r.noteParts(leaf)
		case json.Number:
			r.note(leaf.String())
		}
	}
	return Mark
}

// noteParts notes a text and its parts, such as the second word of "Bearer …".
func (r *Redactor) noteParts(s string) {
	r.note(strings.Trim(s, "\"'\\ "))
	for _, part := range strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(" \t\r\n\"'\\:@,;", c) }) {
		if len(part) >= 2*minEcho {
			r.note(part)
		}
	}
}

// note keeps a secret to be found elsewhere, unless it is so short that it would be found everywhere.
func (r *Redactor) note(secret string) {
	if len(secret) < minEcho || r.seen[secret] || strings.Contains(Mark, secret) {
		return
	}
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	r.seen[secret], r.echoes = true, nil
}

// echo takes out what was seen before, as it is and as Go and JSON quote it. Of secrets that overlap nothing is left.
func (r *Redactor) echo(s string) string {
	if r.echoes == nil {
		r.forms = r.forms[:0]
		for secret := range r.seen {
			inGo := strconv.Quote(secret)
			inJSON := string(quoted(secret))
			r.forms = append(r.forms, secret, inGo[1:len(inGo)-1], inJSON[1:len(inJSON)-1])
		}
		slices.Sort(r.forms)
		r.forms = slices.Compact(r.forms)
		var pairs []string
		for _, form := range r.forms {
			pairs = append(pairs, form, Mark)
		}
		r.echoes = strings.NewReplacer(pairs...)
	}
	if r.echoes.Replace(s) == s {
		return s
	}
	var places [][]int
	for _, form := range r.forms {
		for at, next := 0, 0; next >= 0 && at < len(s); at += next + 1 {
			if next = strings.Index(s[at:], form); next >= 0 {
				places = append(places, []int{at + next, at + next + len(form)})
			}
		}
	}
	slices.SortFunc(places, slices.Compare[[]int])
	var out strings.Builder
	kept := 0
	for i := 0; i < len(places); {
		from, to := places[i][0], places[i][1]
		for i++; i < len(places) && places[i][0] < to; i++ {
			to = max(to, places[i][1])
		}
		out.WriteString(s[kept:from] + Mark)
		kept = to
	}
	return out.String() + s[kept:]
}
