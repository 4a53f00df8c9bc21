// Package probe judges a call by the text of one argument: [SQL] reads a query, [HTTP] a request and [Shell] a command
// line. Each is a [preflight.Probe], for a tool that runs whatever it is given:
//
//	preflight.Rules{"db/run_sql": preflight.Argument("sql", probe.SQL)}
//
// A text is a read only if every part of it is known to read; anything else is destructive.
package probe

import (
	"bufio"
	_ "embed" // for shapes.txt and words.txt
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight"
	"mvdan.cc/sh/v3/syntax"
)

// maxProbed is how many bytes a probe reads; a longer text is asked about.
const maxProbed = 16 << 10

func harmless(why string) preflight.Verdict {
	return preflight.Verdict{Annotations: annotation.ReadOnly(), Why: why}
}

func harmful(why string) preflight.Verdict {
	return preflight.Verdict{Annotations: annotation.Destructive(), Why: why}
}

// plain returns why a text cannot be read in any language: too long, not UTF-8, or invisible characters; or "".
func plain(text string) string {
	if len(text) > maxProbed {
		return fmt.Sprintf("%d bytes are more than is read", len(text))
	}
	for i, r := range text {
		switch {
		case r == utf8.RuneError:
			return fmt.Sprintf("byte %d is not UTF-8", i)
		case r == '\n' || r == '\t':
		case !unicode.IsPrint(r): // control, format and private characters, and every blank but the space
			return fmt.Sprintf("the character %U", r)
		}
	}
	return ""
}

func shown(s string) string {
	const most = 40
	short := []rune(s)
	if len(short) > most {
		return strconv.Quote(string(short[:most]) + "…")
	}
	return strconv.Quote(s)
}

//go:embed words.txt
var wordLists string

var lists = func() map[string][]string {
	lists := make(map[string][]string)
	for line := range strings.Lines(strings.ReplaceAll(wordLists, "\n\t", " ")) {
		name, words, _ := strings.Cut(line, ":")
		lists[name] = strings.Fields(words)
	}
	return lists
}()

func in(list, word string) bool { return slices.Contains(lists[list], word) }

// HTTP reads one request: a line such as "GET https://example.com/users?id=1", or the head of a request as it goes
// over the wire. GET, HEAD and OPTIONS are reads, PUT and PATCH updates (only PUT may be repeated), and all
// other methods destructive, since their effect depends on the server.
//
// Reads and updates become destructive if the request contradicts its method: a verb such as delete, finalize or
// playpause in the path or the query; a path that ends in a verb such as open or place; a command that is not known
// to read, or a statement that writes; a header or parameter that overrides the method; a GraphQL mutation; a body; a
// name and password in the URL. A method without a URL, or a URL without a method, is destructive too.
//
// HTTP cannot see that a server answers a harmless GET by changing something, nor where a redirect leads.
func HTTP(text string) preflight.Verdict {
	// A request over the wire ends its lines with CRLF; a CR elsewhere is refused.
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if why := plain(text); why != "" {
		return harmful(why)
	}
	line, head, wire := strings.Cut(strings.TrimSuffix(text, "\n"), "\n")
	method, target, ok := strings.Cut(line, " ")
	if !ok {
		return harmful(shown(line) + " is half a request: write its method, a space and its URL")
	}
	target, version, ok := strings.Cut(target, " ")
	if ok && version != "HTTP/1.1" && version != "HTTP/1.0" {
		return harmful(shown(version) + " behind the URL")
	}
	if wire {
		if !ok {
			return harmful("a second line")
		}
		if why := httpHead(line + "\n" + head); why != "" {
			return harmful(why)
		}
	}
	return httpRequest(method, target)
}

func httpHead(head string) string {
	r := bufio.NewReader(strings.NewReader(strings.TrimRight(head, "\n") + "\n\n"))
	req, err := http.ReadRequest(r)
	if err != nil {
		return "a malformed request"
	}
	if _, end := r.ReadByte(); end == nil || len(req.TransferEncoding) > 0 {
		return "what follows the head"
	}
	if strings.Contains(head, "\n ") || strings.Contains(head, "\n\t") {
		return "a line that begins with a blank, which is a header of its own for some"
	}
	for name := range req.Header {
		if !in("httpHeaders", name) {
			return "the header " + shown(name)
		}
	}
	return ""
}

