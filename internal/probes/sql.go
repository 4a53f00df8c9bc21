package probes

import (
	"slices"
	"strings"
)

// SQL judges a query, as package preflight/probe documents. It does not know the dialect: whatever one of them would
// carry out counts.
func SQL(text string) Verdict {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), " \t\n")
	if why := Plain(text); why != "" {
		return Harmful(why)
	}
	readings := sqlReadings(text)
	if len(readings)*len(text) > maxReadings {
		return Harmful("too many signs that dialects read differently")
	}
	verdict, whole := Harmful("the statement is not whole"), false
	for _, r := range readings {
		s := sqlScanner{sqlReading: r, text: text, tokens: make([]sqlToken, 0, len(text)/4+1)}
		s.scan()
		if s.why != "" {
			return Harmful(s.why)
		}
		q := sqlStatement{tokens: s.tokens, bare: !r.hashes && !r.blanks}
		q.judge()
		switch {
		case q.why != "":
			return Harmful(q.why)
		case s.open || q.broken != "": // a syntax error in this dialect, which carries out nothing
			if !whole && q.broken != "" {
				verdict = Harmful(q.broken)
			}
		default:
			verdict, whole = Harmless(q.name), true
		}
	}
	return verdict
}

// A sqlStatement is one that is judged, in one reading.
type sqlStatement struct {
	tokens []sqlToken
	name   string // what it is, for people: "one SELECT"
	why    string // what makes it more than a read
	broken string // why it is not a statement
	bare   bool   // a function may be called without parentheses: not in dialects of the hash
}

func (q *sqlStatement) at(i int) sqlToken {
	if i < 0 || i >= len(q.tokens) {
		return sqlToken{}
	}
	return q.tokens[i]
}

// judge sets what the statement is, or what is wrong with it.
func (q *sqlStatement) judge() {
	for n := len(q.tokens); n > 0 && q.tokens[n-1].text == ";" && q.tokens[n-1].kind == sqlSign; n-- {
		q.tokens = q.tokens[:n-1]
	}
	if slices.ContainsFunc(q.tokens, func(t sqlToken) bool { return t.kind == sqlSign && t.text == ";" }) {
		q.why = "a second statement"
		for i, t := range q.tokens { // the graver reason
			if t.kind == sqlWord && sqlHard[t.text] && !sqlCalled(q.tokens[i:]) {
				q.why += ", and the word " + Shown(t.text)
				break
			}
		}
		return
	}
	if len(q.tokens) == 0 {
		q.broken = "there is no statement"
		return
	}
	first := q.at(0)
	for i := 0; first.kind == sqlSign && first.text == "("; i++ {
		first = q.at(i)
	}
	q.name = "one " + first.text
	switch {
	case first.kind != sqlWord:
		q.why = Shown(first.text) + " does not begin a SELECT"
	case sqlBodies[first.text], q.at(0).is("PIVOT"):
		q.body(0)
	case q.at(0).text == "(":
		q.why = Shown(first.text) + " does not begin a SELECT"
	case first.text == "EXPLAIN":
		q.explain()
	case first.text == "SHOW":
		q.show()
	case first.text == "DESCRIBE" || first.text == "DESC" || first.text == "SUMMARIZE":
		q.describe(1)
	case first.text == "PRAGMA":
		q.pragma()
	default:
		q.why = Shown(first.text) + " does not begin a SELECT"
	}
}

// sqlBodies begin what has rows and may be a part of another query.
var sqlBodies = map[string]bool{"SELECT": true, "WITH": true, "VALUES": true, "TABLE": true, "FROM": true}

// body judges a query from a token on.
func (q *sqlStatement) body(from int) {
	depth, selects := 0, q.at(from).is("PIVOT") // which names its table without a FROM
	for i := from; i < len(q.tokens) && q.why == ""; i++ {
		t := q.tokens[i]
		switch {
		case t.kind == sqlWord || t.kind == sqlQuoted:
			q.word(i, from)
		case t.text == "(":
			depth++
			q.why = q.called(i, from)
		case t.text == ")":
			if depth--; depth < 0 {
				q.why = "a closing parenthesis without its opening one"
			}
		case t.text == "->>" && q.at(i+1).kind == sqlWord:
			q.why = "the sign ->> before a word, which chains statements in one dialect"
		case t.text == ":=" && (q.at(i-1).kind != sqlWord || q.at(i-2).text == "@"):
			q.why = "an assignment"
		case t.text == "|>":
			q.why = "the sign |>, behind which words may be deeds"
		case t.text == "@" && q.at(i+1).kind == sqlWord && q.at(i+2).text == "=" && q.assigns(i):
			q.why = "an assignment"
		}
		selects = selects || depth == 0 && (t.is("SELECT") || t.is("VALUES") || t.is("TABLE") || t.is("FROM"))
		selects = selects || q.at(from).text == "(" && t.is("SELECT")
	}
	last := q.at(len(q.tokens) - 1)
	hangs := last.kind == sqlSign && !endsExpression(last.text) || len(q.tokens) == from+1 // a word alone has no table
	if q.why == "" && (depth != 0 || !selects || hangs) {
		q.broken = "the SELECT is not whole"
	}
	if q.why == "" {
		q.names(from)
	}
}

