package display

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/lazyregexp"
	"github.com/fairlead-go/fairlead/internal/shell"
)

// An Effect is one thing that the values of a call come to, by the kind of their parameters: a command of a command line,
// a statement with its tables, an amount. It sums up values that are shown in whole as well.
type Effect struct {
	Text  string // on one line, safe to show; it names the class in words
	Class string // safe, moderate, dangerous or unknown, for a color; "" for none
}

// maxEffects is how many are shown; the rest is counted.
const maxEffects = 8

// effects returns what the values of a call come to.
func (c *call) effects() (all []Effect) {
	switch language, text := c.runs(); language {
	case "shell":
		all = commands(text)
	case "sql":
		if differs(text) {
			return []Effect{{Text: "Databases read it differently: quotation marks or comments in it decide what is carried out"}}
		}
		for _, s := range statements(text) {
			all = append(all, Effect{Text: s})
		}
	default:
		all = c.amounts()
		for _, m := range c.members {
			if text := mapOf(m); text != "" && !isEdits(m.Name) {
				all = append(all, Effect{Text: text})
			}
		}
	}
	if more := len(all) - maxEffects; more > 0 {
		all = append(all[:maxEffects], Effect{Text: fmt.Sprintf("and %d more, which are below", more)})
	}
	return all
}

// commands returns the commands of a command line, each with what is known of it alone.
func commands(text string) (all []Effect) {
	for _, p := range shell.Parts(text) {
		class, does := p.Verdict.Annotations.Safety(), "can change something"
		switch class {
		case annotation.Safe:
			does = "only reads"
		case annotation.Moderate:
			does = "adds or changes"
		}
		all = append(all, Effect{fmt.Sprintf("%s %s", quoted(p.Text), does), class.String()})
	}
	return all
}

// A token is a word of a statement, or a sign.
type token struct {
	text  string
	plain bool // it was not in quotation marks
}

// statements describes each statement of an SQL text by its words: what it does to which tables. Texts and comments in it
// do not count. It is not a parser, and its lines claim no more than the words show.
func statements(sql string) (all []string) {
	var words []token
	end := func() {
		if len(words) > 0 {
			all = append(all, statement(words))
		}
		words = nil
	}
	for _, t := range tokens(sql) {
		if t.plain && t.text == ";" {
			end()
			continue
		}
		words = append(words, t)
	}
	end()
	return all
}

// inside are the quotations and comments that all databases end at the same place, and unclear is what begins others: a
// backslash or a dollar sign decides where some of them end, and not every database has the same comments.
var (
	inside  = lazyregexp.New(`(?s)'(?:[^'\\]|''|\\[^'])*'|"(?:[^"\\]|""|\\[^"])*"|\x60[^\x60]*\x60|--(?:[ \t][^\n\r]*)?(?:[\n\r]|$)|/\*\*/|/\*[^!*].*?\*/`)
	unclear = lazyregexp.New(`['"\x60]|--|/\*|\$\w*\$|#[^>-]`)
)

// differs reports whether two databases may find different statements in a text.
func differs(sql string) bool { return unclear.MatchString(inside.ReplaceAllString(sql, " ")) }

// tables are the words after which a statement names a table, with whether it is only read there.
var tables = map[string]bool{"FROM": true, "JOIN": true, "USING": true, "INTO": false, "UPDATE": false, "TABLE": false, "TRUNCATE": false, "VIEW": false, "INDEX": false, "ON": false}

// statement describes one statement.
func statement(words []token) string {
	verb := strings.ToUpper(words[0].text)
	deletes := verb == "DELETE"
	var touched, read []string
	where, subject := false, true
	for i, t := range words {
		word := strings.ToUpper(t.text)
		if !t.plain {
			continue
		}
		where = where || word == "WHERE"
		only, names := tables[word]
		if !names || word == "ON" && verb != "CREATE" && verb != "DROP" {
			continue
		}
		name := nameAfter(words[i+1:])
		if name == "" || slices.Contains(touched, name) || slices.Contains(read, name) {
			continue
		}
		if only && (!deletes || !subject) {
			read = append(read, name)
		} else {
			touched = append(touched, name)
		}
		subject = false
	}
	text := "By its words: " + safetext.Word(verb, maxWord)
	if len(touched) > 0 {
		text += " of " + strings.Join(touched, ", ")
	}
	if len(read) > 0 {
		text += ", which reads " + strings.Join(read, ", ")
	}
	if (deletes || verb == "UPDATE") && !where {
		text += ", with no WHERE: of all rows"
	}
	return text
}

// nameAfter returns the name that words begin with, in its parts, "" for none.
func nameAfter(words []token) string {
	for len(words) > 0 && words[0].plain && slices.Contains([]string{"IF", "NOT", "EXISTS", "ONLY", "TABLE", "LATERAL"}, strings.ToUpper(words[0].text)) {
		words = words[1:]
	}
	var name strings.Builder
	for i, t := range words {
		if dot := t.plain && t.text == "."; dot != (i%2 == 1) {
			break
		}
		if t.plain && (t.text == "(" || t.text == "," || strings.EqualFold(t.text, "SET")) {
			break
		}
		name.WriteString(t.text)
	}
	if name.Len() == 0 {
		return ""
	}
	return safetext.Word(name.String(), maxWord)
}

// tokens cuts an SQL text into words, names in quotation marks and signs, without texts and comments.
func tokens(sql string) (all []token) {
	runes := []rune(sql)
	until := func(from int, mark string) int {
		if at := strings.Index(string(runes[from:]), mark); at >= 0 {
			return from + len([]rune(string(runes[from:])[:at])) + len([]rune(mark))
		}
		return len(runes)
	}
	for i := 0; i < len(runes); {
		r, two := runes[i], string(runes[i:min(i+2, len(runes))])
		switch {
		case two == "--":
			for i < len(runes) && runes[i] != '\n' && runes[i] != '\r' {
				i++
			}
		case two == "/*":
			i = until(i+2, "*/")
		case r == '\'':
			i = until(i+1, "'")
		case r == '"' || r == '`' || r == '[':
			mark := map[rune]string{'"': `"`, '`': "`", '[': "]"}[r]
			next := until(i+1, mark)
			all = append(all, token{text: strings.TrimSuffix(string(runes[i+1:next]), mark)})
			i = next
		case unicode.IsLetter(r) || r == '_' || unicode.IsDigit(r):
			begin := i
			for i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]) || strings.ContainsRune("_$#@", runes[i])) {
				i++
			}
			all = append(all, token{string(runes[begin:i]), true})
		case unicode.IsSpace(r):
			i++
		default:
			all, i = append(all, token{string(r), true}), i+1
		}
	}
	return all
}
