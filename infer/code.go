package infer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/schema"
)

// A text that is carried out is judged by the probe of its language, so the language is looked for in what is stated
// closest to the text: the name of the parameter, its description, the name of the tool, its description, and the host's
// name of the server. A wrong one asks, since the probe of another language does not understand the text.

// spoken are the languages by the words that name them, in any text.
var spoken = map[string]string{
	"sql": "sql", "tsql": "sql", "plsql": "sql", "cypher": "cypher", "opencypher": "cypher", "javascript": "javascript", "js": "javascript",
	"python": "python", "powershell": "powershell", "graphql": "graphql", "gql": "graphql", "sparql": "sparql", "applescript": "applescript",
	"promql": "promql", "metricsql": "promql", "logql": "logql", "kql": "kql", "kusto": "kql", "flux": "flux", "jq": "jq",
}

// shells are the words that make a command one of a shell. A command may otherwise be one of any program.
var shells = []string{"shell", "bash", "ssh", "terminal", "zsh", "sh", "ksh"}

// stores are the languages of queries by the names of what is queried, if nothing names the language.
var stores = map[string]string{
	"postgres": "sql", "postgresql": "sql", "mysql": "sql", "mariadb": "sql", "sqlite": "sql", "duckdb": "sql", "clickhouse": "sql",
	"snowflake": "sql", "bigquery": "sql", "redshift": "sql", "oracle": "sql", "mssql": "sql", "cockroachdb": "sql", "athena": "sql",
	"trino": "sql", "memgraph": "cypher", "prometheus": "promql",
	"mongodb": "mongodb", "mongo": "mongodb", "redis": "redis", "elasticsearch": "elasticsearch", "dynamodb": "dynamodb",
}

// languageOf returns the language of a text that is carried out, by the name of its parameter and what is stated about
// it or the tool. It is the name of the parameter if nothing is known.
func (c *parameters) languageOf(name, description string) string {
	command := name == "command" || name == "cmd" || name == "script"
	switch {
	case name == "shell" || name == "bash" || name == "zsh":
		return c.shellOf(name, description)
	case name == "pipeline":
		return "mongodb"
	case spoken[name] != "":
		return spoken[name]
	}
	asked := name == "query" || name == "statement"
	store, likely := "", "" // the languages of what is queried
	for i, said := range [...]string{description, separated(c.named), c.about} {
		stored := false
		for ws := range clauses(said) {
			for k := range ws {
				w := ws[k].base
				language := spoken[w]
				switch {
				case command && slices.Contains(shells, w):
					return c.shellOf(name, description)
				case command && language == "promql", language == "jq" && (command || i == 2), language == "flux" && i == 2: // of a program, or a word of English
				case language != "":
					return language
				}
				store = cmp.Or(store, stores[w])
				stored = stored || w == "database" || w == "warehouse" || w == "db" // whose queries are most likely SQL
			}
		}
		switch {
		case likely != "" || !asked:
		case strings.Contains(strings.ToLower(said), "neo4j"): // no word, since it has a digit
			likely = "cypher"
		case stored:
			likely = "sql"
		}
	}
	if !asked {
		return name
	}
	return cmp.Or(store, c.of.queried, likely, name)
}

// posixWords and windowsWords name a shell, or the system whose shell it is.
var (
	posixWords = strings.Fields(`bash sh zsh ksh posix unix linux gnu ubuntu debian fedora centos rhel alpine archlinux
		freebsd openbsd netbsd bsd macos darwin wsl busybox`)
	windowsWords = strings.Fields("window windows powershell pwsh cmd batch win dos")
)

// shellOf returns the language of a command line for a shell: of a POSIX shell or of PowerShell if the parameter, the
// tool, or else another tool of the server states it, and of any shell if they state several or none.
func (c *parameters) shellOf(name, description string) string {
	var s system
	if name == "bash" || name == "zsh" {
		s.posix = true
	}
	s.read(description)
	s.read(separated(c.named))
	s.read(c.about)
	if s == (system{}) {
		s = c.of.runsOn()
	}
	return s.language()
}

// A system is what a text states about where commands run.
type system struct{ posix, windows bool }

func (s system) language() string {
	switch {
	case s.posix && !s.windows:
		return "posix-shell"
	case s.windows && !s.posix:
		return "powershell"
	}
	return "shell"
}

// read looks for systems in a text. A sentence that denies something names none for certain.
func (s *system) read(text string) {
	for ws := range clauses(text) {
		denies := slices.ContainsFunc(ws, func(w word) bool { return slices.Contains(denials, w.base) })
		for i := range ws {
			switch w := ws[i].base; {
			case slices.Contains(windowsWords, w):
				s.windows = true
			case slices.Contains(posixWords, w) && !denies && !(i+1 < len(ws) && slices.Contains(posixThings, ws[i+1].base)):
				s.posix = true
			}
		}
	}
}

var (
	denials = strings.Fields("not no without never unlike instead cannot neither nor except than")
	// posixThings are things of Unix that say nothing of a shell: a Unix timestamp.
	posixThings = strings.Fields("timestamp timestamps time epoch seconds milliseconds socket sockets domain path paths style")
)