// endsExpression reports whether a sign may be the last of an expression. No sign at all is not one that hangs.
func endsExpression(sign string) bool {
	switch sign {
	case "", ")", "]", "}", "*", "?", "%":
		return true
	}
	return false
}

// assigns reports whether a variable is set in a list of a SELECT, and not compared.
func (q *sqlStatement) assigns(i int) bool {
	before := q.at(i - 1)
	return before.is("SELECT") || before.text == "," || before.is("DISTINCT") || before.kind == sqlNumber
}

// word judges one word or quoted text of a query.
func (q *sqlStatement) word(i, from int) {
	t := q.tokens[i]
	name := strings.ToUpper(strings.Trim(t.text, "`'\"[]"))
	behindPoint := i > from+1 && q.at(i-1).text == "." && q.owner(i-2)
	switch {
	case strings.HasPrefix(name, "PRAGMA_") && !sqlPragmas[strings.TrimPrefix(name, "PRAGMA_")], name == "NEXTVAL" && behindPoint:
		q.why = "the name " + Shown(strings.Trim(t.text, `"'`)) + ", which does more than read"
	case t.kind == sqlQuoted:
		if q.at(i - 1).is("USING") {
			q.why = "USING before a string, which a dialect runs"
		} else if q.source(i) && (strings.Contains(name, "://") || strings.HasPrefix(name, "/") || strings.Contains(name, "..")) {
			q.why = "the file " + Shown(t.text)
		}
	case behindPoint:
	case t.text == "TABLE":
		before := q.at(i - 1)
		begins := i == from || before.text == "(" || before.is("UNION") || before.is("ALL") || before.is("EXCEPT") || before.is("INTERSECT") || before.is("DISTINCT")
		if !begins && q.at(i+1).text != "(" {
			q.why = "the words " + Shown(strings.TrimSpace(before.text+" TABLE"))
		}
	case !sqlHard[t.text] && !sqlSoft[t.text], sqlCalled(q.tokens[i:]), q.harmless(i):
	case sqlSoft[t.text] && q.isName(i):
	default:
		q.why = "the word " + Shown(t.text)
	}
}

// owner reports whether a token can own what is behind a point.
func (q *sqlStatement) owner(i int) bool {
	t := q.at(i)
	switch t.kind {
	case sqlQuoted:
		return true
	case sqlWord:
		return !sqlExpects[t.text] && !sqlFollows[t.text] && !sqlHard[t.text]
	case sqlSign:
		return t.text == ")" || t.text == "]" || t.text == "." && q.at(i-1).kind != sqlSign && q.owner(i-1)
	}
	return false
}

// source reports whether a quoted text stands where a table does.
func (q *sqlStatement) source(i int) bool {
	before := q.at(i - 1)
	return before.is("FROM") || before.is("JOIN") || before.text == "," && q.at(i+1).text != ")" && strings.Contains(q.tokens[i].text, "://")
}

func sqlCalled(rest []sqlToken) bool {
	return len(rest) > 1 && rest[1].text == "(" && sqlFunctions[rest[0].text]
}

