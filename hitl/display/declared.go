package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// declared returns the members of the arguments that the tool has parameters for, and the others. A sentence is made of the
// first alone: of {"path":"notes.md","file_path":"~/.ssh/config"} a server reads the one that it declares. If a schema is
// open, or does not list its parameters in one place, all count as declared.
func declared(r hitl.Request) (known, stray []strictjson.Member) {
	all, _ := strictjson.Members(r.Arguments)
	var schema map[string]json.RawMessage
	var parameters map[string]json.RawMessage
	raw, err := json.Marshal(r.Tool.Definition.InputSchema)
	if err != nil || json.Unmarshal(raw, &schema) != nil || json.Unmarshal(schema["properties"], &parameters) != nil || len(parameters) == 0 {
		return all, nil
	}
	for _, open := range []string{"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"} {
		if schema[open] != nil {
			return all, nil
		}
	}
	if more := bytes.TrimSpace(schema["additionalProperties"]); bytes.HasPrefix(more, []byte("{")) || bytes.Equal(more, []byte("true")) {
		return all, nil
	}
	for _, m := range all {
		if _, ok := parameters[m.Name]; ok {
			known = append(known, m)
		} else {
			stray = append(stray, m)
		}
	}
	if len(known) == 0 {
		return all, nil
	}
	return known, stray
}

// strays describes the members that the tool has no parameter for.
func (c *call) strays() []Effect {
	var names []string
	for _, m := range c.stray[:min(len(c.stray), maxList)] {
		names = append(names, safetext.Word(m.Name, maxWord))
	}
	if more := len(c.stray) - maxList; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	switch len(c.stray) {
	case 0:
		return nil
	case 1:
		return []Effect{{Text: names[0] + " is not a parameter that the server states for this tool"}}
	}
	return []Effect{{Text: strings.Join(names, ", ") + " are not parameters that the server states for this tool"}}
}

// overwriting states that nothing is known of what a written file has now, where it may be lost. The comparison of what
// is there with what is written says it otherwise.
func (c *call) overwriting() []Effect {
	if len(c.changes) > 0 || c.tool.Annotations.Destructive == annotation.No || !slices.Contains([]string{"write", "save", "put", "overwrite", "create"}, c.verb) {
		return nil
	}
	at := c.all("", files...)
	if _, name := c.first("content", "contents", "text", "body", "data", "file_text"); at == "" || name == "" {
		return nil
	}
	return []Effect{{Text: "Whether " + at + " is there already, and what it has, was not looked up"}}
}
