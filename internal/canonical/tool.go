package canonical

import "github.com/modelcontextprotocol/go-sdk/mcp"

// AppendTool appends the canonical form of a tool's definition. Its members stand in
// the order of their names.
func AppendTool(dst []byte, d *mcp.Tool) ([]byte, error) {
	o := object{text: dst, start: len(dst)}
	if len(d.Meta) > 0 {
		o.value("_meta", map[string]any(d.Meta))
	}
	if d.Annotations != nil {
		o.value("annotations", d.Annotations)
	}
	o.words("description", d.Description)
	if len(d.Icons) > 0 {
		o.value("icons", d.Icons)
	}
	o.value("inputSchema", d.InputSchema)
	o.member("name")
	o.text = AppendText(o.text, d.Name)
	if d.OutputSchema != nil {
		o.value("outputSchema", d.OutputSchema)
	}
	o.words("title", d.Title)
	if o.err != nil {
		return dst, o.err
	}
	return append(o.text, '}'), nil
}

// An object is written member by member.
type object struct {
	text  []byte
	start int   // of the object
	err   error // the first one
}

func (o *object) member(name string) {
	before := byte(',')
	if len(o.text) == o.start {
		before = '{'
	}
	o.text = append(append(append(o.text, before, '"'), name...), '"', ':')
}

func (o *object) value(name string, v any) {
	if o.err == nil {
		o.member(name)
		o.text, o.err = AppendTree(o.text, v)
	}
}

// words writes a text, and nothing for an empty one.
func (o *object) words(name, text string) {
	if text != "" {
		o.member(name)
		o.text = AppendText(o.text, text)
	}
}
