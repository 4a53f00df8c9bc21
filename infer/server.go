package infer

import (
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server is what most tools of one server say, which distinguishes none of them: a brand before each name, and texts
// of parameters that are repeated. The zero value is that of a tool seen alone.
type server struct {
	prefix  string          // of the names, with what separates it
	texts   map[string]bool // the descriptions of parameters that most tools have
	defs    []*mcp.Tool
	queried string  // the language of its queries by the host's name of it, "" if the name has none
	system  *system // where its commands run, nil before it is asked for
	tool    tool    // the one that is inferred, which is as large as ten findings
}

// named returns a server that is known by the host's name alone.
func named(name string) *server { return &server{queried: languageNamed(name)} }

// languageNamed returns the language of queries that a server has by its name, "" if the name has none or several.
func languageNamed(name string) string {
	found := ""
	for _, w := range cut(name) {
		language := stores[w.base]
		switch of := spoken[w.base]; of {
		case "sql", "cypher", "graphql", "promql", "logql", "kql", "sparql":
			language = of
		}
		switch {
		case language == "" || language == found:
		case found != "":
			return ""
		default:
			found = language
		}
	}
	if found == "" && strings.Contains(strings.ToLower(name), "neo4j") { // no word, since it has a digit
		return "cypher"
	}
	return found
}

// Below these many tools nothing is stated by most.
const (
	fewestNames = 3
	fewestTexts = 4
)

// survey finds what most tools of a server say.
func survey(defs []*mcp.Tool) (s server) {
	names := make([]string, 0, len(defs))
	for _, def := range defs {
		if def != nil {
			names = append(names, def.Name)
		}
	}
	for range 3 { // mcp_server_get_item
		more := commonPrefix(names, len(s.prefix))
		if more == "" {
			break
		}
		s.prefix = more
	}
	s.texts, s.defs = commonTexts(defs), defs
	return s
}

// runsOn returns what the names and descriptions of all tools state about where commands run.
func (s *server) runsOn() system {
	if s.system == nil {
		s.system = new(system)
		for _, def := range s.defs {
			if def != nil {
				s.system.read(separated(def.Name))
				s.system.read(def.Description)
			}
		}
	}
	return *s.system
}

// commonPrefix returns the prefix that three of four names have, longer than n, up to a mark between words. A verb alone
// is not a brand: the tools of a server may all get something. See brandOfVerbs for those that are.
func commonPrefix(names []string, n int) string {
	counts := make(map[string]int)
	for _, name := range names {
		if end := strings.IndexAny(name[min(n, len(name)):], "_-./:"); end > 0 && n+end+1 < len(name) {
			counts[name[:n+end+1]]++
		}
	}
	for prefix, count := range counts {
		brand := prefix[n : len(prefix)-1]
		if w := lookup(strings.ToLower(brand)); count < fewestNames || 4*count < 3*len(names) ||
			w.is(verbs) && !w.means(noun) && w.form == base && (w.grave() || !brandOfVerbs(names, prefix)) {
			continue
		}
		return prefix
	}
	return ""
}

// brandOfVerbs reports whether a verb before the names is a brand all the same: behind it each name has a verb of its own,
// which are several, and one of them is never a noun: protect_get_camera, protect_list_lights.
func brandOfVerbs(names []string, prefix string) bool {
	verb, several, sure := "", false, false
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		ws := phrase(cut(rest))
		if len(ws) < 2 || !ws.plain(0) {
			return false
		}
		several = several || verb != "" && verb != ws[0].base
		verb, sure = ws[0].base, sure || ws.sure(0)
	}
	return several && sure
}

// commonTexts returns the descriptions of parameters that at least half of the tools have.
func commonTexts(defs []*mcp.Tool) map[string]bool {
	if len(defs) < fewestTexts {
		return nil
	}
	counts := make(map[string]int)
	for _, def := range defs {
		if def == nil {
			continue
		}
		object, _ := def.InputSchema.(map[string]any)
		properties, _ := object["properties"].(map[string]any)
		for _, p := range properties {
			property, _ := p.(map[string]any)
			if text, _ := property["description"].(string); text != "" {
				counts[text]++
			}
		}
	}
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n < fewestTexts || 2*n < len(defs) })
	texts := make(map[string]bool, len(counts))
	for text := range counts {
		texts[text] = true
	}
	return texts
}

// words returns the words of the name of a tool behind the prefix.
func (s *server) words(name string) []word {
	if rest, ok := strings.CutPrefix(name, s.prefix); ok && rest != "" {
		return cut(rest)
	}
	return cut(name)
}

// sharedPrefix counts the words that all names begin with, but no plain verb and no last word of a name.
func sharedPrefix(names [][]word) int {
	for n := 0; len(names) > 1; n++ {
		for _, name := range names {
			if n+1 >= len(name) || name[n].base != names[0][n].base || name[n].form != names[0][n].form {
				return n
			}
		}
		if w := &names[0][n]; w.is(verbs) && !w.means(noun) && w.form == base {
			return n
		}
	}
	return 0
}
