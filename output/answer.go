package output

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An answer is one result on its way to the model. Its main document is the structured content, or else the first
// text that is JSON; a text that repeats the structured content is cut with it.
type answer struct {
	limit       int
	call        middleware.Call
	res         *mcp.CallToolResult // only read
	page        *page
	contract    *schema.Contract
	shape       *schema.Shape // of the contract, nil for none
	keepUnnamed bool
	open, end   string // the fence, "" for none

	contents, others []mcp.Content // for the model, and for the user alone

	prepared bool
	unready  error  // of prepare
	note     string // about what is left out, "" for none
	unnamed  unnamed
	nulls    unnamed // members that were null, and may not be

	parts      []*part
	main       any // ours to write to
	hasMain    bool
	structured bool // main is the structured content
	changed    bool // main does not say what it said
	rewrite    bool // documents are written anew
	isCut      bool
	lost       trim.Loss
	gone       int // parts that did not fit
	dropped    int // parts that do not keep to the contract
	withheld   int // of those, what no text has
	next       any // how to ask for the rest, nil for no way
}

// prepare reads the answer and leaves out what the contract does not name, once.
func (a *answer) prepare() error {
	if a.prepared {
		return a.unready
	}
	a.prepared = true
	if err := a.read(); err != nil {
		a.unready = withheld(a.call.Tool, "cannot be read", err)
	} else if err := a.sanitize(); err != nil {
		a.unready = withheld(a.call.Tool, "is not what its output schema promises", err)
	}
	return a.unready
}

// shown returns what the model sees of the contents. moved is set if they are not those of the result.
func (a *answer) shown(moved bool) (*mcp.CallToolResult, error) {
	fenced := a.open != "" && a.res.StructuredContent != nil
	a.rewrite = a.contract != nil || a.page.skips() || fenced
	if !a.rewrite && a.surelyFits() {
		if moved {
			return a.result(), nil
		}
		return a.res, nil
	}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	a.note = a.leftOut()
	fenced = fenced || a.note != "" && len(a.parts) == 0 // a client that reads texts if there are any would miss the rest
	if fenced && a.structured && !slices.ContainsFunc(a.parts, func(p *part) bool { return p.isMain }) {
		a.parts = append(a.parts, &part{content: text(""), isText: true, tree: a.main, isDoc: true, isMain: true}) // inside the fence
	}
	if a.hasMain && a.page.skips() {
		a.main, a.changed = a.page.leaveOut(a.main), true
	}
	if err := a.cut(); err != nil {
		return nil, withheld(a.call.Tool, "is too long", err)
	}
	if err := a.check(); err != nil {
		if a.isCut {
			return nil, withheld(a.call.Tool, "is too long", fmt.Errorf("%w (%w)", errTooLong, err))
		}
		return nil, withheld(a.call.Tool, "is not what its output schema promises", err)
	}
	if !a.rewrite && !a.isCut && !moved {
		return a.res, nil
	}
	return a.result(), nil
}

// surelyFits reports whether the result fits as it is, without decoding it; most do.
func (a *answer) surelyFits() bool {
	if a.total(a.room()) > a.room() {
		return false
	}
	if a.res.StructuredContent == nil {
		return true
	}
	raw, err := json.Marshal(a.res.StructuredContent)
	return err == nil && len(raw) <= a.limit
}

// room is what the limit leaves for the contents inside the fence, beside what the model reads about what is left out.
func (a *answer) room() int {
	return a.limit - trim.Text(a.open, a.limit) - trim.Text(a.end, a.limit) - trim.Text(a.note, a.limit)
}

