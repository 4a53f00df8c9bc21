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

// A Form is one way in which a server answers.
type Form int

// The forms.
const (
	None      Form = iota
	Annotates      // tools/annotations of the proposal
	Extends        // tools/resolve of the extension
)

// Method returns what is called.
func (f Form) Method() string {
	if f == Annotates {
		return MethodAnnotations
	}
	return MethodResolve
}

// Offered returns the best way in which the server said that it answers about the
// tool: by its capabilities and by the tool's mark.
func Offered(cs *mcp.ClientSession, tool *mcp.Tool) Form {
	init := cs.InitializeResult()
	if init == nil || init.Capabilities == nil || tool == nil {
		return None
	}
	caps := init.Capabilities.Extensions
	settings, announced := caps[Extension].(map[string]any)
	mark, _ := tool.Meta[Extension].(map[string]any)
	lifted, _ := caps[MetaKey].(map[string]any)
	marks, _ := tool.Meta[MetaKey].(map[string]any)
	switch {
	case announced && len(settings) == 0 && mark["resolvable"] == true: // settings that we do not know may ask for more
		return Extends
	case lifted[FieldDynamic] == true && marks[FieldDynamic] == true:
		return Annotates
	}
	return None
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

// UnmarshalJSON keeps the text; what it says is read once it is known who asked. A
// text that is too long is not kept.
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

// Read returns what the answer of that form says of the tool. A hint that is missing is
// unset, and so are all where the annotations are missing or the name that they need:
// such a server has said nothing, and for each hint the default counts. Everything
// else that is not as it must be is an error.
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

// member returns a member, the zero value if it is missing or null.
func member[T any](of map[string]json.RawMessage, name, kind string) (v T, err error) {
	if raw, ok := of[name]; ok {
		if json.Unmarshal(raw, &v) != nil {
			err = fmt.Errorf("its %s is %.40s and no %s", name, raw, kind)
		}
	}
	return v, err
}
