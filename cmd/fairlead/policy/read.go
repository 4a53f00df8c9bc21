package policy

// A reader takes the JSON of a policy apart and goes on after a fault, so that a person who writes a policy sees all of
// its faults at once, each with its line and its key. Package encoding/json would stop at the first, and would ignore a
// key that is misspelled, which in a policy may be the one that denies. What a key holds is described by a table of keys
// (see [reader.policy]): a pointer to where the value goes, a table for an object, or a func for everything else.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/jsonc"
	"github.com/fairlead-go/fairlead/cmd/fairlead/nearest"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/tailscale/hujson"
)

// An Error is one fault of a file. [Parse] joins several.
type Error struct {
	File string
	Line int
	Key  string // "rules[2].tool"
	Text string
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("policy: %s:%d: %s", e.File, e.Line, e.Text)
	}
	return fmt.Sprintf("policy: %s:%d: %s: %s", e.File, e.Line, e.Key, e.Text)
}

// A reader takes a text apart. It goes on after a fault, to report all of them at once.
type reader struct {
	name   string
	raw    []byte
	to     *Policy // what is read so far
	faults []*Error
	wrong  int // how many faults there are, of which the first are kept

	ruled string     // the tool whose rules are read
	files []fileRule // that need the paths of their tools

	offset, breaks int // how many line breaks stand before what was asked for last
}

// maxFaults is how many faults are reported.
const maxFaults = 20

// line is that of an offset. Offsets ascend, so that lines before the last one are counted once.
func (r *reader) line(offset int) int {
	if offset < r.offset {
		r.offset, r.breaks = 0, 0
	}
	r.breaks += bytes.Count(r.raw[r.offset:offset], []byte("\n"))
	r.offset = offset
	return 1 + r.breaks
}

func (r *reader) faultf(v hujson.Value, key, format string, args ...any) {
	if r.wrong++; r.wrong <= maxFaults {
		r.faults = append(r.faults, &Error{r.name, r.line(v.StartOffset), safetext.Line(key), fmt.Sprintf(format, args...)})
	}
}