// harmless reports whether a word that often acts is a part of a clause that reads.
func (q *sqlStatement) harmless(i int) bool {
	next, before := q.at(i+1), q.at(i-1)
	switch q.tokens[i].text {
	case "FETCH":
		n := i + 2
		if q.at(n).kind == sqlNumber || q.at(n).text == "@" || q.at(n).text == ":" || q.at(n).text == "?" || q.at(n).text == "(" {
			for n++; n < i+7 && !q.at(n).is("ROW") && !q.at(n).is("ROWS"); n++ {
			}
		}
		return (next.is("FIRST") || next.is("NEXT")) && (q.at(n).is("ROW") || q.at(n).is("ROWS") || q.at(n).is("PERCENT"))
	case "NEXT":
		return before.is("FETCH") // which is judged itself
	case "FOR":
		if next.kind == sqlWord && q.at(i+2).is("IN") && q.inList(i) { // [x + 1 FOR x IN list]
			return true
		}
		return next.kind == sqlNumber || next.is("JSON") || next.is("XML") || next.is("SYSTEM_TIME") || next.is("VERSION") || next.is("TIMESTAMP") ||
			(next.kind == sqlWord || next.kind == sqlQuoted) && q.at(i+2).is("IN") && q.at(i+3).text == "(" && !next.is("SHARE") && !next.is("UPDATE")
	case "IF":
		return q.inList(i)
	case "USE":
		return next.is("INDEX") || next.is("KEY")
	case "START":
		return next.is("WITH")
	case "SET":
		return before.is("CHARACTER")
	}
	return false
}

// inList reports whether a token is inside brackets, in a reading where these are a list.
func (q *sqlStatement) inList(i int) bool {
	open := 0
	for _, t := range q.tokens[:i] {
		switch {
		case t.kind != sqlSign:
		case t.text == "[":
			open++
		case t.text == "]":
			open = max(open-1, 0)
		}
	}
	return open > 0
}

// bound reports whether a name is that of the elements in a comprehension of a list.
func (q *sqlStatement) bound(name string) bool {
	for i, t := range q.tokens {
		if t.is("FOR") && q.at(i+1).is(name) && q.at(i+2).is("IN") && q.inList(i) {
			return true
		}
	}
	return false
}

// isName reports whether a word stands where only a name can: where an operand is expected, and before what follows one.
// Transact-SQL has nothing between two statements, so a word behind an operand may begin the next.
func (q *sqlStatement) isName(i int) bool {
	before, next := q.at(i-1), q.at(i+1)
	expected := before.kind == sqlSign && before.text != ")" && before.text != "]" && before.text != "}" && before.text != "*" && before.text != "" ||
		before.kind == sqlWord && sqlExpects[before.text]
	follows := next.kind == sqlSign && next.text != "(" && next.text != "[" && next.text != "@" && next.text != ":" ||
		next.kind == sqlWord && sqlFollows[next.text] || i == len(q.tokens)-1
	return expected && follows
}

// called returns what is wrong before an opening parenthesis: only an operator, a keyword or a known function may be.
func (q *sqlStatement) called(i, from int) string {
	if i == from {
		return ""
	}
	last, before := q.at(i-1), q.at(i-2)
	switch {
	case q.listed(i), q.at(i+1).text == "+" && q.at(i+2).text == ")": // an outer join of Oracle
		return ""
	case (last.is("PATH") || last.is("ROOT") || last.is("RAW")) && q.formats():
		return ""
	case last.kind == sqlSign:
		if last.text == ")" || last.text == "." || last.text == "::" || last.text == "]" || last.text == "}" {
			return "what is called after " + Shown(last.text)
		}
		return ""
	case last.kind != sqlWord:
		return "what is called by a quoted name or a number"
	case before.text == ".":
		if owner := q.at(i - 3); q.at(i-4).text != "." && (owner.is("PG_CATALOG") || owner.is("SAFE") || owner.is("NET")) && sqlFunctions[last.text] {
			return ""
		}
		if q.at(i-3).is("SYS") && q.at(i-4).text != "." && strings.HasPrefix(last.text, "DM_") {
			return ""
		}
		return "the function " + Shown(last.text) + " of a schema"
	case last.text == "WITH":
		return q.hints(i)
	case strings.HasPrefix(last.text, "PRAGMA_"): // which are judged as names
		return ""
	case last.text == "LAST_INSERT_ID" && q.at(i+1).text != ")":
		return "the function " + Shown(last.text) + " with an argument, which it stores"
	case (last.text == "SYSTEM" || last.text == "BERNOULLI" || last.text == "RESERVOIR") && (before.is("TABLESAMPLE") || before.is("SAMPLE")):
		return ""
	case !sqlKeywords[last.text] && !sqlFunctions[last.text]:
		return "the function " + Shown(last.text)
	}
	return ""
}

