package policy

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	probes "github.com/fairlead-go/fairlead/preflight/probe"
	"github.com/tailscale/hujson"
)

// toolPart matches what a preflight rule takes as the name of a tool.
var toolPart = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// arguments reads for each tool a rule over its arguments, or a list of rules: the strictest counts.
func (r *reader) arguments(v hujson.Value, key string) {
	r.to.Arguments = make(preflight.Rules)
	r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
		var rules []preflight.Rule
		read := each(r, &rules, r.argumentRule)
		if m.Value.Value.Kind() != '[' {
			rules = make([]preflight.Rule, 1)
			read = func(v hujson.Value, key string) { r.argumentRule(v, key, &rules[0]) }
		}
		one, err := ParsePattern(name)
		switch read(m.Value, key); {
		case err != nil:
			r.faultf(m.Name, key, "%v", err)
		case !one.Exact() || !toolPart.MatchString(one.Tool):
			r.faultf(m.Name, key, `it names no tool; write "server/tool", such as "github/issue_write"`)
		case len(rules) == 0 || rules[0] == nil:
			r.faultf(m.Value, key, "it needs a rule")
		default:
			r.to.uses = append(r.to.uses, use{key: safetext.Line(key), line: r.line(m.Name.StartOffset), pattern: one})
			r.to.Arguments[one.Server+"/"+one.Tool] = preflight.Strictest(rules...)
		}
	})
}

// argumentRule reads {"when": {"method": ["get"]}, "class": "safe"}, or {"argument": "sql", "probe": "sql"}.
func (r *reader) argumentRule(v hujson.Value, key string, to *preflight.Rule) {
	var when preflight.Condition
	var class, argument, probe string
	read := r.into(v, key, keys{
		"when": r.when(&when), "class": text(r, &class, classes...), "argument": &argument, "probe": text(r, &probe, preflight.Languages()...),
	})
	rule := map[string]func() preflight.Rule{"safe": when.Safe, "moderate": when.Moderate, "dangerous": when.Dangerous}[class]
	judges, decides := argument != "" || probe != "", rule != nil || when.String() != ""
	switch {
	case !read:
	case judges && decides:
		r.faultf(v, key, `it has both "when" with "class", and "argument" with "probe"; write two rules`)
	case argument != "" && probe != "":
		*to = preflight.Argument(argument, probes.Of(probe))
	case judges:
		r.faultf(v, key, `it needs "argument" and "probe"`)
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

// when reads for each argument the texts and the truth values that it may have, or that it is present.
func (r *reader) when(to *preflight.Condition) field {
	return func(v hujson.Value, key string) {
		r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
			if word, ok := m.Value.Value.(hujson.Literal); ok && name != "" && word.String() == present {
				*to = to.AndPresent(name)
				return
			}
			var values []any
			each(r, &values, func(v hujson.Value, key string, value *any) {
				const what = "a text, true or false"
				literal(r, v, key, what, value)
				if s, _ := (*value).(string); strings.Contains(s, "*") {
					r.to.Warnings = append(r.to.Warnings, fmt.Sprintf("%s: %s: the star in %q stands for itself, and not for other texts; for any value, write %q: %q",
						r.to.At(r.line(v.StartOffset)), safetext.Line(key), safetext.Cut(s, 40), safetext.Line(name), present))
				}
				if _, isNumber := (*value).(float64); isNumber {
					r.faultf(v, key, "it has to be %s", what)
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
