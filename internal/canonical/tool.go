package canonical

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AppendTool appends the canonical form of a tool's definition to dst: that of the JSON which encoding/json writes for it.
func AppendTool(dst []byte, d *mcp.Tool) ([]byte, error) {
	form, _, err := Tool(dst, d)
	return form, err
}

// Tool is [AppendTool] that also returns a private copy of the definition, as encoding/json decodes the form, with
// the digits of the numbers that a float64 cannot hold.
func Tool(dst []byte, d *mcp.Tool) (form []byte, private *mcp.Tool, err error) {
	if form, private, ok := plainTool(dst, d); ok {
		return form, private, nil
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return dst, nil, err
	}
	if form, err = Append(dst, raw); err != nil {
		return dst, nil, err
	}
	if private, err = exactTool(form[len(dst):]); err != nil {
		return dst, nil, err
	}
	return form, private, nil
}

// exactTool decodes a definition. A number that a float64 cannot hold is a [json.Number].
func exactTool(form []byte) (*mcp.Tool, error) {
	d := json.NewDecoder(bytes.NewReader(form))
	d.UseNumber()
	tool := new(mcp.Tool)
	if err := d.Decode(tool); err != nil {
		return nil, err
	}
	tool.InputSchema, tool.OutputSchema = jsontree.Plain(tool.InputSchema), jsontree.Plain(tool.OutputSchema)
	jsontree.Plain(map[string]any(tool.Meta))
	return tool, nil
}

// Most definitions are as the SDK has decoded them. Their form is written, and they are copied, without a detour by way
// of encoding/json, which takes four times as long. Whatever is not plain takes the detour: other types than those of a
// decoded text, names with characters whose escapes or order are special, text that is not UTF-8, a long definition, and
// deep nesting, which may be a circle. So there is one rule for what is hard.
const (
	maxPlain      = MaxBytes / 8 // bytes of the form; encoding/json takes up to six for one
	maxPlainDepth = 64
)

// plainTool writes and copies a plain definition, and reports false for another one.
func plainTool(dst []byte, d *mcp.Tool) (form []byte, private *mcp.Tool, ok bool) {
	if d == nil || len(d.Icons) > 0 {
		return dst, nil, false
	}
	w := plainWriter{dst: dst, from: len(dst), names: make([]string, 0, 16)}
	out := &mcp.Tool{Name: d.Name, Title: d.Title, Description: d.Description}
	w.raw("{")
	if len(d.Meta) > 0 {
		w.raw(`"_meta":`)
		meta, _ := w.value(map[string]any(d.Meta), 0).(map[string]any)
		out.Meta = meta
		w.raw(",")
	}
	if d.Annotations != nil {
		w.raw(`"annotations":`)
		out.Annotations = w.annotations(d.Annotations)
		w.raw(",")
	}
	w.member(`"description":`, d.Description)
	w.raw(`"inputSchema":`)
	out.InputSchema = w.value(d.InputSchema, 0)
	w.raw(`,"name":`)
	w.text(d.Name)
	if d.OutputSchema != nil {
		w.raw(`,"outputSchema":`)
		out.OutputSchema = w.value(d.OutputSchema, 0)
	}
	if d.Title != "" {
		w.raw(`,"title":`)
		w.text(d.Title)
	}
	w.raw("}")
	if w.failed || w.tooLong() {
		return dst, nil, false
	}
	return w.dst, out, true
}

// A plainWriter writes decoded values.
type plainWriter struct {
	dst    []byte
	from   int      // where the form begins
	names  []string // a stack: those of the objects that are open
	failed bool     // something is not plain
}

func (w *plainWriter) tooLong() bool { return len(w.dst)-w.from > maxPlain }

func (w *plainWriter) raw(s string) { w.dst = append(w.dst, s...) }

// member writes a member that is left out if it is empty, and a comma.
func (w *plainWriter) member(name, value string) {
	if value != "" {
		w.raw(name)
		w.text(value)
		w.raw(",")
	}
}

