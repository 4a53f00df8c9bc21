package preflight

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
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
	if !utf8.Valid(data) {
		return nil, errors.New("preflight: the rules are no UTF-8")
	}
	r := &reader{dec: json.NewDecoder(bytes.NewReader(data)), data: data}
	r.dec.UseNumber()
	rules := make(Rules)
	err := r.object("the rules", func(name string) error {
		if _, err := splitName(name); err != nil {
			return r.fault("%v", err)
		}
		rule, err := r.rule()
		rules[name] = rule
		return err
	})
	if err == nil {
		if _, end := r.dec.Token(); !errors.Is(end, io.EOF) {
			err = r.fault("there is more after the rules")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("preflight: %w", err)
	}
	return rules, nil
}

// A reader walks over a file and knows where it is.
type reader struct {
	dec  *json.Decoder
	data []byte
	path []string
}

// fault is an error at the token that was read last.
func (r *reader) fault(format string, args ...any) error {
	line := 1 + bytes.Count(r.data[:r.dec.InputOffset()], []byte("\n"))
	var at strings.Builder
	for _, member := range r.path {
		fmt.Fprintf(&at, "%.80q: ", member)
	}
	return fmt.Errorf("line %d: %s%w", line, at.String(), fmt.Errorf(format, args...))
}

func (r *reader) token() (json.Token, error) {
	t, err := r.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, r.fault("not valid JSON: %w", err)
	}
	return t, nil
}

// object reads an object, each member once. member reads the value of the key.
func (r *reader) object(what string, member func(key string) error) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	return r.members(t, what, member)
}

func (r *reader) members(open json.Token, what string, member func(key string) error) error {
	if open != json.Delim('{') {
		return r.fault("%s must be an object", what)
	}
	seen := make(map[string]bool)
	for {
		t, err := r.token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok { // the closing brace; the decoder lets nothing else stand here
			return nil
		}
		r.path = append(r.path, key)
		if seen[key] {
			return r.fault("is given twice")
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
	}
}

// rule reads a rule or a list of them.
func (r *reader) rule() (Rule, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return r.clause(t)
	}
	var clauses []Rule
	for {
		if t, err = r.token(); err != nil {
			return nil, err
		}
		if t == json.Delim(']') {
			break
		}
		clause, err := r.clause(t)
		if err != nil {
			return nil, err
		}
		clauses = append(clauses, clause)
	}
	if len(clauses) == 0 {
		return nil, r.fault("there is no rule in the list")
	}
	return Strictest(clauses...), nil
}

var classes = map[string]func(Condition) Rule{
	"safe": Condition.Safe, "moderate": Condition.Moderate, "dangerous": Condition.Dangerous,
}

// clause reads {"when": {…}, "class": "…"}.
func (r *reader) clause(open json.Token) (Rule, error) {
	var c Condition
	var class func(Condition) Rule
	err := r.members(open, "a rule", func(key string) error {
		switch key {
		case "when":
			return r.object("when", func(argument string) error {
				values, err := r.values()
				if err != nil {
					return err
				}
				if err := checkTest(argument, values); err != nil {
					return r.fault("%w", err)
				}
				c = c.And(argument, values...)
				return nil
			})
		case "class":
			t, err := r.token()
			if err != nil {
				return err
			}
			name, _ := t.(string)
			if class = classes[name]; class == nil {
				return r.fault("must be one of %s", strings.Join(slices.Sorted(maps.Keys(classes)), ", "))
			}
			return nil
		}
		return r.fault("is no member of a rule; those are when and class")
	})
	switch {
	case err != nil:
		return nil, err
	case len(c.tests) == 0:
		return nil, r.fault(`when must name at least one argument, as in "when": {"method": ["get"]}`)
	case class == nil:
		return nil, r.fault("class is missing")
	}
	return class(c), nil
}

// values reads a list of texts and bools.
func (r *reader) values() ([]any, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return nil, r.fault("must be a list of values")
	}
	var values []any
	for {
		if t, err = r.token(); err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case string, bool:
			values = append(values, t)
		case json.Delim:
			if t == ']' {
				return values, nil
			}
			return nil, r.fault("a value must be a text or a bool")
		default:
			return nil, r.fault("a value must be a text or a bool")
		}
	}
}
