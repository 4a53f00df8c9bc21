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

// HTTP reads one request: a line such as "GET https://example.com/users?id=1", or
// the head of a request as it goes over the wire. GET, HEAD and OPTIONS are reads,
// PUT and PATCH updates (of which only PUT may be repeated), and all other methods
// destructive: what a POST does is known to its server alone.
//
// Reads and updates become destructive where the request speaks against its method: a word
// such as delete or logout in the path or the query, a header or parameter that
// overrides the method, a GraphQL mutation, a body, a name and password in the URL.
// A method without a URL, or the other way round, is half a request: destructive.
//
// That a server answers a GET by changing something that nothing in the URL speaks
// of is out of its sight, and so is where a redirect leads.
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

// httpHead says what is wrong with the head of a request. Only headers that are
// known to leave the method alone pass.
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
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "a query that servers read differently"
	}
	return httpQuery(u.Path, query)
}

// httpQuery says which parameter speaks against a read. What a person searches for
// may be any word; every other value counts as a command.
func httpQuery(path string, query url.Values) string {
	graph := slices.Contains(nameWords(path), "graphql")
	if graph && !query.Has("query") {
		return "a GraphQL request whose document is elsewhere"
	}
	for key, values := range query {
		for _, word := range nameWords(key) {
			if httpAct(word) || slices.Contains(httpOverrides, word) {
				return "the parameter " + shown(key)
			}
		}
		for _, value := range values {
			lower := strings.ToLower(value)
			document := graph || key == "query" && strings.Contains(value, "{")
			switch {
			case strings.Contains(value, "%"):
				return "the parameter " + shown(key) + " in disguise"
			case document && (strings.Contains(lower, "mutation") || strings.Contains(lower, "subscription")):
				return "a GraphQL document with more than queries"
			case slices.Contains(httpSearches, key) && !document:
			default:
				for _, word := range nameWords(value) {
					if httpAct(word) || slices.Contains(httpMethods, word) {
						return "the word " + shown(word) + " in the parameter " + shown(key)
					}
				}
			}
		}
	}
	return ""
}

// nameWords cuts a path or a name into its words, in small letters: snake_case,
// camelCase, and whatever else is between letters. Since many servers do not mind the
// case, what only camelCase cuts is a word as a whole too.
func nameWords(s string) []string {
	words := append(nameWord.FindAllString(strings.ToLower(s), -1), nameWord.FindAllString(s, -1)...)
	for i, word := range words {
		words[i] = strings.ToLower(word)
	}
	return words
}

// nameWord is one word of a name. What is outside ASCII is a small letter.
var nameWord = regexp.MustCompile(`[A-Z]+[a-z\x{80}-\x{10FFFF}]*|[a-z\x{80}-\x{10FFFF}]+`)

func httpAct(word string) bool {
	return slices.Contains(httpActs, word) ||
		slices.ContainsFunc(httpStems, func(stem string) bool { return strings.Contains(word, stem) })
}

// httpStems count inside a longer word too: deleteuser, bulkremove.
var httpStems = strings.Fields(`
delete destroy erase logout overwrite purge reboot remove revoke shutdown terminate truncate uninstall unsubscribe`)

// httpActs are words that a read has no use for in a path or a command.
var httpActs = strings.Fields(`
abort accept activate add allow apply approve archive assign attach ban block book buy cancel charge checkout clear
clone close commit confirm connect copy create deactivate deauthorize decline deduct del delete deletes deny deploy destroy
detach disable disconnect dismiss drop edit eject enable enqueue erase exec execute expire finish flush follow force
grant halt import init insert install invite invoke kick kill launch lock logoff logout mark merge
migrate modify move mutate mutation mute notify overwrite pause pay persist pin poweroff promote provision publish purge push put reboot
rebuild refund register reindex reject reload remove rename reopen reorder replace reply reset resend resize restart
restore resume retry revert revoke rm rmdir rollback rotate run save schedule send set shutdown signoff signout
start stop submit subscribe suspend switch sync terminate toggle transfer trash trigger truncate unban unblock undo
unfollow uninstall unlink unlock unpublish unregister unset unsubscribe update upgrade upload upsert vote wipe withdraw write`)

// httpMethods are the methods that may hide in a parameter.
var httpMethods = []string{"post", "patch", "connect", "trace", "merge", "mkcol"}

// httpOverrides are words of parameters that stand in for the method.
var httpOverrides = []string{"override", "method"}

// httpSearches are the parameters in which people write what they look for.
var httpSearches = []string{"q", "query", "search", "term", "text", "keyword", "keywords"}

// httpHeaders are the headers of a request that leave its method alone.
var httpHeaders = strings.Fields(`
Accept Accept-Charset Accept-Encoding Accept-Language Authorization Cache-Control Connection Cookie Dnt From
If-Match If-Modified-Since If-None-Match If-Range If-Unmodified-Since Max-Forwards Origin Pragma Range Referer
Traceparent Tracestate User-Agent X-Api-Key X-Request-Id`)
