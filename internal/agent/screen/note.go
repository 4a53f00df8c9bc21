package screen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/tty"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// longText is from where on a text is counted and not shown.
const longText = 40

// A member is one name and value of a JSON object, in its order.
type member struct {
	name  string
	value any
}

// members reads a JSON object in order, nothing where it is none.
func members(raw []byte) []member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return all
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return all
		}
		all = append(all, member{fmt.Sprint(name), v})
	}
	return all
}

// brief shows one value in a few words.
func (m member) brief() string {
	switch v := m.value.(type) {
	case string:
		if len(v) > longText || strings.Contains(v, "\n") {
			return fmt.Sprintf("%s of %d bytes", m.name, len(v))
		}
		return v
	case []any:
		return fmt.Sprintf("%d %s", len(v), m.name)
	case nil:
		return "no " + m.name
	case map[string]any:
		return m.name + " {…}"
	}
	return fmt.Sprintf("%s=%v", m.name, m.value)
}

// briefArguments shows the arguments of a call in a few words.
func briefArguments(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	const most = 1 << 16 // nobody reads more in one line
	if len(raw) > most {
		return fmt.Sprintf("arguments of %d bytes", len(raw))
	}
	all := members(raw)
	if all == nil && !isEmptyObject(raw) {
		return safetext.Line(tty.Fit(string(raw), longText))
	}
	words := make([]string, 0, len(all))
	for _, m := range all {
		words = append(words, m.brief())
	}
	if len(all) == 2 && all[0].name == "from" && all[1].name == "to" {
		return safetext.Line(strings.Join(words, " → "))
	}
	return safetext.Line(strings.Join(words, ", "))
}

func isEmptyObject(raw []byte) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	var v map[string]any
	err := d.Decode(&v)
	_, end := d.Token()
	return err == nil && len(v) == 0 && errors.Is(end, io.EOF)
}

// briefResult shows an answer in a few words: what it has besides what was asked.
func briefResult(c Call) string {
	if c.Result == nil {
		return shown(c.Trouble)
	}
	object, ok := c.Result.StructuredContent.(map[string]any)
	if !ok || c.State != plan.Done {
		return shown(firstText(c.Result))
	}
	asked := map[any]bool{}
	for _, m := range members(c.Arguments) {
		if s, ok := m.value.(string); ok {
			asked[s] = true
		}
	}
	var words []string
	for name, v := range object {
		if s, ok := v.(string); ok && asked[s] {
			continue
		}
		if s, ok := v.(string); ok && len(s) <= longText && !strings.Contains(s, "\n") {
			words = append(words, name+" "+s)
			continue
		}
		words = append(words, member{name, v}.brief())
	}
	slices.Sort(words)
	return safetext.Line(strings.Join(words, ", "))
}

// shown makes somebody else's text safe to show, and no longer than a person
// reads.
func shown(text string) string {
	const most = 400
	if len(text) > 4*most {
		text = text[:4*most]
	}
	return safetext.Cut(safetext.Line(text), most)
}

// firstText is the first line of an answer's text.
func firstText(res *mcp.CallToolResult) string {
	for line := range strings.Lines(output.Text(res)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