func httpRequest(method, target string) preflight.Verdict {
	why := httpURL(method, target)
	switch {
	case why != "":
		return harmful(why)
	case method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions:
		return harmless(method)
	case method == http.MethodPut:
		return preflight.Verdict{Annotations: annotation.Update(), Why: method}
	case method == http.MethodPatch: // it sets, and may count up: RFC 5789 does not call it idempotent
		return preflight.Verdict{Annotations: annotation.Write(), Why: method}
	}
	return harmful("the method " + shown(method))
}

// httpURL returns what in a URL contradicts a method that promises little.
func httpURL(method, target string) string {
	if target == "*" && method == http.MethodOptions {
		return ""
	}
	u, err := url.ParseRequestURI(target)
	switch {
	case err != nil || strings.Contains(target, `\`):
		return "a malformed URL"
	case u.User != nil:
		return "a name and password in the URL"
	case u.Scheme == "" && (u.Host != "" || strings.HasPrefix(target, "//")):
		return "a URL without its scheme"
	case u.Scheme != "" && (u.Scheme != "http" && u.Scheme != "https" || u.Host == ""):
		return "the scheme " + shown(u.Scheme)
	case plain(u.Path) != "" || strings.ContainsAny(u.Path, `%\;`) || strings.Contains(u.Path, "\n"):
		return "a path in disguise"
	}
	for _, word := range nameWords(u.Path) {
		if httpAct(word) {
			return "the word " + shown(word) + " in the path"
		}
	}
	if word := httpEnd(u.Path); word != "" {
		return "the word " + shown(word) + " at the end of the path"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "a query that servers read differently"
	}
	return httpQuery(u.Path, query)
}

// httpEnd returns the verb that a path ends in, perhaps before an id.
func httpEnd(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	ends, last := "httpEnds", parts[len(parts)-1]
	for ; len(parts) > 1 && strings.ContainsAny(last, "0123456789"); last = parts[len(parts)-1] {
		ends, parts = "httpLeads", parts[:len(parts)-1]
	}
	last = httpSuffix.ReplaceAllString(last, "")
	words := nameWord.FindAllString(last[strings.LastIndexByte(last, '.')+1:], -1) // chat.postMessage
	if len(words) == 0 {
		return ""
	}
	first := strings.ToLower(words[0])
	if len(words) == 2 && httpParticle.MatchString(words[1]) { // quietDown, lights-off
		return words[1]
	}
	if len(words) > 1 {
		if ends = "httpLeads"; first == "post" { // which is a noun before an id
			return first
		}
	}
	if in(ends, first) && (len(parts) > 1 || len(words) > 1 || first != "up") {
		return first
	}
	return ""
}

var httpParticle = regexp.MustCompile(`^(?i:on|off|up|down)$`)

var httpSuffix = regexp.MustCompile(`\.(?:json|xml|html?|php|aspx?|cgi|do|txt|csv)$`)

// httpQuery returns the parameter that contradicts a read. Every value but that of a search counts as a command.
func httpQuery(path string, query url.Values) string {
	within := nameWords(path)
	graph := slices.Contains(within, "graphql")
	if graph && !query.Has("query") {
		return "a GraphQL request whose document is elsewhere"
	}
	engine := slices.ContainsFunc(within, func(word string) bool { return in("httpEngines", word) })
	for key, values := range query {
		name := nameWords(key)
		if !in("httpOptions", key) {
			for _, word := range name {
				if httpAct(word) || in("httpOverrides", word) {
					return "the parameter " + shown(key)
				}
			}
		}
		for _, value := range values {
			if what := httpValue(key, value, graph, engine); what != "" {
				return what + " in the parameter " + shown(key)
			}
		}
	}
	return ""
}

func httpValue(key, value string, graph, engine bool) string {
	lower := strings.ToLower(value)
	words := nameWords(value)
	document := graph || key == "query" && strings.Contains(value, "{")
	search := in("httpSearches", key) && !document && !engine
	switch {
	case strings.Contains(value, "%"):
		return "a value in disguise"
	case document && (strings.Contains(lower, "mutation") || strings.Contains(lower, "subscription")):
		return "a GraphQL document with more than queries"
	case httpStatement.MatchString(value), in("httpLanguages", key) && httpShouts(value):
		return "a statement that writes"
	case search:
		return ""
	}
	for _, word := range words {
		if httpAct(word) || in("httpMethods", word) || lower == "on" || lower == "off" {
			return "the word " + shown(word)
		}
	}
	if in("httpCommands", strings.ToLower(key)) && (len(words) == 0 || !in("httpReads", words[0])) {
		return "a command that is not known to read"
	}
	return ""
}

var httpStatement = regexp.MustCompile(`(?i)(?:^|;)\s*(?:` +
	`(?:drop|create|alter|truncate)\s+(?:or\s+replace\s+)?(?:continuous|database|function|index|keyspace|measurement|procedure|retention|role|schema|series|shard|subscription|table|trigger|user|view)\b` +
	`|delete\s+from\b|insert\s+into\b|merge\s+into\b|replace\s+into\b|update\s+\S+\s+set\b|grant\s+.*\bto\b|revoke\s+.*\bfrom\b|kill\s+query\b)`)

// httpShouts reports whether a text begins as a statement in capitals that does not read: OPTIMIZE TABLE.
func httpShouts(text string) bool {
	verb := httpCapitals.FindStringSubmatch(text)
	return verb != nil && verb[1] != "EXPLAIN" && !in("httpReads", strings.ToLower(verb[1]))
}

var httpCapitals = regexp.MustCompile(`^\s*([A-Z]{3,})\s+[A-Z]{3,}\b`)

// nameWords returns the words of a path or name in small letters. A camelCase word is returned whole as well.
func nameWords(s string) []string {
	words := append(nameWord.FindAllString(strings.ToLower(s), -1), nameWord.FindAllString(s, -1)...)
	for i, word := range words {
		words[i] = strings.ToLower(word)
	}
	return words
}

// nameWord is one word of a name. Letters outside ASCII count as small.
var nameWord = regexp.MustCompile(`[A-Z]+[a-z\x{80}-\x{10FFFF}]*|[a-z\x{80}-\x{10FFFF}]+`)

// httpAct reports whether a word is a verb of writing, or looks like one.
func httpAct(word string) bool {
	return in("httpActs", word) ||
		slices.ContainsFunc(lists["httpStems"], func(stem string) bool { return strings.Contains(word, stem) }) ||
		slices.ContainsFunc(lists["httpActs"], func(act string) bool {
			rest, ok := strings.CutPrefix(word, act)
			return ok && len(act) >= 6 && !in("httpEndings", rest) && !httpNominal.MatchString(rest)
		}) ||
		!httpNoun.MatchString(word) && (httpVerb.MatchString(word) || httpDouble(word))
}

// httpNominal makes a noun or an adjective of a verb, whatever is behind it: deploymentmanager.
var httpNominal = regexp.MustCompile(`^(?:l?ment|ation|ion|ed)`)

// httpVerb is how verbs end: finalize, verify, generate.
var httpVerb = regexp.MustCompile(`.{2}(?:[iy][sz]e|ify|ate)$`)

// httpDouble reports whether a word is a verb behind another one, or behind a prefix that repeats or reverses it:
// playpause, takeoff, reissue, unmute.
func httpDouble(word string) bool {
	begins := slices.Concat(lists["httpPrefixes"], lists["httpActs"], lists["httpLeads"])
	return slices.ContainsFunc(begins, func(begin string) bool {
		verb, ok := strings.CutPrefix(word, begin)
		return ok && (in("httpActs", verb) || in("httpEnds", verb))
	})
}

// httpNoun matches nouns that look like such a verb, and verbs that only read.
var httpNoun = regexp.MustCompile(`(?:affili|aggreg|candid|certific|chocol|clim|coordin|corpor|est|gradu|intermedi|mand|sen|templ)ate$` +
	`|(?:display|enterprise|exercise|expertise|franchise|merchandise|shopify|spotify|wise)$` +
	`|^(?:analy[sz]e|calculate|cruise|delegate|design|estimate|immediate|markdown|markup|noise|normalize|offset|pirate|plate|precise|premise|private|prize|promise` +
	`|raise|recall|separate|size|state|summarize|translate|ultimate|validate|visualize)$`)

// SQL reads one plain SELECT, and calls it a read if every known dialect agrees that it is one. It is not a parser: it
// accepts a small language that all dialects cut into the same words, in which no word begins a second statement,
// locks, stores or assigns, and which calls only functions of its list. All else is destructive, INSERT too.
//
// For a server whose dialect is known, the module contrib/sqlprobe has probes that use the database's own grammar.
//
// SQL cannot see what a view, an operator, a cast or a function of a listed name does inside the database, nor a
// function of the host's own that is called without parentheses, as Oracle, Firebird and PostgreSQL allow.
func SQL(text string) preflight.Verdict {
	if why := plain(text); why != "" {
		return harmful(why)
	}
	tokens, why := sqlTokens(text)
	if why != "" {
		return harmful(why)
	}
	if n := len(tokens); n > 0 && tokens[n-1].text == ";" {
		tokens = tokens[:n-1]
	}
	if len(tokens) == 0 {
		return harmful("there is no statement")
	}
	if first := tokens[0]; first.kind != sqlWord || first.text != "SELECT" && first.text != "WITH" {
		return harmful(shown(first.text) + " does not begin a SELECT")
	}
	return sqlSelect(tokens)
}

func sqlSelect(tokens []sqlToken) preflight.Verdict {
	depth, selects := 0, false
	for i, t := range tokens {
		switch {
		case t.kind == sqlWord && in("sqlActs", t.text) && !sqlCalled(tokens[i:]):
			return harmful("the word " + shown(t.text))
		case sqlHidden(tokens[:i+1]):
			return harmful("the name " + shown(strings.Trim(t.text, `"'`)) + ", which does more than read")
		case t.text == ";":
			return harmful("a second statement")
		case t.text == "(":
			depth++
			if why := sqlBefore(tokens[:i]); why != "" {
				return harmful(why)
			}
		case t.text == ")":
			depth--
		}
		if depth < 0 {
			return harmful("a closing parenthesis without its opening one")
		}
		selects = selects || depth == 0 && t.text == "SELECT" && t.kind == sqlWord
	}
	if depth != 0 || !selects {
		return harmful("the SELECT is not whole")
	}
	return harmless("one SELECT")
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
			return "what is called after " + shown(last.text)
		}
		return ""
	case last.kind != sqlWord:
		return "what is called by a quoted name or a number"
	case len(tokens) > 1 && tokens[len(tokens)-2].text == ".": // a keyword too is a name there
		return "the function " + shown(last.text) + " of a schema"
	case !in("sqlKeywords", last.text) && !in("sqlFunctions", last.text):
		return "the function " + shown(last.text)
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
				return nil, "the prefix of a quote " + shown(rest[:n])
			}
			kind, word := sqlWord, strings.ToUpper(rest[:n])
			if c <= '9' {
				if kind = sqlNumber; !sqlNumeral.MatchString(word) {
					return nil, "the number " + shown(word) + ", where dialects find a word"
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
			return nil, "the character " + shown(string([]rune(rest)[0]))
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

// Shell reads a command line for a POSIX-like shell: sh, bash, dash, ksh, zsh, fish. It is a read if every command is
// in a table of commands that read, each with only flags of the table, joined by nothing but |, &&, || and ;. All else
// is destructive: other commands, variables, substitutions, assignments, functions, redirections (except to /dev/null
// and 2>&1), the background, comments, backslashes, braces.
//
// Shell cannot see aliases, a PATH with another ls in front, or a program's own configuration. Do not use it for the
// shells of Windows, whose quotes end elsewhere.
func Shell(text string) preflight.Verdict {
	if why := plain(text); why != "" {
		return harmful(why)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	switch {
	case err != nil:
		return harmful("a malformed command line")
	case len(file.Stmts) == 0:
		return harmful("there is no command")
	case len(file.Last) > 0:
		return harmful("a comment, which shells do not all know")
	}
	var names []string
	for _, stmt := range file.Stmts {
		if why := shellStmt(stmt, &names); why != "" {
			return harmful(why)
		}
	}
	return harmless(strings.Join(names, ", "))
}

func shellStmt(stmt *syntax.Stmt, names *[]string) string {
	switch {
	case len(stmt.Comments) > 0:
		return "a comment, which shells do not all know"
	case stmt.Background || stmt.Coprocess || stmt.Disown:
		return "a command in the background"
	case stmt.Negated:
		return "the sign !"
	}
	for _, r := range stmt.Redirs {
		if !shellSilences(r) {
			return "the redirection " + shown(r.Op.String())
		}
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt && cmd.Op != syntax.Pipe {
			return "the sign " + shown(cmd.Op.String())
		}
		if why := shellStmt(cmd.X, names); why != "" {
			return why
		}
		return shellStmt(cmd.Y, names)
	case *syntax.CallExpr:
		if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 {
			return "an assignment"
		}
		name, why := shellCall(cmd.Args)
		if len(*names) < 8 && !slices.Contains(*names, name) { // the rest of a long line adds nothing
			*names = append(*names, name)
		}
		return why
	}
	return "more than plain commands"
}

// shellSilences reports whether a redirection only joins the two outputs or throws one away.
func shellSilences(r *syntax.Redirect) bool {
	from := ""
	if r.N != nil {
		from = r.N.Value
	}
	if from != "" && from != "1" && from != "2" || r.Hdoc != nil {
		return false
	}
	switch to := r.Word.Lit(); r.Op {
	case syntax.RdrOut:
		return to == "/dev/null"
	case syntax.DplOut:
		return to == "1" || to == "2"
	}
	return false
}

// shellWord is one word of a command as the program gets it.
type shellWord struct {
	text string
	glob bool // it begins with what the shell replaces by names of files, which may look like flags
	many bool // it holds such a thing, and may become several words
}

var (
	// shellPlain has no meaning of its own outside quotes in any shell that we read.
	shellPlain = regexp.MustCompile(`^[\pL\pM\pN_./:,@%+=*?\[\]~-]*$`)
	// shellEscape is what a backslash or a ! makes of double quotes in some shells.
	shellEscape = regexp.MustCompile("[$`!]|\\\\[\\\\\"\n]|\\\\$")
)

// shellWords returns the words of a command, or which one is not plain text.
func shellWords(args []*syntax.Word) (words []shellWord, why string) {
	for _, arg := range args {
		var w shellWord
		for _, part := range arg.Parts {
			text, ok := shellPart(part)
			if !ok {
				return nil, "a word that the shell makes something else of"
			}
			if _, bare := part.(*syntax.Lit); bare {
				at := strings.IndexAny(text, "*?[")
				w.glob = w.glob || w.text == "" && at == 0
				w.many = w.many || at >= 0
			}
			w.text += text
		}
		words = append(words, w)
	}
	return words, ""
}

func shellPart(part syntax.WordPart) (text string, ok bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		return p.Value, shellPlain.MatchString(p.Value)
	case *syntax.SglQuoted:
		// fish lets a backslash escape the closing quote.
		return p.Value, !p.Dollar && !strings.HasSuffix(p.Value, `\`)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			lit, is := inner.(*syntax.Lit)
			if !is || shellEscape.MatchString(lit.Value) {
				return "", false
			}
			text += lit.Value
		}
		return text, !p.Dollar
	}
	return "", false
}

type shellCommand struct {
	flags    map[string]byte // each with its mark: = takes a value, ? may have one attached with =, a space takes none
	operands operands
	shape    *regexp.Regexp // what the operands must look like, where operands is matched
}

// operands are what may follow a command beside its flags, as shell.txt names them.
type operands string

const (
	anything operands = "anything" // names of files and the like
	globs    operands = "globs"    // anything, and a * may grow into flags, since it has none that write
	nothing  operands = "nothing"  // an operand would make it write, or is a command of its own
	matched  operands = "matched"  // their text decides
	urls     operands = "urls"     // every one is a URL to get
	group    operands = "group"    // what follows is a command of its own
)

// shellCall returns the name of the command and what in it is more than a read.
func shellCall(args []*syntax.Word) (name, why string) {
	words, why := shellWords(args)
	if why != "" {
		return "", why
	}
	name = words[0].text
	cmd, known := shellCommands()[name]
	if !known || strings.Contains(name, " ") { // "git log" in quotes is a program of that name
		return name, "the command " + shown(name)
	}
	for rest := words[1:]; ; {
		n, why := shellFlags(cmd, rest)
		if why != "" {
			return name, shown(name) + " with " + why
		}
		if n < len(rest) && !strings.Contains(rest[n].text, " ") {
			if sub, is := shellCommands()[name+" "+rest[n].text]; is {
				name, cmd, rest = name+" "+rest[n].text, sub, rest[n+1:]
				continue
			}
		}
		if why := shellOperands(cmd, rest[n:]); why != "" {
			return name, shown(name) + " with " + why
		}
		return name, ""
	}
}

// shellOperands reads a command from its first operand on; flags may be between operands.
func shellOperands(cmd shellCommand, rest []shellWord) string {
	var found []string
	for len(rest) > 0 {
		word := rest[0]
		if word.glob && cmd.operands != globs {
			return "a pattern that may become a flag: write ./* for *"
		}
		found = append(found, word.text)
		n, why := shellFlags(cmd, rest[1:])
		if why != "" {
			return why
		}
		rest = rest[1+n:]
	}
	switch cmd.operands {
	case nothing, group:
		if len(found) > 0 {
			return shown(found[0])
		}
		if cmd.operands == group {
			return "nothing behind it"
		}
	case matched:
		if !cmd.shape.MatchString(strings.Join(found, "\x00")) {
			return "an operand that may do more than read"
		}
	case urls:
		for _, target := range found {
			if !strings.Contains(target, "://") || strings.ContainsAny(target, "{}[]") {
				return "something other than a plain URL"
			}
			if why := httpURL("GET", target); why != "" {
				return why
			}
		}
	}
	return ""
}

// shellFlags returns how many words from the first are flags and their values.
func shellFlags(cmd shellCommand, words []shellWord) (n int, why string) {
	for n < len(words) && strings.HasPrefix(words[n].text, "-") && words[n].text != "-" {
		flag := words[n].text
		n++
		if flag == "--" {
			// Not every program stops looking for flags here.
			if slices.ContainsFunc(words[n:], func(w shellWord) bool { return strings.HasPrefix(w.text, "-") || w.glob }) {
				return 0, "a flag behind --"
			}
			return n, ""
		}
		known, wants := shellFlag(cmd.flags, flag)
		if !known {
			return 0, "the flag " + shown(flag)
		}
		if wants {
			if n == len(words) || words[n].many || strings.HasPrefix(words[n].text, "-") && !shellNumber.MatchString(words[n].text) {
				return 0, "no value behind " + shown(flag)
			}
			n++
		}
	}
	return n, ""
}

// shellNumber is the one kind of value that may begin with a dash: find -mtime -7.
var shellNumber = regexp.MustCompile(`^-\d+[kMG]?$`)

// shellFlag reports whether a flag is in the list, and whether the next word is its value.
func shellFlag(flags map[string]byte, flag string) (known, wants bool) {
	name, _, attached := strings.Cut(flag, "=")
	switch kind, is := flags[name]; {
	case is && kind == '=':
		return true, !attached
	case is && (kind == '?' || !attached):
		return true, false
	case strings.HasPrefix(flag, "--"):
		return false, false
	}
	if _, is := flags["-#"]; is && strings.Trim(flag[1:], "0123456789") == "" {
		return true, false
	}
	// Short flags in one word. After one that takes a value, every letter must still be a flag of the list.
	valued := false
	for i, letter := range flag[1:] {
		kind, is := flags["-"+string(letter)]
		switch {
		case is && kind == '=':
			valued, wants = true, i+2 == len(flag)
		case !is && (!valued || unicode.IsLetter(letter)):
			return false, false
		}
	}
	return true, wants
}

//go:embed shell.txt
var shellFile string

// shellCommands returns the commands of shell.txt, which explains its form.
var shellCommands = sync.OnceValue(func() map[string]shellCommand {
	commands := make(map[string]shellCommand)
	var sets []string
	for line := range strings.Lines(strings.ReplaceAll(shellFile, "\n\t", " ")) {
		names, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(names, "$") {
			sets = append(sets, names, rest)
			continue
		}
		kind, flags, _ := strings.Cut(rest, " ")
		kind, shape, _ := strings.Cut(kind, "=")
		cmd := shellCommand{flags: make(map[string]byte), operands: operands(kind)}
		if shape != "" {
			cmd.shape = regexp.MustCompile(`^(?:` + shape + `)$`)
		}
		for flag := range strings.FieldsSeq(strings.NewReplacer(sets...).Replace(flags)) {
			name := strings.TrimRight(flag, "=?")
			cmd.flags[name] = (flag + " ")[len(name)]
		}
		for name := range strings.SplitSeq(names, ", ") {
			commands[name] = cmd
		}
	}
	return commands
})
