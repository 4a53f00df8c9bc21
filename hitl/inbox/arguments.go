package inbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/safetext"
)

// A row is one member of the arguments, escaped for the eye.
type row struct {
	Name, Text string
	Note       string // what changed since the last approved call
	Was        string

	raw json.RawMessage
}

// rows lays arguments out, one member a row, in their own order. What is no object
// is one row without a name.
func rows(arguments json.RawMessage) []row {
	if len(bytes.TrimSpace(arguments)) == 0 {
		return nil
	}
	members, ok := strictjson.Members(arguments)
	if !ok || !json.Valid(arguments) {
		return []row{{Text: safetext.Text(string(arguments)), raw: arguments}}
	}
	var list []row
	for _, m := range members {
		list = append(list, row{Name: safetext.Line(m.Name), Text: valueText(m.Value), raw: m.Value})
	}
	return list
}

// valueText shows a text as a reader knows it, in quotes, and anything else as
// JSON.
func valueText(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil && !strings.ContainsRune(text, utf8.RuneError) {
		return `"` + safetext.Text(text) + `"`
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, value, "", "  ") != nil {
		return safetext.Text(string(value))
	}
	// What escape shows is no escape of JSON's, so JSON's backslashes may stay single.
	return strings.ReplaceAll(safetext.Text(pretty.String()), `\\`, `\`)
}

func draftText(shown string) string {
	if json.Valid([]byte(shown)) {
		return valueText(bytes.TrimSpace([]byte(shown)))
	}
	return safetext.Text(shown)
}

// compare notes in each row what differs from the last approved call, adds what
// that one had and this one has not, and says it in a sentence.
func compare(now []row, before []byte) ([]row, string) {
	switch {
	case before == nil:
		return now, "No call of this tool was approved here before."
	case len(before) > maxCompared:
		return now, "The last approved call of this tool is too long to compare."
	}
	was := make(map[string]row)
	for _, r := range rows(before) {
		was[r.Name] = r
	}
	changes := 0
	for i := range now {
		old, known := was[now[i].Name]
		delete(was, now[i].Name)
		switch {
		case !known:
			now[i].Note = "new since the last approved call"
		case !canonical.Same(old.raw, now[i].raw):
			now[i].Note, now[i].Was = "changed since the last approved call", old.Text
		default:
			continue
		}
		changes++
	}
	for _, r := range rows(before) { // in their order
		if old, gone := was[r.Name]; gone {
			delete(was, r.Name)
			now = append(now, row{Name: r.Name, Note: "no longer there; the last approved call had it", Was: old.Text})
			changes++
		}
	}
	if changes == 0 {
		return now, "The same as the last approved call of this tool."
	}
	return now, fmt.Sprintf("Arguments that differ from the last approved call of this tool: %d.", changes)
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
