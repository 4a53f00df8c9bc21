package policy

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
	"time"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/cmd/fairlead/jsonc"
	"github.com/fairlead-go/fairlead/cmd/fairlead/nearest"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/tailscale/hujson"
)

// An Error is what is wrong with a file, with the line and the key.
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

	offset, breaks int // how many line breaks stand before what was asked for last
}

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
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, &Error{r.name, r.line(v.StartOffset), safetext.Line(key), fmt.Sprintf(format, args...)})
	}
}

var comment = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)`)

func (r *reader) parse() (hujson.Value, error) {
	if !utf8.Valid(r.raw) {
		return hujson.Value{}, &Error{r.name, 1, "", "it is no UTF-8"}
	}
	if line := jsonc.Deep(r.raw); line > 0 {
		return hujson.Value{}, &Error{r.name, line, "", "it is nested too deeply"}
	}
	v, err := hujson.Parse(r.raw)
	if err == nil {
		return v, nil
	}
	if len(bytes.TrimSpace(comment.ReplaceAll(r.raw, nil))) == 0 {
		return v, &Error{r.name, 1, "", `it says nothing; a policy that leaves everything as careful as it is by default is {}`}
	}
	text := strings.TrimPrefix(err.Error(), "hujson: ")
	var line, column int
	if _, scanErr := fmt.Sscanf(text, "line %d, column %d:", &line, &column); scanErr == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	return v, &Error{r.name, max(line, 1), "", "it is no JSON: " + text}
}

type field func(v hujson.Value, key string)

// fields is a field that is an object with these keys, each once.
func (r *reader) fields(fields map[string]field) field {
	return func(v hujson.Value, key string) { r.object(v, key, fields) }
}

// each is a field that is a list, and reads each of its values.
func (r *reader) each(read field) field {
	return func(v hujson.Value, key string) { r.list(v, key, read) }
}

func (r *reader) object(v hujson.Value, at string, fields map[string]field) {
	r.members(v, at, func(name string, m hujson.ObjectMember, key string) {
		if read, known := fields[name]; known {
			read(m.Value, key)
		} else {
			r.faultf(m.Name, key, "the key is unknown; %s", nearestKey(name, fields))
		}
	})
}

// members reads each member of an object. One that is given twice is a fault, and not read.
func (r *reader) members(v hujson.Value, at string, read func(name string, m hujson.ObjectMember, key string)) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		r.faultf(v, at, "it has to be an object, in braces")
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

func (r *reader) list(v hujson.Value, at string, read field) {
	a, ok := v.Value.(*hujson.Array)
	if !ok {
		r.faultf(v, at, "it has to be a list, in brackets")
		return
	}
	if len(a.Elements) > maxEntries {
		r.faultf(v, at, "it has %d entries, more than %d", len(a.Elements), maxEntries)
		return
	}
	for i, e := range a.Elements {
		read(e, fmt.Sprintf("%s[%d]", at, i))
	}
}

// maxEntries is how long a list may be. A longer one is refused whole.
const maxEntries = 10_000

// literal reads a value of one type, and reports any other.
func literal[T any](r *reader, v hujson.Value, key, what string) (value T, ok bool) {
	l, isLiteral := v.Value.(hujson.Literal)
	if !isLiteral || string(l) == "null" || json.Unmarshal(l, &value) != nil {
		r.faultf(v, key, "it has to be %s", what)
		return value, false
	}
	return value, true
}

// text sets a text that is one of the words, any where there are none.
func (r *reader) text(to *string, words ...string) field {
	return func(v hujson.Value, key string) {
		s, ok := literal[string](r, v, key, "a text")
		switch {
		case !ok:
		case s == "":
			r.faultf(v, key, "it is empty")
		case len(words) > 0 && !slices.Contains(words, s):
			r.faultf(v, key, "%q is none of %s", safetext.Cut(s, 80), strings.Join(words, ", "))
		default:
			*to = s
		}
	}
}

func (r *reader) flag(to *bool) field {
	return func(v hujson.Value, key string) {
		if b, ok := literal[bool](r, v, key, "true or false"); ok {
			*to = b
		}
	}
}

func (r *reader) count(to *int) field { return positive(r, to, "a whole number", "at least 1") }

func (r *reader) amount(to *float64) field { return positive(r, to, "a number", "more than 0") }

func positive[N int | float64](r *reader, to *N, what, least string) field {
	return func(v hujson.Value, key string) {
		n, ok := literal[N](r, v, key, what)
		switch {
		case !ok:
		case n <= 0:
			r.faultf(v, key, "it has to be %s", least)
		default:
			*to = n
		}
	}
}

// counted is count with a further rule.
func (r *reader) counted(to *int, wrong func(n int) bool, fault string, args ...any) field {
	return func(v hujson.Value, key string) {
		if r.count(to)(v, key); *to > 0 && wrong(*to) {
			r.faultf(v, key, fault, args...)
		}
	}
}

// duration sets a time with its unit.
func (r *reader) duration(to *time.Duration) field {
	return func(v hujson.Value, key string) {
		const what = `a time with its unit, such as "30s", "1h30m", "1 day" or "2 weeks"`
		s, ok := literal[string](r, v, key, what)
		if !ok {
			return
		}
		d, err := time.ParseDuration(inHours(s))
		switch {
		case err != nil:
			r.faultf(v, key, "%q is no time; it has to be %s", safetext.Cut(s, 40), what)
		case d <= 0:
			r.faultf(v, key, "it has to be more than 0")
		default:
			*to = d
		}
	}
}

// inHours returns a text of days or weeks, such as "30 days", in hours, and any other as it is.
func inHours(s string) string {
	n, unit, _ := strings.Cut(s, " ")
	hours := map[string]int{"day": 24, "week": 7 * 24}[strings.TrimSuffix(unit, "s")]
	if i, err := strconv.ParseUint(n, 10, 16); err == nil && hours > 0 {
		return fmt.Sprintf("%dh", int(i)*hours)
	}
	return s
}

func (r *reader) err() (all error) {
	slices.SortStableFunc(r.faults, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	for _, fault := range r.faults {
		all = errors.Join(all, fault)
	}
	return all
}

// nearestKey names the key that was probably meant.
func nearestKey(name string, fields map[string]field) string {
	known := slices.Sorted(maps.Keys(fields))
	if best := nearest.Of(name, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known are " + strings.Join(known, ", ")
}