// annotations writes and copies what a tool declares.
func (w *plainWriter) annotations(a *mcp.ToolAnnotations) *mcp.ToolAnnotations {
	form, err := formOf(a)
	if err != nil {
		w.failed = true
		return nil
	}
	if a.Title == "" {
		w.raw(form)
	} else { // which comes last in the order
		w.raw(strings.TrimSuffix(form, "}"))
		if form != "{}" {
			w.raw(",")
		}
		w.raw(`"title":`)
		w.text(a.Title)
		w.raw("}")
	}
	private := *a
	private.DestructiveHint, private.OpenWorldHint = copied(a.DestructiveHint), copied(a.OpenWorldHint)
	return &private
}

// hints are what decides the form of annotations without a title.
type hints struct{ readOnly, idempotent, destructive, open, hasDestructive, hasOpen bool }

var (
	formsMutex sync.Mutex
	forms      = make(map[hints]string) // at most 36; the SDK decides which hints are written
)

// formOf returns the form of annotations without their title.
func formOf(a *mcp.ToolAnnotations) (string, error) {
	h := hints{readOnly: a.ReadOnlyHint, idempotent: a.IdempotentHint, hasDestructive: a.DestructiveHint != nil, hasOpen: a.OpenWorldHint != nil}
	h.destructive = h.hasDestructive && *a.DestructiveHint
	h.open = h.hasOpen && *a.OpenWorldHint
	formsMutex.Lock()
	defer formsMutex.Unlock()
	form, ok := forms[h]
	if !ok {
		untitled := *a
		untitled.Title = ""
		raw, err := json.Marshal(untitled)
		if err != nil {
			return "", err
		}
		ordered, err := Append(nil, raw)
		if err != nil {
			return "", err
		}
		form = string(ordered)
		forms[h] = form
	}
	return form, nil
}

func copied(b *bool) *bool {
	if b == nil {
		return nil
	}
	return new(*b)
}

// value writes a decoded value and returns a copy of it.
func (w *plainWriter) value(v any, depth int) any {
	if w.failed = w.failed || depth > maxPlainDepth || w.tooLong(); w.failed {
		return nil
	}
	switch t := v.(type) {
	case nil:
		w.raw("null")
		return nil
	case bool:
		w.dst = strconv.AppendBool(w.dst, t)
		return v
	case string:
		w.text(t)
		return v
	case float64:
		w.number(t)
		return v
	case map[string]any:
		if t != nil { // a nil one is written as null
			return w.object(t, depth)
		}
	case []any:
		if t != nil {
			return w.array(t, depth)
		}
	}
	w.failed = true
	return nil
}

func (w *plainWriter) object(v map[string]any, depth int) map[string]any {
	from := len(w.names)
	for name := range v {
		w.failed = w.failed || !isPlainName(name)
		w.names = append(w.names, name)
	}
	names := w.names[from:]
	slices.Sort(names)
	out := make(map[string]any, len(v))
	w.raw("{")
	for i, name := range names {
		if i > 0 {
			w.raw(",")
		}
		w.raw(`"`)
		w.raw(name)
		w.raw(`":`)
		out[name] = w.value(v[name], depth+1)
	}
	w.raw("}")
	w.names = w.names[:from]
	return out
}

func (w *plainWriter) array(v []any, depth int) []any {
	out := make([]any, len(v))
	w.raw("[")
	for i, e := range v {
		if i > 0 {
			w.raw(",")
		}
		out[i] = w.value(e, depth+1)
	}
	w.raw("]")
	return out
}

// isPlainName reports whether a name has no escapes, and no character before the quote that ends it in the order of the
// form: a blank or an exclamation mark.
func isPlainName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// text writes a text, whose escapes are those of the scanner.
func (w *plainWriter) text(s string) {
	w.raw(`"`)
	from := len(w.dst)
	w.raw(s)
	if end, ascii := skipText(w.dst, from); end < len(w.dst) || !ascii {
		w.failed = w.failed || !utf8.ValidString(s)
		w.dst = w.dst[:from]
		for _, r := range s {
			w.dst = appendRune(w.dst, r)
		}
	}
	w.raw(`"`)
}

// number writes a number as encoding/json does.
func (w *plainWriter) number(f float64) {
	const exact = 1e15 // below it a whole number is written by its digits
	if whole := int64(f); math.Abs(f) < exact && float64(whole) == f && !(f == 0 && math.Signbit(f)) {
		w.dst = strconv.AppendInt(w.dst, whole, 10)
		return
	}
	raw, err := json.Marshal(f)
	w.dst, w.failed = append(w.dst, raw...), w.failed || err != nil
}
