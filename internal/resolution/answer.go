package resolution

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Reply is a server's answer. [Annotates] has Annotations alone, [Extends] the Name of the tool too.
type Reply struct {
	mcp.ResultBase

	ResultType  string                 `json:"resultType"`
	Name        string                 `json:"name,omitempty"`
	Annotations annotation.Annotations `json:"annotations"` // the four hints, all of them set
}

// Params are those of both methods.
type Params struct {
	mcp.ParamsBase

	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// An Answer is a result as the server wrote it.
type Answer struct {
	mcp.ResultBase

	raw json.RawMessage
}

// UnmarshalJSON keeps the text, unless it is too long, to be read once the form is known.
func (a *Answer) UnmarshalJSON(raw []byte) error {
	if len(raw) <= MaxAnswer {
		a.raw = bytes.Clone(raw)
	}
	return nil
}

// MaxAnswer is how many bytes an answer may have.
const MaxAnswer = 16 << 10

// Members that an answer of the extension may have.
var (
	answerMembers = []string{"resultType", "name", "annotations", "_meta"}
	answerHints   = []string{
		string(annotation.ReadOnlyHint), string(annotation.DestructiveHint), string(annotation.IdempotentHint), string(annotation.OpenWorldHint),
	}
)

// Read returns the hints of an answer of that form. A missing hint is unset, and so are all without annotations,
// or without the name that they need. Any other defect is an error.
func (a *Answer) Read(f Form, tool string) (annotation.Annotations, error) {
	raw, nothing := a.raw, annotation.Annotations{}
	if raw == nil {
		return nothing, fmt.Errorf("it has more than %d bytes", MaxAnswer)
	}
	if _, err := canonical.AppendObject(nil, raw); err != nil {
		return nothing, err
	}
	var result map[string]json.RawMessage
	if err := json.Unmarshal(raw, &result); err != nil {
		return nothing, err
	}
	if kind, err := member[string](result, "resultType", "text"); err != nil || kind != "" && kind != "complete" {
		return nothing, fmt.Errorf("its resultType is %.40s and not complete", result["resultType"])
	}
	name, err := member[string](result, "name", "text")
	switch {
	case err != nil:
		return nothing, err
	case name != "" && name != tool:
		return nothing, fmt.Errorf("it is about another tool: %.80q", name)
	}
	hints, err := member[map[string]json.RawMessage](result, "annotations", "object")
	if err != nil {
		return nothing, err
	}
	if f == Extends {
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
	if hints == nil || name == "" && f != Annotates { // about what?
		return nothing, nil
	}
	answer, err := annotation.Parse(result["annotations"])
	if err != nil {
		return nothing, err
	}
	return answer, nil
}

func member[T any](of map[string]json.RawMessage, name, kind string) (v T, err error) {
	if raw, ok := of[name]; ok {
		if json.Unmarshal(raw, &v) != nil {
			err = fmt.Errorf("its %s is %.40s and no %s", name, raw, kind)
		}
	}
	return v, err
}
