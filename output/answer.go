package output

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
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
	next       any // how to ask for the rest, nil for no way
}

// shown returns what the model sees of the contents. moved is set if they are not those of the result.
func (a *answer) shown(contents []mcp.Content, moved bool) (*mcp.CallToolResult, error) {
	for _, content := range contents {
		a.parts = append(a.parts, newPart(content))
	}
	fenced := a.open != "" && a.res.StructuredContent != nil
	a.rewrite = a.contract != nil || a.page.skips() || fenced
	if !a.rewrite && a.surelyFits() {
		if moved {
			return a.result(), nil
		}
		return a.res, nil
	}
	if err := a.read(); err != nil {
		return nil, withheld(a.call.Tool, "cannot be read", err)
	}
	if err := a.sanitize(); err != nil {
		return nil, withheld(a.call.Tool, "is not what its output schema promises", err)
	}
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

// room is what the limit leaves for the contents inside the fence.
func (a *answer) room() int {
	return a.limit - trim.Text(a.open, a.limit) - trim.Text(a.end, a.limit)
}

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

// sanitize takes out what the contract does not name; of a failure, only in its structured content.
func (a *answer) sanitize() error {
	if a.contract == nil {
		return nil
	}
	if a.res.IsError {
		if a.structured && (a.strip(a.main) > 0 || a.contract.Check(a.main) != nil) {
			a.main, a.hasMain, a.structured, a.changed = nil, false, false, true
			a.dropped++
			for _, p := range a.parts {
				p.isMain = false // and stays, as the message that it is
			}
		}
		return nil
	}
	if !a.hasMain {
		return errors.New("there is no structured content")
	}
	a.changed = a.strip(a.main) > 0
	for _, p := range a.parts {
		if _, isText := p.content.(*mcp.TextContent); !isText || p.isMain || !jsontree.Likely(p.text) {
			continue
		}
		if p.isDoc {
			a.strip(p.tree)
		}
		if !p.isDoc || a.contract.Check(p.tree) != nil { // what cannot be read cannot be checked
			p.gone = true
			a.dropped++
		}
	}
	return nil
}

func (a *answer) strip(v any) int {
	if a.keepUnnamed {
		return 0
	}
	return a.shape.Strip(v)
}

func (a *answer) check() error {
	if a.contract == nil || !a.hasMain || a.res.IsError {
		return nil
	}
	return a.contract.Check(a.main)
}

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
	switch {
	case a.isCut:
		out.Content = append(out.Content, text(a.note()))
		out.Meta = maps.Clone(out.Meta)
		if out.Meta == nil {
			out.Meta = make(mcp.Meta)
		}
		out.Meta[MetaKey] = a.meta()
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
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return raw
	}
	return v
}

// forRole returns the items for the role, the most important first, and the others. The error names invalid annotations.
func forRole[T any](items []T, role mcp.Role, about func(T) (name string, a *mcp.Annotations)) (mine, others []T, err error) {
	mine = make([]T, 0, len(items))
	var errs []error
	for _, item := range items {
		name, annotations := about(item)
		content, err := annotation.ContentOf(annotations)
		if err != nil {
			errs = append(errs, fmt.Errorf("output: the resource %.200q: %w", name, err))
		}
		if content.For(role) {
			mine = append(mine, item)
		} else {
			others = append(others, item)
		}
	}
	rank := func(item T) float64 {
		_, annotations := about(item)
		content, _ := annotation.ContentOf(annotations)
		return content.Rank()
	}
	slices.SortStableFunc(mine, func(a, b T) int { return cmp.Compare(rank(b), rank(a)) })
	return mine, others, errors.Join(errs...)
}

func annotationsOf(content mcp.Content) (name string, a *mcp.Annotations) {
	switch c := content.(type) {
	case *mcp.TextContent:
		return "", c.Annotations
	case *mcp.ImageContent:
		return "", c.Annotations
	case *mcp.AudioContent:
		return "", c.Annotations
	case *mcp.ResourceLink:
		return "", c.Annotations
	case *mcp.EmbeddedResource:
		return "", c.Annotations
	}
	return "", nil
}

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

// Resources returns the resources that are for the role, the most important first; a missing priority counts as
// 0.5. The error names each annotation that is not valid, which counts as missing; an unknown audience is neither
// the user nor the assistant. The list itself is not changed.
func Resources(listed []*mcp.Resource, role mcp.Role) ([]*mcp.Resource, error) {
	mine, _, err := forRole(present(listed), role, func(r *mcp.Resource) (string, *mcp.Annotations) { return r.URI, r.Annotations })
	return mine, err
}

// ResourceTemplates is [Resources] for resource templates.
func ResourceTemplates(listed []*mcp.ResourceTemplate, role mcp.Role) ([]*mcp.ResourceTemplate, error) {
	mine, _, err := forRole(present(listed), role, func(r *mcp.ResourceTemplate) (string, *mcp.Annotations) { return r.URITemplate, r.Annotations })
	return mine, err
}

func present[T any](listed []*T) []*T {
	return slices.DeleteFunc(slices.Clone(listed), func(item *T) bool { return item == nil })
}