var comment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)`) })

// parse reads the text as JSON with comments and trailing commas.
func (r *reader) parse() (hujson.Value, error) {
	if !utf8.Valid(r.raw) {
		return hujson.Value{}, &Error{r.name, 1, "", "not valid UTF-8"}
	}
	if line := jsonc.Deep(r.raw); line > 0 {
		return hujson.Value{}, &Error{r.name, line, "", "it is nested too deeply"}
	}
	v, err := hujson.Parse(r.raw)
	if err == nil {
		return v, nil
	}
	if len(bytes.TrimSpace(comment().ReplaceAll(r.raw, nil))) == 0 {
		return v, &Error{r.name, 1, "", `it says nothing; a policy that leaves everything as careful as it is by default is {}`}
	}
	text := strings.TrimPrefix(err.Error(), "hujson: ")
	var line, column int
	if _, scanErr := fmt.Sscanf(text, "line %d, column %d:", &line, &column); scanErr == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	return v, &Error{r.name, max(line, 1), "", "not valid JSON: " + text}
}

// A field reads the value of a key.
type field = func(v hujson.Value, key string)

// keys are those of an object, each once, and what [reader.into] reads their values into.
type keys map[string]any

// into reads a value into what to points at, by its type, into the keys of an object, or by a field. It
// reports whether there was no fault.
func (r *reader) into(v hujson.Value, key string, to any) bool {
	before := r.wrong
	switch to := to.(type) {
	case field:
		to(v, key)
	case keys:
		r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
			if to[name] != nil {
				r.into(m.Value, key, to[name])
			} else {
				r.faultf(m.Name, key, "the key is unknown; %s", nearestKey(name, to))
			}
		})
	case *string:
		text(r, to)(v, key)
	case *bool:
		literal(r, v, key, "true or false", to)
	case *annotation.Hint:
		var yes bool
		literal(r, v, key, "true or false", &yes)
		*to = annotation.HintOf(yes)
	case *int:
		if literal(r, v, key, "a whole number", to) && *to <= 0 {
			r.faultf(v, key, "it has to be at least 1")
		}
	case *float64:
		if literal(r, v, key, "a number", to) && *to <= 0 {
			r.faultf(v, key, "it has to be more than 0")
		}
	case *time.Duration:
		r.duration(v, key, to)
	default:
		r.pattern(v, key, to.(*Pattern))
	}
	return r.wrong == before
}

// members reads each member of an object. One that is given twice is a fault, and not read.
func (r *reader) members(v hujson.Value, at string, read func(name string, m hujson.ObjectMember, key string)) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		r.faultf(v, at, "want an object, in braces")
		return
	}
	seen := make(map[string]bool)
	for _, m := range o.Members {
		name := m.Name.Value.(hujson.Literal).String()
		key := strings.TrimPrefix(at+"."+name, ".")
		if seen[name] {
			r.faultf(m.Name, key, "it is given twice")
			continue
		}
		seen[name] = true
		read(name, m, key)
	}
}

// maxEntries is how long a list may be. A longer one is refused whole.
const maxEntries = 10_000

// each is a field that is a list, maybe an empty one, of what read takes.
func each[T any](r *reader, to *[]T, read func(v hujson.Value, key string, to *T)) field {
	return func(v hujson.Value, at string) {
		a, ok := v.Value.(*hujson.Array)
		switch {
		case !ok:
			r.faultf(v, at, "want a list, in brackets")
			return
		case len(a.Elements) > maxEntries:
			r.faultf(v, at, "it has %d entries, more than %d", len(a.Elements), maxEntries)
			return
		}
		*to = make([]T, 0, len(a.Elements))
		for i, e := range a.Elements {
			before, one := r.wrong, *new(T)
			if read(e, fmt.Sprintf("%s[%d]", at, i), &one); r.wrong == before {
				*to = append(*to, one)
			}
		}
	}
}

// literal reads a value of one type, and reports any other.
func literal[T any](r *reader, v hujson.Value, key, what string, to *T) bool {
	l, isLiteral := v.Value.(hujson.Literal)
	if !isLiteral || string(l) == "null" || json.Unmarshal(l, to) != nil {
		r.faultf(v, key, "want %s", what)
		return false
	}
	return true
}

// text is a field that is one of the words, any text where there are none.
func text[S ~string](r *reader, to *S, words ...S) field {
	return func(v hujson.Value, key string) {
		var s S
		switch {
		case !literal(r, v, key, "a string", &s):
		case s == "":
			r.faultf(v, key, "it is empty")
		case len(words) > 0 && !slices.Contains(words, s):
			known := make([]string, len(words))
			for i, word := range words {
				known[i] = string(word)
			}
			r.faultf(v, key, "want one of %s, got %q", strings.Join(known, ", "), safetext.Cut(string(s), 80))
		default:
			*to = s
		}
	}
}

// texts is a list of them.
func texts[S ~string](r *reader, to *[]S, words ...S) field {
	return each(r, to, func(v hujson.Value, key string, to *S) { text(r, to, words...)(v, key) })
}

// within is a field that is a count with a further rule.
func (r *reader) within(to *int, least, most int, fault string) field {
	return func(v hujson.Value, key string) {
		if r.into(v, key, to) && (*to < least || *to > most) {
			r.faultf(v, key, "%s", fault)
		}
	}
}

func (r *reader) duration(v hujson.Value, key string, to *time.Duration) {
	const what = `a time with its unit, such as "30s", "1h30m", "1 day" or "2 weeks"`
	var s string
	if !literal(r, v, key, what, &s) {
		return
	}
	d, err := time.ParseDuration(inHours(s))
	switch {
	case err != nil:
		r.faultf(v, key, "want %s, got %q", what, safetext.Cut(s, 40))
	case d <= 0:
		r.faultf(v, key, "it has to be more than 0")
	}
	*to = d
}

// inHours returns a string of days or weeks, such as "30 days", in hours, and any other as it is.
func inHours(s string) string {
	n, unit, _ := strings.Cut(s, " ")
	hours := map[string]int{"day": 24, "week": 7 * 24}[strings.TrimSuffix(unit, "s")]
	if i, err := strconv.ParseUint(n, 10, 16); err == nil && hours > 0 {
		return fmt.Sprintf("%dh", int(i)*hours)
	}
	return s
}

// err returns the faults, in the order of their lines, nil if there is none.
func (r *reader) err() (all error) {
	slices.SortStableFunc(r.faults, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	for _, fault := range r.faults {
		all = errors.Join(all, fault)
	}
	return all
}

// nearestKey names the key that was probably meant.
func nearestKey(name string, fields keys) string {
	known := slices.Sorted(maps.Keys(fields))
	if best := nearest.Of(name, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known are " + strings.Join(known, ", ")
}
