package policy

import (
	"regexp"

	"github.com/fairlead-go/fairlead/preflight"
	"github.com/tailscale/hujson"
)

var oneTool = regexp.MustCompile(`^[^/]+/[A-Za-z0-9_.-]{1,128}$`)

// arguments reads for each tool a rule over its arguments, or a list of rules: the strictest counts.
func (r *reader) arguments(p *Policy) field {
	return func(v hujson.Value, key string) {
		p.Arguments = make(preflight.Rules)
		r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
			var rules []preflight.Rule
			read := r.argumentRule(&rules)
			if _, isList := m.Value.Value.(*hujson.Array); isList {
				read = r.each(read)
			}
			switch read(m.Value, key); {
			case !oneTool.MatchString(name):
				r.faultf(m.Name, key, `it names no tool; write "server/tool", such as "github/issue_write"`)
			case len(rules) == 0:
				r.faultf(m.Value, key, "it needs a rule")
			default:
				p.Arguments[name] = preflight.Strictest(rules...)
			}
		})
	}
}

// argumentRule reads {"when": {"method": ["get"]}, "class": "safe"}.
func (r *reader) argumentRule(to *[]preflight.Rule) field {
	return func(v hujson.Value, key string) {
		var when preflight.Condition
		var class string
		before := len(r.faults)
		r.object(v, key, map[string]field{"when": r.when(&when), "class": r.text(&class, "safe", "moderate", "dangerous")})
		rule := map[string]func() preflight.Rule{"safe": when.Safe, "moderate": when.Moderate, "dangerous": when.Dangerous}[class]
		switch {
		case rule != nil && when.String() != "":
			*to = append(*to, rule())
		case len(r.faults) == before:
			r.faultf(v, key, `it needs "when", with at least one argument, and "class"`)
		}
	}
}

// when reads for each argument the texts and the truth values that it may have.
func (r *reader) when(to *preflight.Condition) field {
	return func(v hujson.Value, key string) {
		r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
			var values []any
			r.list(m.Value, key, func(v hujson.Value, key string) {
				value, ok := literal[any](r, v, key, "a text, true or false")
				if _, isNumber := value.(float64); isNumber {
					r.faultf(v, key, "it has to be a text, true or false")
				} else if ok {
					values = append(values, value)
				}
			})
			if name == "" || len(values) == 0 {
				r.faultf(m.Name, key, "it needs the name of an argument, and at least one value")
				return
			}
			*to = to.And(name, values...)
		})
	}
}
