package connect

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// takeOut takes a change out of a text that was changed by others since.
func takeOut(text []byte, c change) ([]byte, error) {
	if strings.EqualFold(filepath.Ext(c.Path), ".toml") {
		return takeOutTOML(text, c)
	}
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	for _, e := range c.Entries {
		v := at(root, e.Place)
		if v == nil {
			continue // the entry is gone
		}
		if now, err := readEntry(bytes.TrimSpace(v.Pack())); err != nil || !now.guarded() {
			continue // somebody has written another one
		}
		before, err := hujson.Parse([]byte(e.Text))
		if err != nil {
			return nil, err
		}
		v.Value = before.Value
	}
	if c.Hooks {
		o := root.Value.(*hujson.Object)
		takeOutHooks(o)
		if c.Backup == "" && (len(o.Members) == 0 || len(o.Members) == 1 && nameOf(&o.Members[0]) == "version") {
			return nil, nil // nothing is left of a file that was not there
		}
	}
	return pack(root, text), nil
}

// at returns the value at a path, nil if there is none.
func at(v *hujson.Value, path []string) *hujson.Value {
	for _, name := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		m := find(o, name)
		if m == nil {
			return nil
		}
		v = &m.Value
	}
	return v
}

// takeOutHooks removes the hooks of fairlead, and the lists and the object that it leaves empty.
func takeOutHooks(o *hujson.Object) {
	all := find(o, "hooks")
	if all == nil {
		return
	}
	events, ok := all.Value.Value.(*hujson.Object)
	if !ok {
		return
	}
	for i := range slices.Backward(events.Members) {
		a, ok := events.Members[i].Value.Value.(*hujson.Array)
		if !ok {
			continue
		}
		there := len(a.Elements)
		for k := indexOfOurs(a); k >= 0; k = indexOfOurs(a) {
			removeElement(a, k)
		}
		if len(a.Elements) == 0 && there > 0 {
			removeMember(events, i)
		}
	}
	if len(events.Members) == 0 {
		removeMember(o, slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return nameOf(&m) == "hooks" }))
	}
}

// removeElement removes an element of a list. The comments before it stay, as they may be about the one before.
func removeElement(a *hujson.Array, i int) {
	comment, end := commentOf(a.Elements[i].BeforeExtra), a.Elements[i].AfterExtra
	a.Elements = slices.Delete(a.Elements, i, i+1)
	switch {
	case i < len(a.Elements):
		a.Elements[i].BeforeExtra = append(comment, a.Elements[i].BeforeExtra...)
		return
	case i > 0:
		a.Elements[i-1].AfterExtra = end
	}
	a.AfterExtra = append(comment, a.AfterExtra...)
}

// removeMember is removeElement for an object.
func removeMember(o *hujson.Object, i int) {
	comment, end := commentOf(o.Members[i].Name.BeforeExtra), o.Members[i].Value.AfterExtra
	o.Members = slices.Delete(o.Members, i, i+1)
	switch {
	case i < len(o.Members):
		o.Members[i].Name.BeforeExtra = append(comment, o.Members[i].Name.BeforeExtra...)
		return
	case i > 0:
		o.Members[i-1].Value.AfterExtra = end
	}
	o.AfterExtra = append(comment, o.AfterExtra...)
}

// commentOf returns what is before a value, without the white space at its end.
func commentOf(extra hujson.Extra) hujson.Extra {
	return bytes.Clone(extra[:len(extra)-len(white(extra))])
}

func takeOutTOML(text []byte, c change) ([]byte, error) {
	body := bytes.TrimPrefix(text, byteOrderMark)
	file, err := decodeTOML(body)
	if err != nil {
		return nil, err
	}
	servers, _ := file[codexServers].(map[string]any)
	values := tomlValues(body)
	var edits []edit
	for _, e := range c.Entries {
		name := e.Place[len(e.Place)-1]
		raw, err := json.Marshal(servers[name])
		if err != nil {
			return nil, err
		}
		if now, err := readEntry(raw); err != nil || !now.guarded() {
			continue
		}
		start, end := tomlSpan(values, name)
		edits = append(edits, edit{start, end, e.Text})
	}
	return append(bytes.Clone(text[:len(text)-len(body)]), apply(body, edits)...), nil
}
