package probes

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/lazyregexp"
)

// Dialects, their settings and their clients cut a text into words in different ways: a backslash may escape a quote, #
// may begin a comment, and so on. A reading is one way to cut it. A text is read in each way in which its characters
// allow a difference, and is a read only if it is one in all of them.
type sqlReading struct {
	escapes  bool // a backslash escapes the next character of a quoted text: MySQL, BigQuery, E'…'
	hashes   bool // # begins a comment: MySQL, BigQuery
	blanks   bool // two dashes begin a comment only before a blank: MySQL
	nests    bool // a comment may hold another: PostgreSQL, Transact-SQL
	dollars  bool // $tag$ quotes: PostgreSQL, DuckDB
	brackets bool // [ quotes a name: Transact-SQL, SQLite
	slashes  bool // // begins a comment: Snowflake; elsewhere it divides: DuckDB
	triples  bool // three quotes begin another kind of string, which two do not end: BigQuery
}

// maxReadings times the length of a text is how much is read; more asks.
const maxReadings = 64 << 10

// sqlReadings returns the readings that may differ for a text.
func sqlReadings(text string) []sqlReading {
	all := []sqlReading{{}}
	for _, way := range []struct {
		sign string
		set  func(*sqlReading)
	}{
		{`\`, func(r *sqlReading) { r.escapes = true }},
		{"#", func(r *sqlReading) { r.hashes = true }},
		{"--", func(r *sqlReading) { r.blanks = true }},
		{"/*", func(r *sqlReading) { r.nests = true }},
		{"$", func(r *sqlReading) { r.dollars = true }},
		{"[", func(r *sqlReading) { r.brackets = true }},
		{"//", func(r *sqlReading) { r.slashes = true }},
		{"'''", func(r *sqlReading) { r.triples = true }},
		{`"""`, func(r *sqlReading) { r.triples = true }},
	} {
		first := strings.Index(text, way.sign)
		if first < 0 || way.sign == "/*" && !strings.Contains(text[first+2:], "/*") || way.sign == "$" && strings.Count(text, "$") < 2 {
			continue
		}
		for _, r := range all {
			if way.set(&r); !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

type sqlKind uint8

const (
	sqlSign   sqlKind = iota // an operator or a mark
	sqlWord                  // in capitals
	sqlNumber                // as sqlNumeral has it, or a parameter
	sqlQuoted                // a string or a quoted name; which of them is the dialect's matter
)

type sqlToken struct {
	kind sqlKind
	text string
}

func (t sqlToken) is(word string) bool { return t.kind == sqlWord && t.text == word }

// sqlSigns are the characters outside words and quotes. A backslash is a command of a client.
const sqlSigns = "(),.;*+-/%=<>!|?&^~@#:[]{}"

var (
	// sqlNumeral is a number that no dialect ends sooner: 1DELETE is a 1 and a word in some.
	sqlNumeral = lazyregexp.New(`^(?:[\d_]+(?:\.\d*)?(?:E\d*)?|0X[0-9A-F]+)$`)
	// sqlName is what a name in backticks or brackets may be; some dialects do not know them as quotes.
	sqlName = lazyregexp.New(`^[\w.$ #@*:-]+$`)
	// sqlTag begins a text between dollars.
	sqlTag = lazyregexp.New(`^\$(?:[A-Za-z_]\w*)?\$`)
)

// A sqlScanner cuts a text in one reading.
type sqlScanner struct {
	sqlReading
	text   string
	at     int
	tokens []sqlToken
	why    string // what forbids the text, in any reading
	open   bool   // a quote or a comment has no end in this reading
}

// scan cuts the text until its end, or until something forbids it.
func (s *sqlScanner) scan() {
	for s.at < len(s.text) && s.why == "" && !s.open {
		c, rest := s.text[s.at], s.text[s.at:]
		switch {
		case c == ' ' || c == '\t':
			s.at++
		case c == '\n':
			s.at++
			s.line()
		case c == '\'' || c == '"':
			s.quoted()
		case c == '`':
			s.named('`')
		case c == '[' && s.brackets:
			s.named(']')
		case c == '$' && s.dollars && sqlTag.MatchString(rest):
			s.dollar(sqlTag.FindString(rest))
		case c == '#' && s.hashes, strings.HasPrefix(rest, "--") && (!s.blanks || len(rest) == 2 || rest[2] <= ' '):
			s.comment(strings.IndexByte(rest+"\n", '\n'))
		case strings.HasPrefix(rest, "/*"):
			s.block()
		case strings.HasPrefix(rest, "*/") || strings.HasPrefix(rest, "//*") || strings.HasPrefix(rest, "///"):
			s.why = "a comment, which dialects do not end alike"
		case strings.HasPrefix(rest, "//") && s.slashes:
			s.comment(strings.IndexByte(rest+"\n", '\n'))
		case strings.HasPrefix(rest, "//"):
			s.add(sqlSign, 2)
		case '0' <= c && c <= '9' || c == '$' || sqlPart(c):
			s.word()
		case strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, ":=") || strings.HasPrefix(rest, "|>"):
			s.add(sqlSign, 2)
		case strings.HasPrefix(rest, "->>") || strings.HasPrefix(rest, "#>>"):
			s.add(sqlSign, 3)
		case strings.HasPrefix(rest, ">>"):
			s.why = "the sign >>, which chains statements in one dialect"
		case strings.IndexByte(sqlSigns, c) >= 0:
			s.add(sqlSign, 1)
		default:
			s.why = "the character " + Shown(string([]rune(rest)[0]))
		}
	}
}

func (s *sqlScanner) add(kind sqlKind, n int) {
	text := s.text[s.at : s.at+n]
	if kind == sqlWord || kind == sqlNumber {
		text = strings.ToUpper(text)
	}
	s.tokens = append(s.tokens, sqlToken{kind, text})
	s.at += n
}

// line forbids a line that a client of the command line takes for a command of its own.
func (s *sqlScanner) line() {
	rest := strings.TrimLeft(s.text[s.at:], " \t\n")
	if rest != "" && strings.IndexByte(`./!\@`, rest[0]) >= 0 && !strings.HasPrefix(rest, "/*") {
		s.why = "a line that a client may take for a command"
	}
}

func (s *sqlScanner) word() {
	rest, c := s.text[s.at:], s.text[s.at]
	n := 1
	for n < len(rest) && (sqlPart(rest[n]) || rest[n] == '$' || '0' <= c && c <= '9' && rest[n] == '.') {
		n++
	}
	word := strings.ToUpper(rest[:n])
	if n < len(rest) && (rest[n] == '\'' || rest[n] == '"') && (word == "Q" || word == "NQ") {
		s.why = "the prefix of a quote " + Shown(rest[:n])
		return
	}
	kind := sqlWord
	switch {
	case '0' <= c && c <= '9':
		if kind = sqlNumber; !sqlNumeral.MatchString(word) {
			s.why = "the number " + Shown(word) + ", where dialects find a word"
		}
	case c == '$':
		kind = sqlNumber // a parameter
		if n > 1 && strings.Trim(word[1:], "0123456789") != "" {
			kind = sqlWord
		}
	}
	s.add(kind, n)
}

// quoted cuts a quoted text. One over several lines is cut by some clients.
func (s *sqlScanner) quoted() {
	rest := s.text[s.at:]
	end := rest[:1]
	if three := end + end + end; s.triples && strings.HasPrefix(rest, three) {
		end = three
	}
	for n := len(end); n < len(rest); n++ {
		switch {
		case rest[n] == '\\' && s.escapes:
			n++
		case rest[n] == '\n':
			s.why = "a quote that dialects do not end alike"
			return
		case !strings.HasPrefix(rest[n:], end):
		case !s.triples && strings.HasPrefix(rest[n+1:], end):
			n++
		default:
			s.add(sqlQuoted, n+len(end))
			return
		}
	}
	s.open = true
}

// named cuts a name in backticks or brackets. Only Transact-SQL takes two brackets for one in it.
func (s *sqlScanner) named(end byte) {
	n := strings.IndexByte(s.text[s.at+1:], end)
	switch {
	case n < 0:
		s.open = true
	case end == '`' && !sqlName.MatchString(s.text[s.at+1:s.at+1+n]):
		s.why = "a name in backticks that has other signs"
	case strings.HasPrefix(s.text[s.at+1+n:], "]]") && strings.ContainsAny(s.text, "'\"`"):
		s.why = "two brackets, which dialects do not read alike"
	default:
		s.add(sqlQuoted, n+2)
	}
}

func (s *sqlScanner) dollar(tag string) {
	n := strings.Index(s.text[s.at+len(tag):], tag)
	if n < 0 {
		s.open = true
		return
	}
	s.add(sqlQuoted, n+2*len(tag))
}

// comment leaves out n bytes.
func (s *sqlScanner) comment(n int) {
	s.at += n
}

// block leaves out a comment between /* and */. Some are carried out: /*! in MySQL, /*M! in MariaDB, /*T! in TiDB.
func (s *sqlScanner) block() {
	rest := s.text[s.at:]
	depth := 0
	for n := 0; n+1 < len(rest); n++ {
		switch {
		case rest[n] == '/' && rest[n+1] == '*' && (n == 0 || s.nests):
			depth++
			n++
		case rest[n] == '*' && rest[n+1] == '/':
			if depth--; depth > 0 {
				n++
				continue
			}
			inside := rest[2:n]
			if sign := strings.TrimLeft(inside, "MTmt"); strings.HasPrefix(sign, "!") || strings.HasPrefix(inside, "+") && strings.Contains(strings.ToUpper(inside), "SET_VAR") {
				s.why = "a comment that a server may run"
				return
			}
			s.comment(n + 2)
			return
		}
	}
	s.open = true
	if strings.HasPrefix(rest, "/*!") {
		s.why = "a comment that a server may run"
	}
}

// partsOf returns the length of the word that a text begins with.
func partsOf(text string) int {
	n := 0
	for n < len(text) && sqlPart(text[n]) {
		n++
	}
	return n
}

func sqlPart(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
