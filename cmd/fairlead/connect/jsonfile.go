package connect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/jsonc"
	"github.com/tailscale/hujson"
)

// byteOrderMark is what editors on Windows write before a text.
var byteOrderMark = []byte("\ufeff")

// parse reads JSON with comments. The tree has every byte of the text but a byte order mark.
func parse(text []byte) (*hujson.Value, error) {
	if line := jsonc.Deep(text); line > 0 {
		return nil, fmt.Errorf("line %d: it is nested too deeply", line)
	}
	root, err := hujson.Parse(bytes.TrimPrefix(text, byteOrderMark))
	if err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, errors.New("want a JSON object")
	}
	return &root, nil
}

// pack returns the text of a tree that was made of a text.
func pack(root *hujson.Value, of []byte) []byte {
	if bytes.HasPrefix(of, byteOrderMark) {
		return append(bytes.Clone(byteOrderMark), root.Pack()...)
	}
	return root.Pack()
}

// editJSON puts the proxy before the servers of a JSON file, and adds its hooks.
func (f *File) editJSON(ctx context.Context, p place, g Guard) error {
	text := f.before
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, byteOrderMark))) == 0 {
		if p.hooks == nil {
			return nil
		}
		text = append(bytes.Clone(text), "{}\n"...)
	}
	root, err := parse(text)
	if err != nil {
		return err
	}
	for _, path := range p.servers {
		if err := f.servers(ctx, root, path, nil, p.style, g); err != nil {
			return err
		}
	}
	if p.hooks != nil {
		if len(p.servers) > 0 {
			g.proxied = proxied(f)
		}
		if err := f.addHooks(root, p.hooks, g, lineEnd(text)); err != nil {
			return err
		}
	}
	f.after = pack(root, text)
	if bytes.Equal(f.after, text) {
		f.after = nil
	}
	return nil
}

