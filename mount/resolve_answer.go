package mount

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
)

// maxAnswer is how long an answer may be. One of the second draft repeats the whole
// definition of the tool.
const maxAnswer = 256 << 10

// Members that an answer of the extension may have.
var (
	answerMembers = []string{"resultType", "name", "annotations", "_meta"}
	answerHints   = []string{
		string(annotation.ReadOnlyHint), string(annotation.DestructiveHint), string(annotation.IdempotentHint), string(annotation.OpenWorldHint),
	}
)

// decodeAnswer reads a server's answer about the tool. A hint that is missing is
// unset, and so are all where the annotations are missing or the name that they need:
// such a server has said nothing, and for each hint the default counts. Everything
// else that is not as it must be is an error.
func decodeAnswer(f form, tool string, raw []byte) (annotation.Annotations, error) {
	var nothing annotation.Annotations
	if raw == nil {
		return nothing, fmt.Errorf("it has more than %d bytes", maxAnswer)
	}
	if _, err := canonical.AppendObject(nil, raw); err != nil {
		return nothing, err
	}
	var result map[string]json.RawMessage
	if err := json.Unmarshal(raw, &result); err != nil {
		return nothing, err
	}
	if kind, err := text(result, "resultType"); err != nil || kind != "" && kind != "complete" {
		return nothing, fmt.Errorf("its resultType is %.40s and not complete", result["resultType"])
	}
	about := result
	if f == resolves {
		var err error
		if about, err = object(result, "tool"); err != nil {
			return nothing, err
		}
	}
	name, err := text(about, "name")
	switch {
	case err != nil:
		return nothing, err
	case name != "" && name != tool:
		return nothing, fmt.Errorf("it is about another tool: %.80q", name)
	}
	hints, err := object(about, "annotations")
	if err != nil {
		return nothing, err
	}
	if f == extensions {
		for member := range result {
			if !slices.Contains(answerMembers, member) {
				return nothing, fmt.Errorf("it has a member that it must not have: %.40q", member)
			}
		}
		for hint := range hints {
			if !slices.Contains(answerHints, hint) {
				return nothing, fmt.Errorf("its annotations have a member that they must not have: %.40q", hint)
			}
		}
	}
	if hints == nil || name == "" && f != annotates { // about what?
		return nothing, nil
	}
	answer, err := annotation.Parse(about["annotations"])
	if err != nil {
		return nothing, err
	}
	return answer, nil
}

// text returns a member, "" where it is missing.
func text(of map[string]json.RawMessage, member string) (s string, err error) {
	if raw, ok := of[member]; ok {
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", fmt.Errorf("its %s is %.40s and no text", member, raw)
		}
	}
	return s, nil
}

// object returns a member, nil where it is missing or null.
func object(of map[string]json.RawMessage, member string) (o map[string]json.RawMessage, err error) {
	if raw, ok := of[member]; ok {
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, fmt.Errorf("its %s is %.40s and no object", member, raw)
		}
	}
	return o, nil
}