// read decodes the documents, and finds the main one and the texts that repeat it.
func (a *answer) read() error {
	if a.res.StructuredContent != nil {
		raw, err := json.Marshal(a.res.StructuredContent)
		if err != nil {
			return err
		}
		if a.main, err = jsontree.Decode(raw); err != nil {
			return err
		}
		a.hasMain, a.structured = true, true
	}
	for _, p := range a.parts {
		if !p.isText || !jsontree.Likely(p.text) {
			continue
		}
		tree, err := jsontree.Decode([]byte(p.text))
		if err != nil {
			continue
		}
		p.tree, p.isDoc = tree, true
		_, isText := p.content.(*mcp.TextContent)
		switch {
		case !isText:
		case !a.hasMain:
			a.main, a.hasMain, p.isMain = tree, true, true
		case a.structured && jsontree.Same(tree, a.main):
			p.isMain = true
		}
	}
	return nil
}

// result returns a new result with what is shown.
func (a *answer) result() *mcp.CallToolResult {
	out := *a.res
	out.Content = make([]mcp.Content, 0, len(a.parts)+3)
	if a.open != "" {
		out.Content = append(out.Content, text(a.open))
	}
	for _, p := range a.parts {
		switch {
		case p.gone:
		case p.isDoc && a.rewrite:
			out.Content = append(out.Content, p.with(jsontree.Encode(a.doc(p))))
		default:
			out.Content = append(out.Content, p.with(p.text))
		}
	}
	if a.end != "" {
		out.Content = append(out.Content, text(a.end))
	}
	if a.note != "" {
		out.Content = append(out.Content, text(a.note))
	}
	switch {
	case a.isCut:
		out.Content = append(out.Content, text(a.cutNote()))
		out.Meta = maps.Clone(out.Meta)
		if out.Meta == nil {
			out.Meta = make(mcp.Meta)
		}
		out.Meta[metaKey] = a.meta()
	case len(a.parts) == 0 && len(a.res.Content) > 0 && a.res.StructuredContent == nil:
		out.Content = append(out.Content, text("The answer holds nothing for you: all of it is for the user."))
	}
	if a.changed {
		out.StructuredContent = a.structuredContent()
	}
	return &out
}

// structuredContent returns the main document as the result held it: as text, or as JSON decodes it.
func (a *answer) structuredContent() any {
	if !a.structured {
		return nil
	}
	raw := json.RawMessage(jsontree.Encode(a.main))
	if _, isRaw := a.res.StructuredContent.(json.RawMessage); isRaw {
		return raw
	}
	v, err := jsontree.Exact(raw)
	if err != nil {
		return raw
	}
	return v
}

// A part is one content of the result.
type part struct {
	content mcp.Content
	text    string
	isText  bool
	tree    any // the text, where it is JSON that was decoded
	isDoc   bool
	isMain  bool // it repeats the structured content, or replaces it
	gone    bool
}

func newPart(content mcp.Content) *part {
	p := &part{content: content}
	switch c := content.(type) {
	case *mcp.TextContent:
		p.text, p.isText = c.Text, true
	case *mcp.EmbeddedResource:
		if c.Resource != nil && c.Resource.Blob == nil {
			p.text, p.isText = c.Resource.Text, true
		}
	}
	return p
}

// weight returns how much of the limit the part takes, or something above most.
func (p *part) weight(most int) int {
	if p.isText {
		return trim.Text(p.text, most)
	}
	switch c := p.content.(type) {
	case *mcp.ResourceLink:
		return trim.Text(c.URI+c.Name+c.Title+c.Description, most)
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			return base64.StdEncoding.EncodedLen(len(c.Resource.Blob))
		}
		return 0
	case *mcp.ImageContent, *mcp.AudioContent:
		return 0 // a model takes them by other ways
	}
	raw, err := json.Marshal(p.content) // what has no place in a result, and arrives all the same
	if err != nil {
		return most + 1
	}
	return trim.Text(string(raw), most)
}

func (p *part) with(text string) mcp.Content {
	switch c := p.content.(type) {
	case *mcp.TextContent:
		if c.Text == text {
			return c
		}
		changed := *c
		changed.Text = text
		return &changed
	case *mcp.EmbeddedResource:
		if c.Resource.Text == text {
			return c
		}
		changed, resource := *c, *c.Resource
		resource.Text = text
		changed.Resource = &resource
		return &changed
	}
	return p.content
}

func text(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }
