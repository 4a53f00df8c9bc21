package probes

// HTTP trusts a method only as far as the rest of the request does not contradict it. Servers change things on a GET,
// and the only sign of it is a word: in the path, or in a parameter's name or value. So the path and the query are cut
// into words, which are compared with lists of verbs (words.txt) and with the endings that verbs have. The lists were
// tuned on the requests in testdata: a missed verb is a write without a question, and a noun that is taken for a verb
// is a question too many.

import (
	"bufio"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/lazyregexp"
)

// HTTP judges a request, as package preflight/probe documents.
func HTTP(text string) Verdict {
	// A request over the wire ends its lines with CRLF; a CR elsewhere is refused.
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if why := Plain(text); why != "" {
		return Harmful(why)
	}
	line, head, wire := strings.Cut(strings.TrimSuffix(text, "\n"), "\n")
	method, target, ok := strings.Cut(line, " ")
	if !ok {
		return Harmful(Shown(line) + " is half a request: write its method, a space and its URL")
	}
	target, version, ok := strings.Cut(target, " ")
	if ok && version != "HTTP/1.1" && version != "HTTP/1.0" {
		return Harmful(Shown(version) + " behind the URL")
	}
	if wire {
		if !ok {
			return Harmful("a second line")
		}
		if why := httpHead(line + "\n" + head); why != "" {
			return Harmful(why)
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
			return "the header " + Shown(name)
		}
	}
	return ""
}

func httpRequest(method, target string) Verdict {
	why := URLFault(method, target)
	switch {
	case why != "":
		return Harmful(why)
	case method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions:
		return Harmless(method)
	case method == http.MethodPut:
		return Verdict{Annotations: annotation.Update(), Why: method}
	case method == http.MethodPatch: // it sets, and may count up: RFC 5789 does not call it idempotent
		return Verdict{Annotations: annotation.Write(), Why: method}
	}
	return Harmful("the method " + Shown(method))
}

// URLFault returns what in a URL contradicts a method that promises little.
func URLFault(method, target string) string {
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
		return "the scheme " + Shown(u.Scheme)
	case Plain(u.Path) != "" || strings.ContainsAny(u.Path, `%\;`) || strings.Contains(u.Path, "\n"):
		return "a path in disguise"
	}
	for _, word := range nameWords(u.Path) {
		if httpAct(word) {
			return "the word " + Shown(word) + " in the path"
		}
	}
	if word := httpEnd(u.Path); word != "" {
		return "the word " + Shown(word) + " at the end of the path"
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

var httpParticle = lazyregexp.New(`^(?i:on|off|up|down)$`)

var httpSuffix = lazyregexp.New(`\.(?:json|xml|html?|php|aspx?|cgi|do|txt|csv)$`)

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
					return "the parameter " + Shown(key)
				}
			}
		}
		for _, value := range values {
			if what := httpValue(key, value, graph, engine); what != "" {
				return what + " in the parameter " + Shown(key)
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
			return "the word " + Shown(word)
		}
	}
	if in("httpCommands", strings.ToLower(key)) && (len(words) == 0 || !in("httpReads", words[0])) {
		return "a command that is not known to read"
	}
	return ""
}

var httpStatement = lazyregexp.New(`(?i)(?:^|;)\s*(?:` +
	`(?:drop|create|alter|truncate)\s+(?:or\s+replace\s+)?(?:continuous|database|function|index|keyspace|measurement|procedure|retention|role|schema|series|shard|subscription|table|trigger|user|view)\b` +
	`|delete\s+from\b|insert\s+into\b|merge\s+into\b|replace\s+into\b|update\s+\S+\s+set\b|grant\s+.*\bto\b|revoke\s+.*\bfrom\b|kill\s+query\b)`)

// httpShouts reports whether a text begins as a statement in capitals that does not read: OPTIMIZE TABLE.
func httpShouts(text string) bool {
	verb := httpCapitals.FindStringSubmatch(text)
	return verb != nil && verb[1] != "EXPLAIN" && !in("httpReads", strings.ToLower(verb[1]))
}

var httpCapitals = lazyregexp.New(`^\s*([A-Z]{3,})\s+[A-Z]{3,}\b`)

// nameWords returns the words of a path or name in small letters. A camelCase word is returned whole as well.
func nameWords(s string) []string {
	words := append(nameWord.FindAllString(strings.ToLower(s), -1), nameWord.FindAllString(s, -1)...)
	for i, word := range words {
		words[i] = strings.ToLower(word)
	}
	return words
}

// nameWord is one word of a name. Letters outside ASCII count as small.
var nameWord = lazyregexp.New(`[A-Z]+[a-z\x{80}-\x{10FFFF}]*|[a-z\x{80}-\x{10FFFF}]+`)

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
var httpNominal = lazyregexp.New(`^(?:l?ment|ation|ion|ed)`)

// httpVerb is how verbs end: finalize, verify, generate.
var httpVerb = lazyregexp.New(`.{2}(?:[iy][sz]e|ify|ate)$`)

var httpBegins = slices.Concat(lists["httpPrefixes"], lists["httpActs"], lists["httpLeads"])

// httpDouble reports whether a word is a verb behind another one, or behind a prefix that repeats or reverses it:
// playpause, takeoff, reissue, unmute.
func httpDouble(word string) bool {
	return slices.ContainsFunc(httpBegins, func(begin string) bool {
		verb, ok := strings.CutPrefix(word, begin)
		return ok && (in("httpActs", verb) || in("httpEnds", verb))
	})
}

// httpNoun matches nouns that look like such a verb, and verbs that only read.
var httpNoun = lazyregexp.New(`(?:affili|aggreg|candid|certific|chocol|clim|coordin|corpor|est|gradu|intermedi|mand|sen|templ)ate$` +
	`|(?:display|enterprise|exercise|expertise|franchise|merchandise|shopify|spotify|wise)$` +
	`|^(?:analy[sz]e|calculate|cruise|delegate|design|estimate|immediate|markdown|markup|noise|normalize|offset|pirate|plate|precise|premise|private|prize|promise` +
	`|raise|recall|separate|size|state|summarize|translate|ultimate|validate|visualize)$`)
