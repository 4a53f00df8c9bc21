package probe

import (
	"bufio"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight"
)

// HTTP reads one request: a line such as "GET https://example.com/users?id=1", or the head of a request as it goes
// over the wire. GET, HEAD and OPTIONS are reads, PUT and PATCH updates (of which only PUT may be repeated), and all
// other methods destructive, since only the server knows what they do.
//
// Reads and updates become destructive if the request contradicts its method: a verb such as delete, finalize or
// playpause in the path or the query; a path that ends in a verb such as open or place; a command that is not known
// to read, or a statement that writes; a header or parameter that overrides the method; a GraphQL mutation; a body; a
// name and password in the URL. A method without a URL, or a URL without a method, is destructive too.
//
// HTTP cannot see that a server answers a harmless GET by changing something, nor where a redirect leads.
func HTTP(text string) preflight.Verdict {
	// A request over the wire ends its lines with CRLF, of which nothing else may be left.
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if why := plain(text); why != "" {
		return harmful("%s", why)
	}
	line, head, wire := strings.Cut(strings.TrimSuffix(text, "\n"), "\n")
	method, target, ok := strings.Cut(line, " ")
	if !ok {
		return harmful("%s is half a request: write its method, a space and its URL", shown(line))
	}
	target, version, ok := strings.Cut(target, " ")
	if ok && version != "HTTP/1.1" && version != "HTTP/1.0" {
		return harmful("%s behind the URL", shown(version))
	}
	if wire {
		if !ok {
			return harmful("a second line")
		}
		if why := httpHead(line + "\n" + head); why != "" {
			return harmful("%s", why)
		}
	}
	return httpRequest(method, target)
}

// httpHead returns what is wrong with the head of a request, which may have only known harmless headers.
func httpHead(head string) string {
	r := bufio.NewReader(strings.NewReader(strings.TrimRight(head, "\n") + "\n\n"))
	req, err := http.ReadRequest(r)
	if err != nil {
		return "what is no request"
	}
	if _, end := r.ReadByte(); end == nil || len(req.TransferEncoding) > 0 {
		return "what follows the head"
	}
	if strings.Contains(head, "\n ") || strings.Contains(head, "\n\t") {
		return "a line that begins with a blank, which is a header of its own for some"
	}
	for name := range req.Header {
		if !slices.Contains(httpHeaders, name) {
			return "the header " + shown(name)
		}
	}
	return ""
}

func httpRequest(method, target string) preflight.Verdict {
	why := httpURL(method, target)
	switch {
	case why != "":
		return harmful("%s", why)
	case method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions:
		return harmless(method)
	case method == http.MethodPut:
		return preflight.Verdict{Annotations: annotation.Update(), Why: method}
	case method == http.MethodPatch: // it sets, and may count up: RFC 5789 does not call it idempotent
		return preflight.Verdict{Annotations: annotation.Write(), Why: method}
	}
	return harmful("the method %s", shown(method))
}

