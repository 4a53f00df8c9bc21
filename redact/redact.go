// Package redact takes secrets out of what is written down: by a value's schema, by its name and by its shape, at every
// depth, and in text that holds JSON too. A value that was taken out once is taken out wherever the same [Redactor] finds
// it again, so that a result cannot repeat what the arguments hid.
//
// It cannot recognize every secret. In doubt, or at a limit, it takes out more.
package redact

import (
	"bytes"
	"cmp"
	_ "embed" // for shapes.txt and words.txt
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/fairlead-go/fairlead/middleware"
)

// Mark replaces what was removed.
const Mark = "[redacted]"

// Limits on what is looked at. Anything beyond is taken out whole.
const (
	MaxBytes  = 64 << 10 // of one text or value, unless [Redactor.Max] is set
	maxDepth  = 256      // levels of nesting
	maxNested = 4        // texts of JSON within texts of JSON
	maxTries  = 8        // until there is nothing left to take out
	minEcho   = 4        // bytes of a secret that is looked for elsewhere; what is shorter is everywhere
)

// A Redactor takes secrets out of related values, such as one call. The zero value is ready, for one goroutine.
type Redactor struct {
	// Max is how many bytes of one text or value are looked at; 1 MiB takes seconds. Zero means [MaxBytes].
	Max int

	seen    map[string]bool
	echoes  *strings.Replacer // of what was seen, nil where that has changed
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
	if len(raw) > cmp.Or(r.Max, MaxBytes) {
		r.unknown = true
	}
	if r.unknown {
		return quoted(fmt.Sprintf("[%d bytes left out]", len(raw)))
	}
	v, err := jsontree.Decode(raw)
	if err != nil {
		r.unknown = true // two parsers may read it differently
		return quoted(fmt.Sprintf("[%d bytes that are no JSON]", len(raw)))
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
	if len(s) > cmp.Or(r.Max, MaxBytes) || r.unknown && s != "" {
		return fmt.Sprintf("[%d bytes left out]", len(s))
	}
	return r.text(s, nil, level{})
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) //nolint:errchkjson // a text
	return b
}

type level struct{ deep, nested int }

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
			if secretName(key, member) || isPair(v, key) {
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

func (r *Redactor) text(s string, at *schema.Shape, l level) string {
	if len(s) < minEcho {
		return s
	}
	if trimmed := strings.TrimSpace(s); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, `"`) {
		if v, err := jsontree.Decode([]byte(trimmed)); err == nil {
			if l.nested++; l.nested > maxNested {
				return Mark
			}
			clean := r.walk(v, at.Content(), l)
			if reflect.DeepEqual(clean, v) {
				return s
			}
			if clean, err := json.Marshal(clean); err == nil {
				return string(clean)
			}
		}
	}
	if !r.looking {
		s = r.echo(s)
	}
	return shapes(s, r.noteParts)
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

func (r *Redactor) note(secret string) {
	if len(secret) < minEcho || r.seen[secret] || strings.Contains(Mark, secret) {
		return
	}
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	r.seen[secret], r.echoes = true, nil
}

// echo takes out what was seen before, the longest first, as it is and as Go and JSON quote it.
func (r *Redactor) echo(s string) string {
	if r.echoes == nil {
		var forms []string
		for secret := range r.seen {
			inGo := strconv.Quote(secret)
			inJSON := string(quoted(secret))
			forms = append(forms, secret, inGo[1:len(inGo)-1], inJSON[1:len(inJSON)-1])
		}
		slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
		var pairs []string
		for _, form := range forms {
			pairs = append(pairs, form, Mark)
		}
		r.echoes = strings.NewReplacer(pairs...)
	}
	return r.echoes.Replace(s)
}

func isSecretBySchema(s map[string]any) bool {
	return s["writeOnly"] == true || s["format"] == "password"
}

var (
	prefixed, prefixHints = tokens()

	issued = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:` + strings.Join(words["issuers"], "|") + `)([ \t\w.\-]{0,20})["'\s]{0,3}` +
		`(?:=>|\|\||\?=|:{1,3}=|[=>:,])[\x60'"\s=]{0,5}([\w\-=.+/%:]{14,})`)
	// The numbers that issuers of cards give out, in one piece or in groups.
	card = regexp.MustCompile(`\b(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|35[2-8]\d|6011|64[4-9]\d|65\d{2})(?:\d{12}|(?:[ \-]\d{4}){3})` +
		`|3[47]\d{2}(?:\d{11}|[ \-]\d{6}[ \-]\d{5})|3(?:0[0-5]|[68]\d)\d(?:\d{10}|[ \-]\d{6}[ \-]\d{4}))\b`)
	iban = regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`)
)

// tokens returns the shape of what begins with a prefix, and the prefixes in plain text.
func tokens() (shape *regexp.Regexp, hints []string) {
	var all []string
	for _, p := range words["prefixes"] {
		text, least, ok := strings.Cut(p, ":")
		if !ok {
			least = "16"
		}
		hints = append(hints, text)
		all = append(all, regexp.QuoteMeta(text)+`[\w\-=.+/]{`+least+`,}`)
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)`), hints
}

