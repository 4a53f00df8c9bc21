package redact

import (
	_ "embed" // for words.txt
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/middleware"
)

// What is between a name and its value. What is on the left of a match decides whether it is a secret.
var (
	between = regexp.MustCompile(`(?i)[ \t]*(?:\|\||\?=|:{1,3}=|=>|=\\+u003e|[=:：＝]|%3[ad])|\s(?:is|was|set to|changed to|reset to)(?:[ \t]*[:=])?[ \t]`)
	option  = regexp.MustCompile(`(?:^|[\s"'\x60\[(=,])(--?[A-Za-z][\w.\-]*)(?:["'\\]*,)?[ \t]+(?:\\+(?:\r?\n|n)[ \t]*)?`)
	tuple   = regexp.MustCompile(`(?i)[(\[]\s*["'\\]+((?:[a-z0-9]+-)+[a-z0-9]+|authorization|cookie)["'\\]+,\s*`) // ("X-Api-Key", "…")
	setting = regexp.MustCompile(`(?i)\b(?:env|arg|setx|set -\w+)[ \t]+(\w+)[ \t]+`)
	netrc   = regexp.MustCompile(`(?i)\blogin\s+\S+\s+(password)\s+`)
	// {name: DB_PASSWORD, value: …}, <add key="ApiKey" value="…"/>, type="password" … value="…".
	pair   = regexp.MustCompile(`(?i)\b(?:name|key|header|variable|field|option|type|id)["'\\]*\s*[:=]\s*["'\\]*([\w.\-]+)["'\\]*(?:,?\s+|,|[^<>{}\r\n]{1,80}?\s)["'\\]*(?:value|val|content)["'\\]*\s*[:=]`)
	secret = regexp.MustCompile(`(?m)(?:^|\\n)["' \t]*kind["']?:[ \t]*["']?Secret\b`) // of Kubernetes
)

//go:embed words.txt
var wordsText string

var words = func() map[string][]string {
	lists := make(map[string][]string)
	for line := range strings.SplitSeq(strings.ReplaceAll(wordsText, "\n\t", " "), "\n") {
		name, list, _ := strings.Cut(line, ":")
		lists[name] = strings.Fields(list)
	}
	return lists
}()

// said are words about a secret that are not one.
var said = regexp.MustCompile(`(?i)^(?:a|already|always|an|at|being|correct|empty|encrypted|expired|for|hashed|in|incorrect|invalid|missing|must|needed|never|no|none|not|now|null|nil|of|on|only|optional|required|revoked|set|still|stored|that|the|there|too|true|false|unset|used|valid|what|wrong)[.,;:!?)]*$`)

func assigned(s string, found func(string)) string {
	kubernetes := strings.Contains(s, "Secret") && secret.MatchString(s)
	s = cut(s, between.FindAllStringIndex(s, -1), found, func(s string, m []int, kept int) (from, to int) {
		n := nameBefore(s, kept, m[0])
		sign := strings.TrimSpace(s[m[0]:m[1]])
		p := plain(n.text)
		switch {
		case kubernetes && (p == "data" || p == "stringdata"):
		case !IsSecret(n.text) && !IsSecret(n.two):
			return 0, 0
		case slices.Contains(words["unclear"], p) && !IsSecret(n.two) && !strings.HasPrefix(sign, "=") && !quoteAt(s, n.end).is:
			return 0, 0
		}
		from, to = n.value(s, m[1], sign)
		if strings.HasSuffix(p, "tokens") && strings.Trim(s[from:to], "0123456789., \t") == "" { // a count
			return 0, 0
		}
		return from, to
	})
	for _, shape := range []*regexp.Regexp{option, tuple, setting, netrc, pair} {
		s = cut(s, shape.FindAllStringSubmatchIndex(s, -1), found, func(s string, m []int, _ int) (from, to int) {
			if !IsSecret(s[m[2]:m[3]]) || strings.HasPrefix(s[m[1]:], "--") {
				return 0, 0
			}
			return name{start: m[2], end: m[3]}.value(s, m[1], "")
		})
	}
	return s
}

