package report

// Text that no person sees can hold instructions that a model reads. But most invisible characters have an honest use: a
// joiner makes one emoji of two and connects letters in Arabic and in the scripts of India, and a selector chooses the
// form of a symbol. A finding that is wrong for whole languages is soon ignored, so a character counts only where what
// stands beside it does not need it.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// hidden reports which characters of a definition are invisible, and where; "" for none. Those of an
// emoji, between letters of a script that joins them, and blanks hide nothing.
func hidden(definition *mcp.Tool) string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(definition); err != nil { // the catalog took it
		return ""
	}
	if !bytes.Contains(text.Bytes(), []byte(`\u`)) && !bytes.ContainsFunc(text.Bytes(), suspicious) {
		return ""
	}
	var all any
	if err := json.Unmarshal(text.Bytes(), &all); err != nil {
		return ""
	}
	var found []string
	walk("", all, func(path, s string) {
		if where := hides(s); where != "" {
			found = append(found, path+" has "+where)
		}
	})
	return strings.Join(few(found, "and %d more places"), "; ")
}

// few returns the first texts, and how many more there are.
func few(texts []string, more string) []string {
	const most = 5
	if len(texts) > most {
		return append(texts[:most], fmt.Sprintf(more, len(texts)-most))
	}
	return texts
}

// walk yields each text in a value, keys included, in a fixed order.
func walk(path string, v any, each func(path, s string)) {
	switch v := v.(type) {
	case string:
		each(path, v)
	case []any:
		for i, item := range v {
			walk(fmt.Sprintf("%s[%d]", path, i), item, each)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := safetext.Cut(safetext.Line(key), 80)
			if path != "" {
				at = path + "." + at
			}
			each("a key of "+at, key)
			walk(at, v[key], each)
		}
	}
}

// hides counts the runes of a text that hide something.
func hides(s string) string {
	runes := []rune(s)
	counts := make(map[rune]int)
	for i, r := range runes {
		if suspicious(r) && !needed(runes, i) {
			counts[r]++
		}
	}
	var parts []string
	for _, r := range slices.Sorted(maps.Keys(counts)) {
		part := fmt.Sprintf("%U", r)
		if n := counts[r]; n > 1 {
			part += fmt.Sprintf(" %d times", n)
		}
		parts = append(parts, part)
	}
	return strings.Join(few(parts, "and %d more"), ", ")
}

const (
	joiner    = '\u200d'
	nonJoiner = '\u200c'
	asText    = '\ufe0e'
	asEmoji   = '\ufe0f'
)

// suspicious reports whether a rune is invisible or moves what is shown, other than white space.
func suspicious(r rune) bool {
	switch r {
	case '\n', '\t', '\r':
		return false
	case '\u2800':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// needed reports whether the rune at i is the form of a symbol, or joins two symbols or two letters
// of a script that joins them.
func needed(s []rune, i int) bool {
	if i == 0 {
		return false
	}
	before := s[i-1]
	switch s[i] {
	case asText, asEmoji:
		return unicode.In(before, unicode.S, unicode.P, unicode.Nd)
	case joiner, nonJoiner:
		if before == asEmoji && i > 1 {
			before = s[i-2]
		}
		if i+1 == len(s) {
			return false
		}
		after := s[i+1]
		symbols := unicode.In(before, unicode.S) && unicode.In(after, unicode.S)
		letters := joins(before) && joins(after)
		return symbols || letters
	}
	return false
}

// joins reports whether a rune is of a script whose letters have forms.
func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer)
}