// listed reports whether a parenthesis holds the names of columns, or the size of a type: WITH a(b, c) AS (…), AS v(a, b),
// (VALUES (1)) v(a), x::numeric(10, 2). Nothing is called there.
func (q *sqlStatement) listed(i int) bool {
	last, before := q.at(i-1), q.at(i-2)
	if last.kind != sqlWord && last.kind != sqlQuoted || last.kind == sqlWord && sqlHard[last.text] {
		return false
	}
	end, numbers := i+1, true
	for ; q.at(end).text != ")" || q.at(end).kind != sqlSign; end++ {
		t := q.at(end)
		if end >= len(q.tokens) || t.kind == sqlSign && t.text != "," && t.text != "[" && t.text != "]" || t.kind == sqlWord && (sqlHard[t.text] || t.is("SELECT")) {
			return false
		}
		numbers = numbers && t.kind != sqlQuoted && (t.kind != sqlWord || t.is("MAX") || t.is("CHAR") || t.is("BYTE"))
	}
	begins := before.is("WITH") || before.is("RECURSIVE") || before.text == "," || before.is("MATERIALIZED")
	switch {
	case begins && q.at(end+1).is("AS") && (q.at(end+2).text == "(" || q.at(end+2).is("NOT") || q.at(end+2).is("MATERIALIZED")) && !numbersOnly(q.tokens[i+1:end]):
		return true
	case before.text == "::":
		return numbers
	case before.is("AS"):
		return true
	case before.text == ")" && last.kind == sqlWord && !sqlKeywords[last.text] && !sqlFunctions[last.text]:
		return !numbers
	}
	return false
}

// formats reports whether the rows come as JSON or XML, in Transact-SQL.
func (q *sqlStatement) formats() bool {
	for i, t := range q.tokens {
		if t.is("FOR") && (q.at(i+1).is("JSON") || q.at(i+1).is("XML")) {
			return true
		}
	}
	return false
}

func numbersOnly(tokens []sqlToken) bool {
	return !slices.ContainsFunc(tokens, func(t sqlToken) bool { return t.kind == sqlWord || t.kind == sqlQuoted })
}

// hints returns what is wrong with the parenthesis behind WITH: the hints of Transact-SQL that lock nothing may be there.
func (q *sqlStatement) hints(i int) string {
	for n := i + 1; n < len(q.tokens); n++ {
		switch t := q.at(n); {
		case t.kind == sqlSign && t.text == ")":
			return ""
		case t.kind == sqlSign && t.text == ",", t.kind == sqlWord && sqlHints[t.text]:
		default:
			return "WITH before " + Shown(t.text)
		}
	}
	return ""
}

// names looks at names that may call something without parentheses, as Oracle and PostgreSQL do for functions of a
// schema. They are columns, unless there is no table that could have them, or their first word is a grave deed.
func (q *sqlStatement) names(from int) {
	tables := false
	for i := from; i < len(q.tokens); i++ {
		if t := q.at(i); (t.is("FROM") || t.is("JOIN") || t.is("TABLE") || t.is("VALUES")) && !q.at(i+1).is("DUAL") {
			tables = true
		}
	}
	tables = tables || q.at(from).is("PIVOT")
	for i := from; i < len(q.tokens); i++ {
		t := q.at(i)
		if t.kind != sqlWord || q.at(i+1).text == "(" {
			continue
		}
		if verb, rest, ok := strings.Cut(t.text, "_"); ok && rest != "" && sqlDeeds[verb] && !sqlColumns[rest] {
			q.why = "the name " + Shown(t.text) + ", which may call a function"
			return
		}
		if q.bare && !tables && q.operand(i) {
			q.why = "the name " + Shown(t.text) + ", which is not a column"
			return
		}
	}
}

// operand reports whether a bare word is used for a value, and is not one of those that every dialect has.
func (q *sqlStatement) operand(i int) bool {
	t, before := q.at(i), q.at(i-1)
	switch {
	case q.at(i+1).text == "." && q.at(i+3).text == "(", q.at(i+1).text == "{", before.text == "." && q.at(i-3).text == "@":
		return false // the schema of a function, a map, a variable of the server
	case q.bound(t.text), t.text == "IF" && q.inList(i):
		return false
	case sqlKeywords[t.text], sqlExpects[t.text], sqlFollows[t.text], sqlValues[t.text], sqlBodies[t.text]:
		return false
	case before.is("AS") || before.is("FROM") || before.text == "." || before.text == "::" || before.text == "@" || before.text == ":" || before.is("DUAL"):
		return before.text == "."
	case before.kind == sqlNumber || before.kind == sqlQuoted || before.text == ")" || before.is("END") || before.is("NULL"): // an alias
		return false
	case q.at(i+1).kind == sqlQuoted: // a type before its text, the prefix of a quote
		return false
	}
	return true
}