// public ends the name of a value that may be read, whatever it looks like.
var public = regexp.MustCompile(`(?i)(?:commit|digest|etag|hash|(?:^|[ _.\-])id|image|ref|revision|sha\d*|tag|uuid|version)[ \t]*$`)

// opaque reports whether letters and digits take turns in a long run, as in no word, date or version.
func opaque(value string) bool {
	for word := range strings.FieldsFuncSeq(value, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		turns, last := 0, ' '
		for i, c := range word {
			if i > 0 && unicode.IsDigit(c) != unicode.IsDigit(last) {
				turns++
			}
			last = c
		}
		if turns >= 2 && utf8.RuneCountInString(word) >= 8 {
			return true
		}
	}
	return false
}

func luhn(number string) bool {
	sum, second := 0, false
	for i := len(number) - 1; i >= 0; i-- {
		d := int(number[i]) - '0'
		if d < 0 || d > 9 {
			continue
		}
		if second {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, second = sum+d, !second
	}
	return sum%10 == 0
}

// mod97 reports whether the text has the checksum of an IBAN (ISO 13616).
func mod97(account string) bool {
	account = strings.ReplaceAll(account, " ", "")
	if len(account) < 15 || len(account) > 34 {
		return false
	}
	rest := 0
	for _, c := range account[4:] + account[:4] {
		if c >= 'A' { // which stands for two digits
			rest = (100*rest + int(c-'A') + 10) % 97
		} else {
			rest = (10*rest + int(c-'0')) % 97
		}
	}
	return rest == 1
}

// keys holds the shapes of private keys, cut short at either end.
var keys = regexp.MustCompile(`(?is)-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}|$)` +
	`|(?:[A-Za-z0-9+/=]+(?:\s|\\+[rn])+)+-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}` +
	`|\bPrivate-Lines: *\d+.*?(?:Private-MAC|$)`) // PuTTY's

//go:embed shapes.txt
var shapesText string

// A row is one shape of a secret.
type row struct {
	hints []string // in small letters, one of which is in the text
	shape *regexp.Regexp
	value value
}

// A value returns the place of the secret in a match, which is empty if the match is none. What was taken out last
// ends at kept.
type value func(s string, m []int, kept int) (from, to int)

// table has the shapes of shapes.txt, which has a tab only between the hints and the shape, and then the tokens by
// their issuers' names, the numbers of cards and accounts by their checksum, and what is random.
var table = func() (rows []row) {
	for line := range strings.SplitSeq(shapesText, "\n") {
		if hints, shape, ok := strings.Cut(strings.TrimSuffix(line, "\r"), "\t"); ok {
			rows = append(rows, row{strings.Fields(hints), regexp.MustCompile(shape), behind})
		}
	}
	digits := strings.Split("0123456789", "")
	return append(rows,
		row{prefixHints, prefixed, whole(always)},
		row{words["issuers"], issued, token},
		row{digits, card, whole(luhn)},
		row{digits, iban, whole(mod97)},
		row{digits, regexp.MustCompile(`[\w+\-=]{32,}`), whole(random)})
}()

// whole returns the place of a match, if it is what it looks like.
func whole(is func(match string) bool) value {
	return func(s string, m []int, _ int) (from, to int) {
		if !is(s[m[0]:m[1]]) {
			return 0, 0
		}
		return m[0], m[1]
	}
}

func always(string) bool { return true }

// behind is the value behind the first group.
func behind(s string, m []int, _ int) (from, to int) {
	if strings.HasPrefix(s[m[3]:], Mark) || withPort.MatchString(s[m[0]:m[1]]) {
		return 0, 0
	}
	return m[3], m[1]
}

func token(s string, m []int, _ int) (from, to int) {
	if public.MatchString(s[m[2]:m[3]]) || !opaque(s[m[4]:m[5]]) {
		return 0, 0
	}
	return m[4], m[5]
}

// shapes takes out what looks like a secret, and looks again at the rest.
func shapes(s string, found func(secret string)) string {
	for range maxTries {
		clean := once(s, found)
		if clean == s {
			return s
		}
		s = clean
	}
	return Mark
}

func once(s string, found func(secret string)) string {
	s = cut(s, keys.FindAllStringIndex(s, -1), found, whole(always))
	s = elements(s, found)
	s = assigned(s, found)
	lower := strings.ToLower(strings.ToUpper(s)) // as (?i) folds, ſ and K too
	for _, row := range table {
		if slices.ContainsFunc(row.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
			s = cut(s, row.shape.FindAllStringSubmatchIndex(s, -1), found, row.value)
		}
	}
	return s
}

// withPort matches what only looks like a user and a password before a host.
var withPort = regexp.MustCompile(`^https?:(?:\\*/){2}(?:localhost|\[[0-9a-f:]+\]|[\w\-]+(?:\.[\w\-]+)+):\d{1,5}\\*/[^:]*@$`)

// random reports whether a long run of letters of both cases and digits is random. Hexadecimal digests and UUIDs have
// one case.
func random(run string) bool {
	const entropy = 4.0 // bits a byte; a word of that length has less
	mixed := strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != run && strings.ToUpper(run) != run
	return mixed && bits(run) >= entropy
}

func bits(run string) float64 {
	var count [256]float64
	for i := range len(run) {
		count[run[i]]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := n / float64(len(run))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

var element = regexp.MustCompile(`(?:<|\\+u003c)(/?)((?:[\w.\-]+:)?[\w.\-]+)(?:\s[^<>]*?)?(?:>|\\+u003e)`)

// elements removes the content of XML elements with the name of a secret.
func elements(s string, found func(string)) string {
	if !strings.Contains(s, "</") && !strings.Contains(s, "u003c/") {
		return s
	}
	tags, ends := element.FindAllStringSubmatchIndex(s, -1), make(map[string][]int)
	for _, m := range tags {
		if m[2] < m[3] {
			ends[s[m[4]:m[5]]] = append(ends[s[m[4]:m[5]]], m[0])
		}
	}
	return cut(s, tags, found, func(s string, m []int, _ int) (from, to int) {
		tag := s[m[4]:m[5]]
		if m[2] < m[3] || strings.HasSuffix(strings.TrimRight(s[:m[1]], `u03e\>`), "/") || !IsSecret(tag) {
			return 0, 0
		}
		if i, _ := slices.BinarySearch(ends[tag], m[1]); i < len(ends[tag]) {
			return m[1], ends[tag][i]
		}
		return 0, 0
	})
}

var (
	// A text of several lines in YAML begins so, and any value in the lines below.
	blockScalar = regexp.MustCompile(`^(?:[!&]\S*[ \t]+)*(?:[|>]|\\+u003e)[+\-0-9]*[ \t]*(?:#[^\r\n\\]*)?(?:\r?\n|\\+r\\+n|\\+n)`)
	lineBreak   = regexp.MustCompile(`^(?:[!&]\S*)?[ \t]*(?:#[^\r\n\\]*)?(?:\r?\n|\\+r\\+n|\\+n)`)
	nextKey     = regexp.MustCompile(`^[ \t]*["'\\]*[\w.\-]{1,64}["'\\]*\s*[:=]`)
	// A text in quotes goes on behind one of these.
	joined = regexp.MustCompile(`^(?:\s*(?:[+.&]|\\\r?\n)\s*|\\*"'\\*"|)(\\*["'\x60])`)
	// The first word of a value that has two.
	scheme = regexp.MustCompile(`(?i)^(?:bearer|basic|digest|negotiate|token|apikey|[&!]\S*)[ \t]+`)
)

// value returns the place of the value of a name, from a place behind the sign. If its end is unclear, it ends late.
func (n name) value(s string, at int, sign string) (from, to int) {
	from = at + len(s[at:]) - len(strings.TrimLeft(s[at:], " \t*"))
	rest := s[from:]
	colon := sign == ":" || sign == "："
	if head := blockScalar.FindString(rest); head != "" {
		return from, n.below(s, from, from+len(head), slashes(head))
	}
	if head := lineBreak.FindString(rest); head != "" {
		if sign == "" || strings.Trim(sign, "=:：＝>") != "" {
			return from, from
		}
		return from + len(head), n.below(s, from+len(head), from+len(head), slashes(head))
	}
	in := enclosing(s, n)
	p := plain(n.text)
	switch q := quoteAt(s, from); {
	case rest == "" || q.is && in.closedBy(q):
		return from, from
	case q.is:
		if joint := strings.Trim(s[from:inQuotes(s, from)], "\"'`\\"); joint == "" {
			return from, from
		}
		return from, afterQuotes(s, from, in)
	case !strings.HasPrefix(rest, Mark) && (rest[0] == '[' || rest[0] == '{'):
		return from, balanced(s, from)
	case strings.HasPrefix(rest, Mark) && quoteAt(s, n.end).is:
		return from, word(s, from, in)
	case colon && (strings.Contains(p, "authorization") || strings.Contains(p, "cookie")):
		return from, line(s, from, in, true)
	case strings.Contains(p, "phrase") || strings.Contains(p, "mnemonic"):
		return from, line(s, from, in, false)
	case n.alone(s) && (colon || sign == "=" && at > n.end+1):
		return from, line(s, from, in, false)
	case n.start > 0 && s[n.start-1] == ';' && sign == "=": // a connection string
		if n := strings.IndexAny(rest, ";\r\n\"'`"); n >= 0 {
			return from, from + n
		}
		return from, len(s)
	}
	to = word(s, from+len(scheme.FindString(rest)), in)
	if said.MatchString(s[from:to]) {
		return from, from
	}
	return from, to
}

func (n name) alone(s string) bool {
	begin := strings.LastIndexByte(s[max(0, n.start-longestName):n.start], '\n') + 1
	begin += max(0, n.start-longestName)
	if begin == max(0, n.start-longestName) && begin > 0 || strings.Trim(s[begin:n.start], " \t-\"'*") != "" {
		return false
	}
	return begin > 0 || strings.IndexByte(s[n.end:], '\n') >= 0
}

// below returns where the lines end that are indented deeper than the name, or as deep in a list, and so are its
// value. Broken is the number of backslashes of a line break. Without such a line, the first counts.
func (n name) below(s string, from, at, broken int) int {
	indent, end, first := n.indent(s, broken), from, true
	for at < len(s) {
		stop, next := lineEnd(s, at, broken)
		text := strings.TrimLeft(s[at:stop], " \t")
		deep := stop - at - len(text)
		switch {
		case text == "":
		case deep > indent || deep == indent && strings.HasPrefix(text, "- "):
			end, first = stop, false
		case first && !nextKey.MatchString(text) && end == at:
			return word(s, at+deep, quote{})
		default:
			return end
		}
		if next == stop {
			break
		}
		at = next
	}
	return end
}

func (n name) indent(s string, broken int) int {
	least := max(0, n.start-4*longestName)
	start := least + len(strings.TrimRight(s[least:n.start], `"'\`))
	begin := start
	for begin > least && s[begin-1] != '\n' && (broken == 0 || s[begin-1] != '"' && !strings.HasSuffix(s[least:begin], `\n`)) {
		begin--
	}
	return start - begin - len(strings.TrimLeft(s[begin:start], " \t-"))
}

// lineEnd returns where the line ends, and where the next begins, the same at the end.
func lineEnd(s string, at, broken int) (stop, next int) {
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '\n':
			return at + len(strings.TrimSuffix(s[at:i], "\r")), i + 1
		case '"':
			if broken > 0 {
				return i, i // of the text that is in quotes
			}
		case '\\':
			run := runOf(s, i)
			switch end := i + run; {
			case broken == 0 || end == len(s):
			case s[end] == '"' && run < broken:
				return i, i
			case s[end] == 'n' && run == broken:
				return at + len(strings.TrimSuffix(s[at:i], s[i:end]+"r")), end + 1
			default:
				i++ // what is escaped
			}
			i += run - 1
		}
	}
	return len(s), len(s)
}

func runOf(s string, at int) int { return len(s[at:]) - len(strings.TrimLeft(s[at:], `\`)) }

// slashes is how many backslashes the line break at the end is written with.
func slashes(head string) int {
	head, escaped := strings.CutSuffix(head, "n")
	if !escaped {
		return 0
	}
	return len(head) - len(strings.TrimRight(head, `\`))
}

// line returns the end of the line, with folded lines, or of the quotes around it.
func line(s string, at int, in quote, folded bool) int {
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '\r', '\n':
			next := i + 1 + len(s[i+1:]) - len(strings.TrimLeft(s[i+1:], "\n"))
			if !folded || next >= len(s) || s[next] != ' ' && s[next] != '\t' {
				return i
			}
		case '\\', '"', '\'', '`':
			if q := quoteAt(s, i); in.is && q.is && in.closedBy(q) {
				return i
			}
			i += max(runOf(s, i), 1) - 1
		}
	}
	return len(s)
}

type quote struct {
	is      bool
	mark    byte
	slashes int
}

func quoteAt(s string, at int) quote {
	run := runOf(s, at)
	if at += run; at < len(s) && (s[at] == '"' || s[at] == '\'' || s[at] == '`') {
		return quote{true, s[at], run}
	}
	return quote{}
}

// closedBy reports whether a quote ends what q began: the same, or one of the text around it.
func (q quote) closedBy(other quote) bool {
	return q.is && (other.mark == q.mark && other.slashes <= q.slashes || other.mark == '"' && other.slashes < q.slashes)
}

// enclosing returns the quote right before a name that does not end behind it, as in 'Authorization: …'.
func enclosing(s string, n name) quote {
	if n.start == 0 {
		return quote{}
	}
	at := len(strings.TrimRight(s[:n.start-1], `\`))
	q := quoteAt(s, at)
	if at+q.slashes != n.start-1 || n.end < len(s) && quoteAt(s, n.end).mark == q.mark {
		return quote{}
	}
	return q
}

// inQuotes returns the end of a quoted text: behind its quote, before one of the text around it, or at the end.
func inQuotes(s string, at int) int {
	q := quoteAt(s, at)
	i := at + q.slashes + 1
	if triple := strings.Repeat(s[at:i], 3); strings.HasPrefix(s[at:], triple) {
		begin := at + len(triple)
		if end := strings.Index(s[begin:], triple); end >= 0 {
			return begin + end + len(triple)
		}
		return len(s)
	}
	for i < len(s) {
		switch s[i] {
		case '\\', '"', '\'', '`':
			other := quoteAt(s, i)
			switch {
			case other.is && other.mark == q.mark && other.slashes == q.slashes:
				return i + other.slashes + 1
			case other.is && q.closedBy(other):
				return i
			}
			i += max(runOf(s, i)+1, 1)
		default:
			i++
		}
	}
	return len(s)
}

// afterQuotes is [inQuotes] with what is joined to it.
func afterQuotes(s string, at int, in quote) int {
	for {
		at = inQuotes(s, at)
		next := joined.FindStringSubmatchIndex(s[at:])
		if next == nil || next[1] == next[3] && next[2] == 0 && quoteAt(s, at).mark != s[at-1] || in.closedBy(quoteAt(s, at)) {
			return word(s, at, in)
		}
		at += next[2]
	}
}

// word returns the end of a word, as in a shell: at a space, or at a closing sign of what is around it.
func word(s string, at int, in quote) int {
	for i := at; i < len(s); i++ {
		if strings.HasPrefix(s[i:], Mark) {
			if i += len(Mark); lineBreak.MatchString(s[i:]) {
				return i
			}
			i--
			continue
		}
		switch s[i] {
		case ' ', '\t', '\r', '\n':
			return i
		case '\\', '"', '\'', '`':
			q := quoteAt(s, i)
			behind := i + q.slashes + 1
			switch {
			case !q.is:
				i += runOf(s, i) // and what is escaped
			case in.closedBy(q) || ends(s[behind:]):
				return i
			case strings.IndexByte(s[behind:min(len(s), behind+maxPart)], q.mark) >= 0:
				i = inQuotes(s, i) - 1
			default:
				i = behind - 1
			}
		case ',', ';', '&', '|', ')', ']', '}', '>', '<':
			if ends(s[i+1:]) || nextKey.MatchString(s[i+1:]) || s[i] == '<' && strings.HasPrefix(s[i+1:], "/") {
				return i
			}
		case '(', '{':
			if i > at && s[i-1] == '$' {
				i = balanced(s, i) - 1
			}
		}
	}
	return len(s)
}

const maxPart = 256

func ends(s string) bool {
	return s == "" || strings.IndexByte(" \t\r\n,;&|)]}<>\"'`\\", s[0]) >= 0
}

func balanced(s string, at int) int {
	depth := 0
	for i := at; i < len(s); i++ {
		if strings.HasPrefix(s[i:], Mark) {
			i += len(Mark) - 1
			continue
		}
		switch s[i] {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			if depth--; depth <= 0 {
				return i + 1
			}
		case '"':
			i = inQuotes(s, i) - 1
		}
	}
	return len(s)
}

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
