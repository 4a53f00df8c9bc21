package probes

import (
	"regexp"
	"strings"
)

// SQL judges a query, as package preflight/probe documents.
func SQL(text string) Verdict {
	if why := Plain(text); why != "" {
		return Harmful(why)
	}
	tokens, why := sqlTokens(text)
	if why != "" {
		return Harmful(why)
	}
	if n := len(tokens); n > 0 && tokens[n-1].text == ";" {
		tokens = tokens[:n-1]
	}
	if len(tokens) == 0 {
		return Harmful("there is no statement")
	}
	if first := tokens[0]; first.kind != sqlWord || first.text != "SELECT" && first.text != "WITH" {
		return Harmful(Shown(first.text) + " does not begin a SELECT")
	}
	return sqlSelect(tokens)
}

func sqlSelect(tokens []sqlToken) Verdict {
	depth, selects := 0, false
	for i, t := range tokens {
		switch {
		case t.kind == sqlWord && in("sqlActs", t.text) && !sqlCalled(tokens[i:]):
			return Harmful("the word " + Shown(t.text))
		case sqlHidden(tokens[:i+1]):
			return Harmful("the name " + Shown(strings.Trim(t.text, `"'`)) + ", which does more than read")
		case t.text == ";":
			return Harmful("a second statement")
		case t.text == "(":
			depth++
			if why := sqlBefore(tokens[:i]); why != "" {
				return Harmful(why)
			}
		case t.text == ")":
			depth--
		}
		if depth < 0 {
			return Harmful("a closing parenthesis without its opening one")
		}
		selects = selects || depth == 0 && t.text == "SELECT" && t.kind == sqlWord
	}
	if depth != 0 || !selects {
		return Harmful("the SELECT is not whole")
	}
	return Harmless("one SELECT")
}

func sqlCalled(rest []sqlToken) bool {
	return len(rest) > 1 && rest[1].text == "(" && in("sqlFunctions", rest[0].text)
}

// sqlHidden reports whether the last token is a name that acts when it is read: SQLite has tables for its pragmas, and
// pragma_optimize writes; a sequence counts up by a column, perhaps with a quoted name.
func sqlHidden(tokens []sqlToken) bool {
	i := len(tokens) - 1
	name := strings.ToUpper(strings.Trim(tokens[i].text, `"'`))
	return strings.HasPrefix(name, "PRAGMA_") || name == "NEXTVAL" && i > 0 && tokens[i-1].text == "."
}

// sqlBefore returns what is wrong before an opening parenthesis: only an operator, a keyword or a known function may be.
func sqlBefore(tokens []sqlToken) string {
	last := tokens[len(tokens)-1]
	switch {
	case last.kind == sqlSign:
		if last.text == ")" || last.text == "." || last.text == "::" {
			return "what is called after " + Shown(last.text)
		}
		return ""
	case last.kind != sqlWord:
		return "what is called by a quoted name or a number"
	case len(tokens) > 1 && tokens[len(tokens)-2].text == ".": // a keyword too is a name there
		return "the function " + Shown(last.text) + " of a schema"
	case !in("sqlKeywords", last.text) && !in("sqlFunctions", last.text):
		return "the function " + Shown(last.text)
	}
	return ""
}

type sqlKind uint8

const (
	sqlSign   sqlKind = iota // an operator or a mark
	sqlWord                  // in capitals
	sqlNumber                // as sqlNumeral has it
	sqlQuoted                // a string or a quoted name; which of them is the dialect's matter
)

type sqlToken struct {
	kind sqlKind
	text string
}

// sqlSigns are the characters outside words and quotes, without those that have a meaning in one dialect alone.
const sqlSigns = "(),.;*+-/%=<>!|?"

// sqlNumeral is a number that no dialect ends sooner: 1DELETE is a 1 and a word in some.
var sqlNumeral = regexp.MustCompile(`^(?:\d+(?:\.\d*)?(?:E\d*)?|0X[0-9A-F]+)$`)

// sqlTokens cuts a text that every dialect cuts alike, or returns what forbids it.
func sqlTokens(text string) (tokens []sqlToken, why string) {
	for i := 0; i < len(text); {
		c, rest := text[i], text[i:]
		switch {
		case c == ' ' || c == '\t':
			i++
		case c == '\n':
			// Command-line clients have commands of their own on a line, and end a statement at a blank one.
			if next := strings.TrimLeft(rest[1:], " \t"); next != "" && strings.ContainsRune("\n./!", rune(next[0])) {
				return nil, "a line that a client may take for a command"
			}
			i++
		case c == '\'' || c == '"':
			n := sqlString(rest)
			if n == 0 {
				return nil, "a quote that dialects do not end alike"
			}
			tokens = append(tokens, sqlToken{sqlQuoted, rest[:n]})
			i += n
			if i < len(text) && (sqlPart(text[i]) || text[i] == '\'' || text[i] == '"') {
				return nil, "a word right behind a quote"
			}
		case '0' <= c && c <= '9' || sqlPart(c):
			n := 1
			for n < len(rest) && (sqlPart(rest[n]) || c <= '9' && rest[n] == '.') {
				n++
			}
			if n < len(rest) && (rest[n] == '\'' || rest[n] == '"') {
				return nil, "the prefix of a quote " + Shown(rest[:n])
			}
			kind, word := sqlWord, strings.ToUpper(rest[:n])
			if c <= '9' {
				if kind = sqlNumber; !sqlNumeral.MatchString(word) {
					return nil, "the number " + Shown(word) + ", where dialects find a word"
				}
			}
			tokens = append(tokens, sqlToken{kind, word})
			i += n
		case strings.HasPrefix(rest, "::"):
			tokens = append(tokens, sqlToken{sqlSign, "::"})
			i += 2
		case strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") || strings.HasPrefix(rest, "*/") || strings.HasPrefix(rest, "//"):
			return nil, "a comment, which dialects do not end alike"
		case strings.HasPrefix(rest, ">>"):
			return nil, "the sign >>, which chains statements in one dialect"
		case strings.IndexByte(sqlSigns, c) >= 0:
			tokens = append(tokens, sqlToken{sqlSign, string(c)})
			i++
		default:
			return nil, "the character " + Shown(string([]rune(rest)[0]))
		}
	}
	return tokens, ""
}

func sqlPart(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// sqlString returns the length of the quoted text that s begins with, or 0 if dialects, their settings and their clients
// disagree about its end: a backslash before a quote, three quotes in a row, and the end of a line.
func sqlString(s string) int {
	quote := s[:1]
	for n := 1; n < len(s); n++ {
		switch {
		case s[n] == '\\' && n+1 < len(s) && (s[n+1] == '\'' || s[n+1] == '"'):
			return 0
		case s[n] == '\n':
			return 0
		case s[n] != quote[0]:
		case strings.HasPrefix(s[n:], quote+quote):
			if n == 1 || strings.HasPrefix(s[n:], quote+quote+quote) {
				return 0
			}
			n++
		default:
			return n + 1
		}
	}
	return 0
}
