package inbox

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// A row is one member of the arguments, escaped for the eye.
type row struct{ Name, Text string }

// rows lays arguments out, one member a row, in their own order. Anything but an object is one row without a name.
func rows(arguments json.RawMessage) []row {
	if len(bytes.TrimSpace(arguments)) == 0 {
		return nil
	}
	members, ok := strictjson.Members(arguments)
	if !ok || !json.Valid(arguments) {
		return []row{{Text: safetext.Text(string(arguments))}}
	}
	var list []row
	for _, m := range members {
		list = append(list, row{Name: safetext.Line(m.Name), Text: valueText(m.Value)})
	}
	return list
}

// valueText shows a text in quotes, and anything else as JSON.
func valueText(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil && !strings.ContainsRune(text, utf8.RuneError) {
		return `"` + safetext.Text(text) + `"`
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, value, "", "  ") != nil {
		return safetext.Text(string(value))
	}
	// An escape here is not one of JSON's, so JSON's backslashes may stay single.
	return strings.ReplaceAll(safetext.Text(pretty.String()), `\\`, `\`)
}

func draftText(shown string) string {
	if json.Valid([]byte(shown)) {
		return valueText(bytes.TrimSpace([]byte(shown)))
	}
	return safetext.Text(shown)
}

// editable is the arguments as JSON in which everything can be seen: what would be
// invisible is written as JSON writes it, so that the meaning stays.
func editable(arguments json.RawMessage) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, bytes.TrimSpace(arguments), "", "  ") != nil { // it keeps white space at the end
		return "{}"
	}
	return safetext.JSON(pretty.String())
}
