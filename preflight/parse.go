package preflight

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// ParseRules reads rules from a file of JSON: for each tool a rule or a list of
// them, of which the most dangerous that is met counts.
//
//	{
//	  "github/issue_write": {"when": {"method": ["get", "list"]}, "class": "safe"},
//	  "files/sync": [
//	    {"when": {"dry_run": [true]}, "class": "safe"},
//	    {"when": {"mode": ["mirror"]}, "class": "dangerous"}
//	  ]
//	}
//
// A condition with several arguments is met where all of them are; class is safe,
// moderate or dangerous. A member that is unknown, missing, of the wrong type or
// given twice refuses the whole file, with the line and the member.
func ParseRules(data []byte) (Rules, error) {
	file, err := strictjson.Parse(data)
	var tools []strictjson.Value
	if err == nil {
		tools, err = file.Object("the rules")
	}
	rules := make(Rules, len(tools))
	for _, tool := range tools {
		if _, wrong := splitName(tool.Name()); wrong != nil {
			err = tool.Errorf("%v", wrong)
		} else {
			rules[tool.Name()], err = parseRule(tool)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("preflight: %w", err)
	}
	return rules, nil
}

// parseRule reads a rule or a list of them.
func parseRule(v strictjson.Value) (Rule, error) {
	list, ok := v.List()
	if !ok {
		return parseClause(v)
	}
	if len(list) == 0 {
		return nil, v.Errorf("there is no rule in the list")
	}
	clauses := make([]Rule, len(list))
	for i, v := range list {
		var err error
		if clauses[i], err = parseClause(v); err != nil {
			return nil, err
		}
	}
	return Strictest(clauses...), nil
}

var classes = map[string]func(Condition) Rule{
	"safe": Condition.Safe, "moderate": Condition.Moderate, "dangerous": Condition.Dangerous,
}

// parseClause reads {"when": {…}, "class": "…"}.
func parseClause(v strictjson.Value) (Rule, error) {
	members, err := v.Object("a rule")
	if err != nil {
		return nil, err
	}
	var c Condition
	var class func(Condition) Rule
	for _, m := range members {
		switch m.Name() {
		case "when":
			if c, err = parseCondition(m); err != nil {
				return nil, err
			}
		case "class":
			name, _ := textOf(m.Raw())
			if class = classes[name]; class == nil {
				return nil, m.Errorf("must be one of %s", strings.Join(slices.Sorted(maps.Keys(classes)), ", "))
			}
		default:
			return nil, m.Errorf("is no member of a rule; those are when and class")
		}
	}
	switch {
	case len(c.tests) == 0:
		return nil, v.Errorf(`when must name at least one argument, as in "when": {"method": ["get"]}`)
	case class == nil:
		return nil, v.Errorf("class is missing")
	}
	return class(c), nil
}

// parseCondition reads {"method": ["get", "list"], …}.
func parseCondition(v strictjson.Value) (c Condition, err error) {
	arguments, err := v.Object("when")
	if err != nil {
		return c, err
	}
	for _, argument := range arguments {
		list, ok := argument.List()
		if !ok {
			return c, argument.Errorf("must be a list of values")
		}
		values := make([]any, len(list))
		for i, value := range list {
			if err := json.Unmarshal(value.Raw(), &values[i]); err != nil {
				return c, argument.Errorf("%w", err)
			}
		}
		if err := checkTest(argument.Name(), values); err != nil {
			return c, argument.Errorf("%w", err)
		}
		c = c.And(argument.Name(), values...)
	}
	return c, nil
}