// servers puts the proxy before the servers at a path. At is where v is.
func (f *File) servers(ctx context.Context, v *hujson.Value, path, at []string, s style, g Guard) error {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf("%q is not an object", strings.Join(at, "."))
	}
	for i := range o.Members {
		m := &o.Members[i]
		name := nameOf(m)
		switch here := slices.Concat(at, []string{name}); {
		case len(path) == 0:
			if find(o, name) != m {
				return fmt.Errorf("the server %q is there twice", name)
			}
			f.server(ctx, &m.Value, here, s, g)
		case path[0] == "*" || path[0] == name:
			if err := f.servers(ctx, &m.Value, path[1:], here, s, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// server puts the proxy before one server.
func (f *File) server(ctx context.Context, v *hujson.Value, at []string, s style, g Guard) {
	before := string(bytes.TrimSpace(v.Pack()))
	name := at[len(at)-1]
	if at[0] == "projects" {
		name += " of " + at[1]
	}
	e, err := readEntry([]byte(before))
	switch {
	case err != nil:
		f.Left = append(f.Left, Left{name, err.Error()})
	case e.guarded():
		f.Already = append(f.Already, name)
	default:
		if err := e.guard(ctx, v.Value.(*hujson.Object), at[len(at)-1], s, g); err != nil {
			f.Left = append(f.Left, Left{name, err.Error()})
			return
		}
		f.Guarded = append(f.Guarded, name)
		f.entries, f.secrets = append(f.entries, original{at, before}), append(f.secrets, e.secrets...)
	}
}

// guard changes the object of an entry so that its client starts the proxy.
func (e entry) guard(ctx context.Context, o *hujson.Object, name string, s style, g Guard) error {
	if e.address == "" {
		return guardCommand(o, name, g)
	}
	headers, err := e.check(ctx, g)
	if err != nil {
		return err
	}
	m := find(o, e.addressName)
	if len(headers) > 0 {
		if find(o, s.env) != nil || find(o, "headers") == nil {
			return errors.New("has headers in a form that is not known; write fairlead proxy --header by hand")
		}
		h := find(o, "headers")
		h.Name.Value = hujson.String(s.env)
		for i := range h.Value.Value.(*hujson.Object).Members {
			h.Value.Value.(*hujson.Object).Members[i].Name.Value = hujson.String(headers[i].variable)
		}
	}
	for _, kind := range []string{"type", "transport"} {
		if k := find(o, kind); k != nil {
			k.Value.Value = hujson.String(s.stdio)
		}
	}
	words := g.proxy(name, headers, e.address)
	m.Name.Value = hujson.String("command")
	if s.list {
		m.Value.Value = list(append([]string{g.Program}, words...)...)
		return nil
	}
	m.Value.Value = hujson.String(g.Program)
	insertAfter(o, m, "args", list(words...))
	return nil
}

// guardCommand puts the proxy before a command, which is a string, a list, or an object with its path.
func guardCommand(o *hujson.Object, name string, g Guard) error {
	m := find(o, "command")
	words := append(g.proxy(name, nil, ""), "--")
	switch c := m.Value.Value.(type) {
	case *hujson.Array:
		prepend(c, append([]string{g.Program}, words...)...)
		return nil
	case *hujson.Object:
		o, m = c, find(c, "path")
	}
	first := m.Value.Value.(hujson.Literal).String()
	m.Value.Value = hujson.String(g.Program)
	args := find(o, "args")
	if args == nil {
		insertAfter(o, m, "args", list(append(words, first)...))
		return nil
	}
	if a, ok := args.Value.Value.(*hujson.Array); ok {
		prepend(a, append(words, first)...)
		return nil
	}
	return errors.New(`has "args" that are not a list`)
}

// find returns the last member of a name, which counts, nil if there is none.
func find(o *hujson.Object, name string) (found *hujson.ObjectMember) {
	for i := range o.Members {
		if nameOf(&o.Members[i]) == name {
			found = &o.Members[i]
		}
	}
	return found
}

func nameOf(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// list returns a list of strings on one line.
func list(words ...string) *hujson.Array {
	a := new(hujson.Array)
	for i, word := range words {
		e := hujson.Value{Value: hujson.String(word)}
		if i > 0 {
			e.BeforeExtra = hujson.Extra(" ")
		}
		a.Elements = append(a.Elements, e)
	}
	return a
}

// prepend puts words before those of a list, as the first of it is set.
func prepend(a *hujson.Array, words ...string) {
	added := list(words...).Elements
	if len(a.Elements) > 0 {
		before := a.Elements[0].BeforeExtra
		plain := len(bytes.TrimSpace(before)) == 0
		for i := range added {
			if plain && len(before) > 0 {
				added[i].BeforeExtra = before
			}
		}
		if len(before) == 0 {
			a.Elements[0].BeforeExtra = hujson.Extra(" ")
		}
	}
	a.Elements = append(added, a.Elements...)
}

// insertAfter adds a member behind another one, set as that.
func insertAfter(o *hujson.Object, m *hujson.ObjectMember, name string, value hujson.ValueTrimmed) {
	for i := range o.Members {
		if &o.Members[i] != m {
			continue
		}
		added := hujson.ObjectMember{
			Name:  hujson.Value{BeforeExtra: white(m.Name.BeforeExtra), Value: hujson.String(name)},
			Value: hujson.Value{BeforeExtra: white(m.Value.BeforeExtra), Value: value, AfterExtra: m.Value.AfterExtra},
		}
		m.Value.AfterExtra = nil
		if len(added.Name.BeforeExtra) == 0 {
			added.Name.BeforeExtra = added.Value.BeforeExtra
		}
		o.Members = append(o.Members[:i+1], append([]hujson.ObjectMember{added}, o.Members[i+1:]...)...)
		return
	}
}

// white returns the white space at the end of what is before a value, without comments.
func white(extra hujson.Extra) hujson.Extra {
	return bytes.Clone(extra[len(bytes.TrimRight(extra, " \t\r\n")):])
}

// lineEnd returns how the lines of a text end.
func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
