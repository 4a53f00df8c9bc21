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
// such as delete or logout in the path or the query, or one that looks like a verb, such as
// finalize, uncordon or playpause; a path that ends in a verb such as open or place, a
// command that is not known to read, a statement that writes, a header
// or parameter that overrides the method, a GraphQL mutation, a body, a name and password
// in the URL. A method without a URL, or the other way round, is half a request: destructive.
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
	if word := httpEnd(u.Path); word != "" {
		return "the word " + shown(word) + " at the end of the path"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "a query that servers read differently"
	}
	return httpQuery(u.Path, query)
}

// httpEnd returns the verb that a path ends in, for one that is a noun elsewhere. What
// is no noun at the end may have an id behind it.
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

// httpQuery says which parameter speaks against a read. What a person searches for
// may be any word; every other value counts as a command.
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

// httpShouts reports whether a text begins as a statement in capitals does, and not as one
// that reads: OPTIMIZE TABLE.
func httpShouts(text string) bool {
	verb := httpCapitals.FindStringSubmatch(text)
	return verb != nil && verb[1] != "EXPLAIN" && !slices.Contains(httpReads, strings.ToLower(verb[1]))
}

var httpCapitals = regexp.MustCompile(`^\s*([A-Z]{3,})\s+[A-Z]{3,}\b`)

// httpLanguages are the parameters for statements.
var httpLanguages = strings.Fields(`query sql statement stmt`)

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

// httpNominal makes a noun or an adjective of a verb, whatever is behind it:
// deploymentmanager.
var httpNominal = regexp.MustCompile(`^(?:l?ment|ation|ion|ed)`)

// httpVerb is how verbs end: finalize, verify, generate.
var httpVerb = regexp.MustCompile(`.{2}(?:[iy][sz]e|ify|ate)$`)

// httpAgain reports whether a word is a verb with a prefix that repeats or reverses it:
// reissue, unmute.
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

// httpEndings make another word of a verb of six letters and more. Behind one without
// them stands its object: createuser.
var httpEndings = strings.Fields(`
s d r ed led er ers or ors ing ings ling lation lations ion ions ment ments ation ations able al ant ance ity e es ly ee ees`)

// httpStems count inside a longer word too: deleteuser, bulkremove.
var httpStems = strings.Fields(`
abort delete destroy erase evict flush logout overwrite purge quitquit reboot remove revoke shutdown terminate truncate uninstall unsubscribe`)

// httpActs are words that a read has no use for in a path or a command.
var httpActs = strings.Fields(`
abandon accept ack acknowledge activate add admit adopt align allow alter amend annul append apply appoint approve arm arrange assemble
assign attach augment autoscale award backfill ban banish begin bind blacklist blink block book boost bounce brew broadcast buy bypass
cancel capture cast censor charge checkout chime claim cleanup clear clone close collapse commence commit compact complete concede
configure confirm connect consume cook copy cordon crash create deactivate decline decommission decrement deduct defer defragment
defrost del delegate delist demote deny depart deploy deposit derail descend detach devalue disable disband disburse discard dismiss
dispatch dispense dissolve downgrade downvote drain drop edit eject emit enable endorse enforce engage enlarge enlist enqueue enroll
exec execute exit expel expire expunge extend extinguish failover finish fix follow force forfeit forge forget freeze fulfil fulfill
garbagecollect grant hail halt harvest heal hide ignite import inc increment ingest inhibit init inject insert install interrupt invite
invoke join kick kill land launch leave lend lock logoff loosen mark merge mint mount move mutation mute nudge nuke offboard onboard
optin optout oust override pair pause pay persist pin poke postpone poweroff poweron preempt preheat preload prepay prime print proceed procure
promote propose protect provision prune publish put quarantine quit rebase rebuild recompile recompute recover recruit recycle redact
redeem redistribute redo redrive reduce refill refund refuse register reimage reindex reject relinquish reload remind remit rename renew
reopen reorder repeal replace reply repost reprocess requeue reroute rescan rescind reserve reship resign respond restage restock
restore resume retag retire retract retrain retry retweet reuse revert revive rewind rm rmdir rollback rsvp run salvage save scatter
schedule scramble scrap sell send set setlevel setpoint settle sever shred shut signout silence slam sleep smash snooze sound spawn
spend split squash start steal steer stop stow submit subscribe summon surrender suspend swap switch sync teardown teleport throttle
tighten toggle topup toss transact transfer transmit trash trigger trim turn unarchive undo undock unfriend unlike unlink unload unplug
unseal unshare unstar unsub untag unwatch unwind update upgrade uplift upload upsert upvote vacuum veto void vote wager warm whitelist
wipe withdraw withhold write yank zap`)

// httpEnds are words that command at the end of a path, and name things elsewhere.
var httpEnds = strings.Fields(`
alert answer archive beep bid boot burn call clean cron decrease dial dig dim dock double down empty end exchange fail fire flag flash
flip fork format forward fund heat hire hook increase issue light like link load lower mail make off on open order overclock park pass
patch perform place plant play power press process pull pulse punch purchase push queue raise rate reap rebalance record redirect
refresh release replay resolve reward ring rise roll sack scale scan seal seed share shift ship shuffle sign skip snapshot spin stake
star step strike tag take tap test tick tilt tow trade train transition trip tune up use wake watch water webhook wol work zero`)

// httpLeads are those that also command before an object or an id: placeOrder, open/7.
var httpLeads = strings.Fields(`
beep boot burn call dial empty fire flip forward fund give go lower make off on open place play press raise ring ship sign spin take
trip tune use wake`)

// httpCommands are the parameters whose value is a command, and httpReads are those that
// read.
var (
	httpCommands = strings.Fields(`act action cmd cmnd command do exec func function job method op operation verb`)
	httpReads    = strings.Fields(`browse check compare count describe diff display exists export fetch find get head help info inspect
		list lookup opensearch parse ping query read search select show stat stats status tail view`)
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
var httpHeaders = strings.Fields(`
Accept Accept-Charset Accept-Encoding Accept-Language Authorization Cache-Control Connection Cookie Dnt From
If-Match If-Modified-Since If-None-Match If-Range If-Unmodified-Since Max-Forwards Origin Pragma Range Referer
Traceparent Tracestate User-Agent X-Api-Key X-Request-Id`)