// explain judges EXPLAIN, whose statement may be carried out.
func (q *sqlStatement) explain() {
	i := 1
	for analyzes := false; ; i++ {
		t := q.at(i)
		switch {
		case t.is("ANALYZE") || t.is("ANALYSE"):
			analyzes = true
		case t.is("VERBOSE") || t.is("EXTENDED") || t.is("PARTITIONS"):
		case t.is("QUERY") && q.at(i+1).is("PLAN"):
			i++
		case t.is("FORMAT") && q.at(i+1).text == "=":
			i += 2
		case t.text == "(" && t.kind == sqlSign && !sqlBodies[q.at(i+1).text] && q.at(i+1).text != "(":
			for i++; i < len(q.tokens) && q.at(i).text != ")"; i++ {
				if o := q.at(i); o.kind == sqlWord && !sqlOptions[o.text] {
					q.why = "the option " + Shown(o.text) + " of EXPLAIN"
					return
				}
			}
		case sqlBodies[t.text] || t.text == "(":
			q.body(i)
			return
		case i == 1 && !analyzes && q.single(i):
			return
		default:
			q.why = "an EXPLAIN of anything but a SELECT: " + Shown(t.text)
			return
		}
	}
}

// single reports whether what is left is one name, maybe with its schema.
func (q *sqlStatement) single(i int) bool {
	for n := i; n < len(q.tokens); n++ {
		t := q.at(n)
		if t.kind == sqlQuoted && t.text[0] == '\'' { // TiDB has a statement for it
			return false
		}
		if (n-i)%2 == 1 && t.text != "." || (n-i)%2 == 0 && (t.kind != sqlWord && t.kind != sqlQuoted || sqlHard[t.text]) {
			return false
		}
	}
	return len(q.tokens) > i
}

// show judges SHOW, which reads in every dialect that has it. Its calls are judged as elsewhere.
func (q *sqlStatement) show() {
	for i := 1; i < len(q.tokens) && q.why == ""; i++ {
		t := q.at(i)
		switch {
		case t.text == "(":
			if !(q.at(i - 1).is("COUNT")) {
				q.why = q.called(i, 0)
			}
		case t.kind != sqlWord || i == 1 && t.text == "CREATE":
		case sqlHard[t.text] && !sqlCalled(q.tokens[i:]), t.is("SELECT"):
			q.why = "the word " + Shown(t.text)
		case sqlSoft[t.text] && !sqlShows[t.text]:
			q.why = "the word " + Shown(t.text)
		}
	}
}

// describe judges the description of a table or of a query.
func (q *sqlStatement) describe(i int) {
	for q.at(i).is("TABLE") || q.at(i).is("EXTENDED") || q.at(i).is("FORMATTED") {
		i++
	}
	switch t := q.at(i); {
	case sqlBodies[t.text] || t.text == "(":
		q.body(i)
	case i >= len(q.tokens) && i == 1: // DuckDB describes everything
	case q.single(i):
	case q.single(i+1) && t.kind == sqlWord && q.at(i+1).kind == sqlWord && !sqlHard[t.text] && !sqlSoft[t.text] && !sqlHard[q.at(i+1).text] && !sqlSoft[q.at(i+1).text] && q.at(0).text != "SUMMARIZE" && len(q.tokens) == i+2:
		// a column of a table
	default:
		q.why = Shown(q.at(0).text) + " of more than a name or a SELECT"
	}
}

// pragma judges a PRAGMA: some list things, some report a setting unless they are given another.
func (q *sqlStatement) pragma() {
	i := 1
	if q.at(2).text == "." {
		i = 3
	}
	name, rest := q.at(i), q.tokens[min(i+1, len(q.tokens)):]
	switch {
	case name.kind != sqlWord:
		q.broken = "a PRAGMA without a name"
	case sqlPragmas[name.text]:
		if len(rest) > 0 && (rest[0].text != "(" || len(rest) > 3 || rest[len(rest)-1].text != ")") && (rest[0].text != "=" || len(rest) != 2) {
			q.why = "a PRAGMA with more than an argument"
		}
	case sqlSettings[name.text] && len(rest) == 0:
	default:
		q.why = "PRAGMA " + Shown(name.text)
	}
}
