package policy

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	probes "github.com/fairlead-go/fairlead/preflight/probe"
	"github.com/tailscale/hujson"
)

// toolPart matches what a preflight rule takes as the name of a tool.
var toolPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`) })

// arguments reads for each tool a rule over its arguments, or a list of rules: the strictest counts.
func (r *reader) arguments(v hujson.Value, key string) {
	r.to.Arguments = make(preflight.Rules)
	r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
		var rules []preflight.Rule
		r.ruled = name
		read := each(r, &rules, r.argumentRule)
		if m.Value.Value.Kind() != '[' {
			rules = make([]preflight.Rule, 1)
			read = func(v hujson.Value, key string) { r.argumentRule(v, key, &rules[0]) }
		}
		one, err := ParsePattern(name)
		switch read(m.Value, key); {
		case err != nil:
			r.faultf(m.Name, key, "%v", err)
		case !one.Exact() || !toolPart().MatchString(one.Tool):
			r.faultf(m.Name, key, `it names no tool; write "server/tool", such as "github/issue_write"`)
		case len(rules) == 0 || rules[0] == nil:
			r.faultf(m.Value, key, "it needs a rule")
		default:
			r.to.uses = append(r.to.uses, use{key: safetext.Line(key), line: r.line(m.Name.StartOffset), pattern: one})
			r.to.Arguments[one.Server+"/"+one.Tool] = preflight.Strictest(rules...)
		}
	})
}

// argumentRule reads {"when": {"method": ["get"]}, "class": "safe"}, {"argument": "sql", "probe": "sql"}, or
// {"argument": "path", "file": "write"}.
func (r *reader) argumentRule(v hujson.Value, key string, to *preflight.Rule) {
	var when preflight.Condition
	var class, argument, probe, file string
	read := r.into(v, key, keys{
		"when": r.when(&when), "class": text(r, &class, classes...), "argument": &argument, "probe": text(r, &probe, preflight.Languages()...),
		"file": text(r, &file, fileRead, fileWrite),
	})
	rule := map[string]func() preflight.Rule{"safe": when.Safe, "moderate": when.Moderate, "dangerous": when.Dangerous}[class]
	judges, decides := argument != "" || probe != "" || file != "", rule != nil || when.String() != ""
	switch {
	case !read:
	case judges && decides:
		r.faultf(v, key, `it has both "when" with "class", and "argument" with "probe"; write two rules`)
	case probe != "" && file != "":
		r.faultf(v, key, `it has both "probe" and "file"; write two rules`)
	case argument != "" && file != "":
		r.files = append(r.files, fileRule{r.ruled, v, key})
		*to = r.to.fileRule(r.ruled, argument, file)
	case argument != "" && probe != "":
		*to = preflight.Argument(argument, probes.Of(probe))
	case judges:
		r.faultf(v, key, `it needs "argument", and "probe" or "file"`)
	case rule != nil && when.String() != "":
		*to = rule()
	default:
		r.faultf(v, key, `it needs "when", with at least one argument, and "class"`)
	}
}

// probes reads for each pattern as which language texts are judged: {"db/*": {"query": "sql", "shell": "off"}}.
func (r *reader) probes(v hujson.Value, key string) {
	r.members(v, key, func(_ string, m hujson.ObjectMember, key string) {
		var tool Pattern
		if !r.into(m.Name, key, &tool) {
			return
		}
		r.members(m.Value, key, func(language string, m hujson.ObjectMember, key string) {
			one := Probing{Tool: tool, Language: language, Line: r.line(m.Name.StartOffset)}
			switch read := r.into(m.Value, key, text(r, &one.As, append(preflight.Languages(), off)...)); {
			case language == "":
				r.faultf(m.Name, key, "it is empty; name a language, such as sql")
			case one.As == off:
				one.As = ""
			case read && !tool.namesServer():
				r.faultf(m.Name, key, `a probe may let calls pass; name the server: "server/*"`)
			}
			r.to.Probes = append(r.to.Probes, one)
		})
	})
}

// What a rule lets a tool do to the files that an argument names.
const (
	fileRead  = "read"
	fileWrite = "write"
)

// A fileRule is a rule by the paths of its tool, which the file may have behind it.
type fileRule struct {
	tool string
	at   hujson.Value
	key  string
}

// fileRule returns a rule that judges an argument by the paths of a tool.
func (p *Policy) fileRule(tool, argument, file string) preflight.Rule {
	judge := sync.OnceValue(func() preflight.Rule {
		server, name, _ := strings.Cut(tool, "/")
		in := p.paths(server, name)
		switch {
		case in == nil || in.Check() != nil: // the file has a fault
			return func(preflight.Arguments) (preflight.Verdict, bool) { return preflight.Verdict{}, true }
		case file == fileWrite:
			return in.Writes(argument)
		}
		return in.Reads(argument)
	})
	return func(a preflight.Arguments) (preflight.Verdict, bool) { return judge()(a) }
}

// checkFiles refuses rules by paths of tools that have none.
func (r *reader) checkFiles() {
	for _, one := range r.files {
		if server, name, _ := strings.Cut(one.tool, "/"); r.to.paths(server, name) == nil {
			r.faultf(one.at, one.key, `no pattern of "paths" matches %s, so that "file" has no folders`, one.tool)
		}
	}
}

// paths reads for each pattern the folders where tools may read and write.
func (r *reader) paths(v hujson.Value, key string) {
	r.members(v, key, func(_ string, m hujson.ObjectMember, key string) {
		one := Located{Line: r.line(m.Name.StartOffset)}
		if !r.into(m.Name, key, &one.Tool) {
			return
		}
		p := &one.Paths
		read := r.into(m.Value, key, keys{
			"folder": text(r, &p.Folder), "home": text(r, &p.Home), "read": texts(r, &p.Read), "write": texts(r, &p.Write), "local": &p.Local,
		})
		switch err := p.Check(); {
		case !read:
		case err != nil:
			r.faultf(m.Value, key, "%v", err)
		case !one.Tool.namesServer():
			r.faultf(m.Name, key, `paths may let calls pass; name the server: "server/*"`)
		}
		r.to.Paths = append(r.to.Paths, one)
	})
}

// PathsOf returns the folders where a tool may read and write, nil if the file has none for it.
func (p *Policy) PathsOf(t *middleware.Tool) *preflight.Paths { return p.paths(t.Server, t.Name()) }

func (p *Policy) paths(server, tool string) (last *preflight.Paths) {
	for i := range p.Paths {
		if p.Paths[i].Tool.Matches(server, tool) {
			last = &p.Paths[i].Paths
		}
	}
	return last
}

// off switches a probe off.
const off = "off"

// LanguageOf returns the language as which a tool's texts are judged that are of a language, "" for none.
func (p *Policy) LanguageOf(t *middleware.Tool, language string) string {
	as := language
	for i := range p.Probes {
		one := &p.Probes[i]
		if one.Language != language || !one.Tool.Matches(t.Server, t.Name()) {
			continue
		}
		if as = one.As; as == "" {
			return ""
		}
	}
	return as
}

// present is the word for any value of an argument.
const present = "present"

// when reads for each argument the strings and the booleans that it may have, or that it is present.
func (r *reader) when(to *preflight.Condition) field {
	return func(v hujson.Value, key string) {
		r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
			if word, ok := m.Value.Value.(hujson.Literal); ok && name != "" && word.String() == present {
				*to = to.AndPresent(name)
				return
			}
			var values []any
			each(r, &values, func(v hujson.Value, key string, value *any) {
				const what = "a string, true or false"
				literal(r, v, key, what, value)
				if s, _ := (*value).(string); strings.Contains(s, "*") {
					r.to.Warnings = append(r.to.Warnings, fmt.Sprintf("%s: %s: the star in %q stands for itself, and not for other texts; for any value, write %q: %q",
						r.to.At(r.line(v.StartOffset)), safetext.Line(key), safetext.Cut(s, 40), safetext.Line(name), present))
				}
				if _, isNumber := (*value).(float64); isNumber {
					r.faultf(v, key, "want %s", what)
				}
			})(m.Value, key)
			if name == "" || len(values) == 0 {
				r.faultf(m.Name, key, "it needs the name of an argument, and at least one value")
				return
			}
			*to = to.And(name, values...)
		})
	}
}