// isFilter reports whether a parameter holds a filter of MongoDB, or another part of its queries that has operators.
func (c *parameters) isFilter(name, description string) bool {
	switch name {
	case "filter", "query", "projection", "sort", "match":
		return c.of.queried == "mongodb" || c.says(description, func(w string) bool { return stores[w] == "mongodb" })
	}
	return false
}

// makes reports whether a tool makes something of a database by a text of SQL, which may do anything else: create_table.
func (t *tool) makes(p *parameter) bool {
	if !t.deed.effect.writes() || t.params.language(p) != "sql" {
		return false
	}
	for ws := range clauses(separated(t.params.named)) {
		for k := range ws {
			switch ws[k].base {
			case "table", "view", "index", "schema", "row", "record", "trigger", "database":
				return true
			}
		}
	}
	return false
}

// separated returns a name with blanks between its words.
func separated(name string) string { return nameMarks.Replace(name) }

var nameMarks = strings.NewReplacer("_", " ", "-", " ")

// speaks reports whether the name or the description of the tool names a language.
func (c *parameters) speaks(language string) bool {
	return c.says("", func(w string) bool { return spoken[w] == language })
}

// says reports whether the description of a parameter, that of the tool or its name has a word that is one of some.
func (c *parameters) says(description string, is func(word string) bool) bool {
	for _, said := range [...]string{description, c.about, separated(c.named)} {
		for ws := range clauses(said) {
			for i := range ws {
				if is(ws[i].base) {
					return true
				}
			}
		}
	}
	return false
}

// member returns the pointer to an argument.
func member(name string) string {
	at := (*step)(nil).to(name, false)
	return at.pointer()
}

// methods are those of HTTP, as a parameter lists them.
var methods = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}

// request finds the two parameters of a tool that sends whatever request it is given: an address and a method. They are
// judged together, with headers and a body if the tool takes them.
func (c *parameters) request(root *schema.Parameter) {
	var address, method *schema.Parameter
	with := make(map[string]string)
	for _, m := range root.Members {
		switch strings.ToLower(m.Name) {
		case "urls", "uris", "links", "link", "page_url", "pageurl", "web_url", "website", "target_url", "targeturl":
			c.fetch(m)
		case "url", "uri", "endpoint", "path":
			if m.May(schema.Text) && len(m.Values) == 0 && address == nil {
				address = m
			}
		case "method", "http_method", "httpmethod", "verb":
			if m.May(schema.Text) && methodsOnly(m) {
				method = m
				with["method"] = member(m.Name)
			}
		case "headers":
			with["headers"] = member(m.Name)
		case "body", "data", "payload", "json":
			with["body"] = member(m.Name)
		case "query", "params", "query_params", "queryparams":
			with["query"] = member(m.Name)
		}
	}
	language := "http"
	if address != nil && c.local(address.Description) {
		language = "http-local"
	}
	switch {
	case address == nil:
		return
	case method == nil:
		c.fetch(address)
		return
	case len(method.Values) == 0 && !c.overHTTP(method.Description):
		return
	}
	c.powers = slices.DeleteFunc(c.powers, func(p parameter) bool { return p.Parameter == method || p.Parameter == address })
	p := parameter{Parameter: address, top: true, pointer: member(address.Name), spoken: language, with: with}
	c.add(p, sendsRequest, commands, &cut(address.Name)[0])
	c.powers[len(c.powers)-1].found.gives = givesPower
}

// fetch finds the address of a tool that gets whatever page it is given: fetch, scrape_page, get_url_html. It reads, unless
// the address is one inside.
func (c *parameters) fetch(address *schema.Parameter) {
	if name := strings.ToLower(address.Name); name == "endpoint" || name == "path" || len(address.Values) > 0 {
		return
	}
	if verb, _, _ := strings.Cut(separated(c.named), " "); verb != "fetch" && !c.says(address.Description, isOfTheWeb) {
		return
	}
	p := parameter{Parameter: address, top: true, pointer: member(address.Name), spoken: "http"}
	if address.Only(schema.List) {
		p.pointer += "/*"
	}
	if c.local(address.Description) {
		p.spoken = "http-local"
	}
	c.add(p, reachesAddress, leaves, &cut(address.Name)[0])
}

// isOfTheWeb reports whether a word is of pages, so that an address beside it is that of one.
func isOfTheWeb(word string) bool {
	switch word {
	case "web", "webpage", "website", "page", "site", "html", "http", "https", "internet", "scrape", "crawl", "browser", "www":
		return true
	}
	return false
}

// local reports whether a tool states that it is meant for addresses inside.
func (c *parameters) local(description string) bool {
	inside := []string{"localhost", "local", "intranet", "internal", "private", "lan"}
	return c.says(description, func(w string) bool { return slices.Contains(inside, w) })
}

// methodsOnly reports whether all values that a parameter lists are methods of HTTP.
func methodsOnly(m *schema.Parameter) bool {
	for _, v := range m.Values {
		if text, ok := v.(string); !ok || !slices.Contains(methods, strings.ToUpper(text)) {
			return false
		}
	}
	return true
}

// overHTTP reports whether a description of a method or of the tool shows that the method is one of HTTP.
func (c *parameters) overHTTP(description string) bool {
	http := []string{"http", "https", "rest", "post", "url", "endpoint", "api"}
	return c.says(description, func(w string) bool { return slices.Contains(http, w) })
}