// cut puts the mark in the place of the value of each match.
func cut(s string, matches [][]int, found func(string), of value) string {
	var out strings.Builder
	kept := 0
	for _, m := range matches {
		if m[0] < kept {
			continue
		}
		from, to := of(s, m, kept)
		if from >= to || s[from:to] == Mark {
			continue
		}
		out.WriteString(s[kept:from])
		out.WriteString(Mark)
		found(s[from:to])
		kept = to
	}
	if kept == 0 {
		return s
	}
	out.WriteString(s[kept:])
	return out.String()
}

// A name is what is before a sign, and the same with the word before it.
type name struct {
	text, two  string
	start, end int
}

const longestName = 64

// nameBefore returns the name that ends at end, and begins after least.
func nameBefore(s string, least, end int) name {
	trimmed := strings.TrimRight(s[max(least, end-longestName):end], "\"'`\\])* \t")
	end = max(least, end-longestName) + len(trimmed)
	start := wordBefore(s, least, end)
	n := name{text: s[start:end], start: start, end: end}
	if start > least+1 && start < end && s[start-1] == ' ' {
		if two := s[wordBefore(s, least, start-1):end]; plain(two) != plain(n.text) {
			n.two = two
		}
	}
	return n
}

func wordBefore(s string, least, end int) int {
	least = max(least, end-longestName)
	return least + len(strings.TrimRightFunc(s[least:end], func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune("_-.", r)
	}))
}

// Of returns a Redactor with the secrets among the arguments of a call.
func Of(call middleware.Call) *Redactor {
	r := new(Redactor)
	r.Arguments(call)
	return r
}

// Arguments is [Redactor.JSON] for the arguments of a call, whose schema is its tool's.
func (r *Redactor) Arguments(call middleware.Call) json.RawMessage {
	var schema any
	if call.Tool != nil && call.Tool.Definition != nil {
		schema = call.Tool.Definition.InputSchema
	}
	return r.JSON(call.Arguments, schema)
}

// Said is the text of an error or of a panic without secrets, those of the call included. It is computed when a
// log line is written.
type Said struct {
	Call  middleware.Call
	Value any
}

func (s Said) String() string { return Of(s.Call).Text(fmt.Sprint(s.Value)) }

// LogValue returns the text for a log.
func (s Said) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Error returns an error with the text of err without recognizable secrets, such as a key in an address.
func Error(err error) error { return &redacted{err} }

type redacted struct{ err error }

func (e *redacted) Error() string { return new(Redactor).Text(e.err.Error()) }
func (e *redacted) Unwrap() error { return e.err }

func secretName(name string, member any) bool {
	switch member := member.(type) {
	case nil, bool:
		return false
	case string:
		if member == "" {
			return false
		}
	case json.Number:
		if strings.HasSuffix(plain(name), "tokens") {
			return false
		}
	}
	return IsSecret(name)
}

// IsSecret reports whether a name is that of a secret, or a text is about one.
func IsSecret(name string) bool {
	p := plain(name)
	if slices.Contains(words["names"], p) {
		return true
	}
	ends := func(end string) bool { return strings.HasSuffix(p, end) }
	return slices.ContainsFunc(words["parts"], func(part string) bool { return strings.Contains(p, part) }) ||
		!slices.ContainsFunc(words["others"], ends) && slices.ContainsFunc(words["endings"], ends)
}

// plain returns a name without case, separators, full-width letters and invisible characters.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' {
			r -= '！' - '!'
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// isPair reports whether the member is the value of a pair such as {"name": "Authorization", "value": "…"}.
func isPair(object map[string]any, member string) bool {
	switch plain(member) {
	case "value", "val", "v", "values", "content", "data", "stringdata":
	default:
		return false
	}
	for key, v := range object {
		switch plain(key) {
		case "name", "key", "header", "field", "k", "variable", "option", "kind", "type":
			if name, ok := v.(string); ok && IsSecret(name) {
				return true
			}
		}
	}
	return false
}

// isFlag reports whether the item is an option of a command line whose value comes next.
func isFlag(item any) bool {
	s, ok := item.(string)
	return ok && strings.HasPrefix(s, "-") && !strings.ContainsAny(s, "= ") && IsSecret(s)
}

func isHeader(item any) bool {
	s, ok := item.(string)
	return ok && header.MatchString(s) && IsSecret(s)
}

var header = regexp.MustCompile(`(?i)^(?:(?:[a-z0-9]+-)+[a-z0-9]+|authorization|cookie)$`)
