package hitl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withEdit returns the result with a last block that names the arguments as the person's edit, if they differ from those
// that the model asked for: it would go on with its own. The arguments are as a record has them, without secrets.
func withEdit(res *mcp.CallToolResult, call middleware.Call, asked json.RawMessage) *mcp.CallToolResult {
	changed := changes(asked, call.Arguments)
	if res == nil || len(changed) == 0 {
		return res
	}
	told := *res
	told.Content = append(slices.Clip(slices.Clone(res.Content)), &mcp.TextContent{Text: fmt.Sprintf(
		"The user edited this call before approving it, and it was made with other arguments than you gave (changed: %s): %s",
		list(changed), safetext.Cut(safetext.JSON(string(redact.Of(call).Arguments(call))), maxTold))})
	return &told
}

// How much of an edit the model reads.
const (
	maxTold    = 2000 // bytes of the arguments
	maxChanged = 20   // names of members
)

// changes returns the names of the members that differ, those that were taken out too, in their order.
func changes(asked, made json.RawMessage) (names []string) {
	before, after := values(asked), values(made)
	for _, all := range []json.RawMessage{asked, made} {
		members, _ := strictjson.Members(all)
		for _, m := range members {
			if !bytes.Equal(before[m.Name], after[m.Name]) && !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// values returns the members of an object in canonical form.
func values(object json.RawMessage) map[string]json.RawMessage {
	form, _ := canonical.AppendObject(nil, object) // both were checked
	members, _ := strictjson.Members(form)
	all := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		all[m.Name] = m.Value
	}
	return all
}

func list(names []string) string {
	var text []byte
	for i, name := range names[:min(len(names), maxChanged)] {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(text, safetext.Word(name, 80)...)
	}
	if more := len(names) - maxChanged; more > 0 {
		text = fmt.Appendf(text, " and %d more", more)
	}
	return string(text)
}