// httpURL says what in a URL speaks against a method that promises little.
func httpURL(method, target string) string {
	if target == "*" && method == http.MethodOptions {
		return ""
	}
	u, err := url.ParseRequestURI(target)
	switch {
	case err != nil || strings.Contains(target, `\`):
		return "what is no URL"
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
	ends, last := httpEnds, parts[len(parts)-1]
	for ; len(parts) > 1 && strings.ContainsAny(last, "0123456789"); last = parts[len(parts)-1] {
		ends, parts = httpLeads, parts[:len(parts)-1]
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
		if ends = httpLeads; first == "post" { // which is a noun before an id
			return first
		}
	}
	if slices.Contains(ends, first) && (len(parts) > 1 || len(words) > 1 || first != "up") {
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
	engine := slices.ContainsFunc(within, func(word string) bool { return slices.Contains(httpEngines, word) })
	for key, values := range query {
		name := nameWords(key)
		if !slices.Contains(httpOptions, key) {
			for _, word := range name {
				if httpAct(word) || slices.Contains(httpOverrides, word) {
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
	search := slices.Contains(httpSearches, key) && !document && !engine
	switch {
	case strings.Contains(value, "%"):
		return "a value in disguise"
	case document && (strings.Contains(lower, "mutation") || strings.Contains(lower, "subscription")):
		return "a GraphQL document with more than queries"
	case httpStatement.MatchString(value), slices.Contains(httpLanguages, key) && httpShouts(value):
		return "a statement that writes"
	case search:
		return ""
	}
	for _, word := range words {
		if httpAct(word) || slices.Contains(httpMethods, word) || lower == "on" || lower == "off" {
			return "the word " + shown(word)
		}
	}
	if slices.Contains(httpCommands, strings.ToLower(key)) && (len(words) == 0 || !slices.Contains(httpReads, words[0])) {
		return "a command that is not known to read"
	}
	return ""
}

// httpStatement is the beginning of a statement in a language of databases.
var httpStatement = regexp.MustCompile(`(?i)(?:^|;)\s*(?:` +
	`(?:drop|create|alter|truncate)\s+(?:or\s+replace\s+)?(?:continuous|database|function|index|keyspace|measurement|procedure|retention|role|schema|series|shard|subscription|table|trigger|user|view)\b` +
	`|delete\s+from\b|insert\s+into\b|merge\s+into\b|replace\s+into\b|update\s+\S+\s+set\b|grant\s+.*\bto\b|revoke\s+.*\bfrom\b|kill\s+query\b)`)

// httpShouts reports whether a text begins as a statement in capitals that does not read: OPTIMIZE TABLE.
func httpShouts(text string) bool {
	verb := httpCapitals.FindStringSubmatch(text)
	return verb != nil && verb[1] != "EXPLAIN" && !slices.Contains(httpReads, strings.ToLower(verb[1]))
}

var httpCapitals = regexp.MustCompile(`^\s*([A-Z]{3,})\s+[A-Z]{3,}\b`)

// httpLanguages are the parameters for statements.
var httpLanguages = strings.Fields(`query sql statement stmt`)

// nameWords cuts a path or a name into its words, in small letters: snake_case, camelCase, and whatever else is
// between letters. What only camelCase cuts is a word as a whole too, since many servers ignore the case.
func nameWords(s string) []string {
	words := append(nameWord.FindAllString(strings.ToLower(s), -1), nameWord.FindAllString(s, -1)...)
	for i, word := range words {
		words[i] = strings.ToLower(word)
	}
	return words
}

// nameWord is one word of a name. What is outside ASCII is a small letter.
var nameWord = regexp.MustCompile(`[A-Z]+[a-z\x{80}-\x{10FFFF}]*|[a-z\x{80}-\x{10FFFF}]+`)

// httpAct reports whether a word is a verb of writing, or looks like one.
func httpAct(word string) bool {
	return slices.Contains(httpActs, word) ||
		slices.ContainsFunc(httpStems, func(stem string) bool { return strings.Contains(word, stem) }) ||
		slices.ContainsFunc(httpActs, func(act string) bool {
			rest, ok := strings.CutPrefix(word, act)
			return ok && len(act) >= 6 && !slices.Contains(httpEndings, rest) && !httpNominal.MatchString(rest)
		}) ||
		!httpNoun.MatchString(word) && (httpVerb.MatchString(word) || httpAgain(word) || httpDouble(word))
}

// httpNominal makes a noun or an adjective of a verb, whatever is behind it: deploymentmanager.
var httpNominal = regexp.MustCompile(`^(?:l?ment|ation|ion|ed)`)

// httpVerb is how verbs end: finalize, verify, generate.
var httpVerb = regexp.MustCompile(`.{2}(?:[iy][sz]e|ify|ate)$`)

// httpAgain reports whether a word is a verb with a prefix that repeats or reverses it: reissue, unmute.
func httpAgain(word string) bool {
	return slices.ContainsFunc(httpPrefixes, func(prefix string) bool {
		verb, ok := strings.CutPrefix(word, prefix)
		return ok && (slices.Contains(httpActs, verb) || slices.Contains(httpEnds, verb))
	})
}

// httpDouble reports whether a word is made of two verbs: playpause, takeoff.
func httpDouble(word string) bool {
	begins := func(first string) bool {
		second, ok := strings.CutPrefix(word, first)
		return ok && (slices.Contains(httpActs, second) || slices.Contains(httpEnds, second))
	}
	return slices.ContainsFunc(httpActs, begins) || slices.ContainsFunc(httpLeads, begins)
}

var httpPrefixes = strings.Fields(`de dis re un`)

// httpNoun is what looks like such a verb and is none, or only reads.
var httpNoun = regexp.MustCompile(`(?:affili|aggreg|candid|certific|chocol|clim|coordin|corpor|est|gradu|intermedi|mand|sen|templ)ate$` +
	`|(?:display|enterprise|exercise|expertise|franchise|merchandise|shopify|spotify|wise)$` +
	`|^(?:analy[sz]e|calculate|cruise|delegate|design|estimate|immediate|markdown|markup|noise|normalize|offset|pirate|plate|precise|premise|private|prize|promise` +
	`|raise|recall|separate|size|state|summarize|translate|ultimate|validate|visualize)$`)

// httpEndings make another word of a verb of six letters and more; anything else behind one is its object: createuser.
var httpEndings = words("httpEndings")

// httpStems count inside a longer word too: deleteuser, bulkremove.
var httpStems = words("httpStems")

// httpActs are words that a read has no use for in a path or a command.
var httpActs = words("httpActs")

// httpEnds are words that command at the end of a path, and name things elsewhere.
var httpEnds = words("httpEnds")

// httpLeads are those that also command before an object or an id: placeOrder, open/7.
var httpLeads = words("httpLeads")

// httpCommands are the parameters whose value is a command, and httpReads are those that read.
var (
	httpCommands = strings.Fields(`act action cmd cmnd command do exec func function job method op operation verb`)
	httpReads    = words("httpReads")
)

// httpOptions are parameters of reads whose names have a verb in them.
var httpOptions = strings.Fields(`start allow_partial follow_redirects start_date start_time startAt startIndex start_index`)

// httpEngines are words of a path behind which a search is a statement.
var httpEngines = strings.Fields(`cypher db eval exec gremlin query run sparql sql`)

// httpMethods are the methods that may hide in a parameter.
var httpMethods = []string{"post", "patch", "connect", "trace", "merge", "mkcol"}

// httpOverrides are words of parameters that stand in for the method.
var httpOverrides = []string{"override", "method"}

// httpSearches are the parameters in which people write what they look for.
var httpSearches = []string{"q", "query", "search", "term", "text", "keyword", "keywords"}

// httpHeaders are the headers of a request that leave its method alone.
var httpHeaders = words("httpHeaders")
