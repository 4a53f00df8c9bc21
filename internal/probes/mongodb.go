package probes

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

var (
	mongoOperators = sets["mongoOperators"]
	mongoCommands  = sets["mongoCommands"]
)

// MongoDB judges a filter, a pipeline of stages or a command, as JSON. It is a read if every name with a dollar is of an
// operator that reads, and no name at the top is that of a command that does more.
func MongoDB(text string) Verdict {
	if why := Plain(text); why != "" {
		return Harmful(why)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	why, kind := "", ""
	var open []json.Delim // what is open
	name := false         // the next text may be a name
	for why == "" {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 && kind != "" {
			return Harmless(kind)
		}
		if err != nil {
			return Harmful("no JSON: a query in another form")
		}
		if kind != "" && len(open) == 0 {
			return Harmful("more than one query")
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				if open = append(open, t); len(open) > maxDepth {
					return Harmful("it is nested too deeply")
				}
				if kind == "" {
					kind = map[json.Delim]string{'{': "a filter", '[': "a pipeline"}[t]
				}
				name = t == '{'
				continue
			}
			open = open[:len(open)-1]
		case string:
			if name {
				why = mongoName(t, len(open) == 1)
				name = false
				continue
			}
		}
		if kind == "" {
			return Harmful("neither a filter nor a pipeline")
		}
		name = len(open) > 0 && open[len(open)-1] == '{'
	}
	return Harmful(why)
}

// maxDepth is how deeply a text may be nested.
const maxDepth = 100

// mongoName returns what the name of a member does more than read. At the top it may be a command.
func mongoName(name string, top bool) string {
	switch {
	case Plain(name) != "":
		return "a name in disguise"
	case strings.HasPrefix(name, "$") && !mongoOperators[name]:
		return "the operator " + Shown(name)
	case top && mongoCommands[strings.ToLower(name)]:
		return "the command " + Shown(name)
	}
	return ""
}
