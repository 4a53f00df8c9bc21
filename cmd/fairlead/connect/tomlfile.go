package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/tailscale/hujson"
)

// Codex keeps its servers in TOML. No parser at hand keeps comments, so the places of keys and values are found here, and
// the result is compared with what a parser makes of it: a form that was misread is left alone.

// codexServers is the table with the servers.
const codexServers = "mcp_servers"

// A tomlValue is a key with its value in a text.
type tomlValue struct {
	table, key             []string
	start, valueAt, endsAt int // of the key; of the value, and behind it
}

// editTOML puts the proxy before the servers of Codex.
func (f *File) editTOML(ctx context.Context, g Guard) error {
	text := bytes.TrimPrefix(f.before, byteOrderMark)
	if err := dial.CheckTOML(text); err != nil {
		return err
	}
	file, err := decodeTOML(text)
	if err != nil {
		return err
	}
	servers, _ := file[codexServers].(map[string]any)
	values := tomlValues(text)
	var edits []edit
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		table, ok := servers[name].(map[string]any)
		raw, err := json.Marshal(servers[name])
		if !ok || err != nil {
			f.Left = append(f.Left, Left{name, "is not a table"})
			continue
		}
		e, err := readEntry(raw)
		if err != nil {
			f.Left = append(f.Left, Left{name, err.Error()})
			continue
		}
		if e.guarded() {
			f.Already = append(f.Already, name)
			continue
		}
		at := tomlTable{name: name, text: text, values: values, end: lineEnd(text)}
		wanted, err := at.guard(ctx, e, maps.Clone(table), g)
		if err == nil {
			err = compareTOML(apply(text, at.edits), name, wanted)
		}
		if err != nil {
			f.Left = append(f.Left, Left{name, err.Error()})
			continue
		}
		start, end := tomlSpan(values, name)
		f.entries = append(f.entries, original{[]string{codexServers, name}, string(text[start:end])})
		f.secrets = append(f.secrets, at.secrets...)
		edits, f.Guarded = append(edits, at.edits...), append(f.Guarded, name)
	}
	if len(edits) > 0 {
		f.after = append(bytes.Clone(f.before[:len(f.before)-len(text)]), apply(text, edits)...)
	}
	return nil
}

func decodeTOML(text []byte) (map[string]any, error) {
	var file map[string]any
	if _, err := toml.Decode(string(text), &file); err != nil {
		return nil, fmt.Errorf("it is not valid TOML: %w", err)
	}
	return file, nil
}

// compareTOML returns an error if a text does not have a server as it is wanted.
func compareTOML(text []byte, name string, wanted map[string]any) error {
	file, err := decodeTOML(text)
	if err == nil {
		servers, _ := file[codexServers].(map[string]any)
		if reflect.DeepEqual(servers[name], any(wanted)) {
			return nil
		}
	}
	return errors.New("is written in a form that is not known here; write fairlead proxy before it by hand")
}

// A tomlTable collects the edits of one server.
type tomlTable struct {
	name   string
	text   []byte
	values []tomlValue
	end    string
	edits  []edit

	secrets []string
}

// value returns the value of a key of the server, nil if it has none in the usual form.
func (t *tomlTable) value(key string) *tomlValue {
	for i, v := range t.values {
		if slices.Equal(v.table, []string{codexServers, t.name}) && slices.Equal(v.key, []string{key}) {
			return &t.values[i]
		}
	}
	return nil
}

// guard adds the edits that put the proxy before the server, and returns the table that they make of it.
func (t *tomlTable) guard(ctx context.Context, e entry, table map[string]any, g Guard) (map[string]any, error) {
	if e.address == "" {
		command, args := t.value("command"), t.value("args")
		if command == nil {
			return table, nil // which differs from what was wanted
		}
		words := append(g.proxy(t.name, nil, ""), "--", e.command[0])
		t.replace(command.valueAt, command.endsAt, quote(g.Program))
		switch {
		case args != nil:
			t.replace(args.valueAt+1, args.valueAt+1, prefix(t.text[args.valueAt+1:], words))
		case table["args"] == nil:
			t.replace(command.start, command.start, "args = "+tomlList(words)+t.end)
		}
		return with(table, g.Program, append(words, e.command[1:]...)), nil
	}
	headers, moved, err := t.headers(table)
	if err != nil {
		return nil, err
	}
	if len(headers) == 0 {
		if _, err := e.check(ctx, g); err != nil {
			return nil, err
		}
	}
	words := g.proxy(t.name, headers, e.address)
	url := t.value(e.addressName)
	if url == nil {
		return table, nil
	}
	t.replace(url.start, url.endsAt, "command = "+quote(g.Program)+t.end+"args = "+tomlList(words))
	maps.Copy(table, moved)
	delete(table, e.addressName)
	return with(table, g.Program, words), nil
}

// with returns a table with a command.
func with(table map[string]any, program string, words []string) map[string]any {
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	table["command"], table["args"] = program, args
	return table
}

// headers moves the headers of a server into variables, and returns the new members of its table.
func (t *tomlTable) headers(table map[string]any) (all []header, moved map[string]any, err error) {
	unknown := errors.New("has headers in a form that is not known; write fairlead proxy --header by hand")
	moved = make(map[string]any)
	var variables []any
	written, _ := table["http_headers"].(map[string]any)
	named, _ := table["env_http_headers"].(map[string]any)
	bearer, _ := table["bearer_token_env_var"].(string)
	if len(written) > 0 && table["env"] != nil || (len(named) > 0 || bearer != "") && table["env_vars"] != nil {
		return nil, nil, unknown
	}
	for key := range map[string]bool{"http_headers": len(written) > 0, "env_http_headers": len(named) > 0, "bearer_token_env_var": bearer != ""} {
		if table[key] != nil && t.value(key) == nil {
			return nil, nil, unknown
		}
	}
	if v := t.value("http_headers"); v != nil {
		env, texts := make(map[string]any), []string(nil)
		for i, name := range slices.Sorted(maps.Keys(written)) {
			h := header{name, fmt.Sprintf("FAIRLEAD_HEADER_%d", i+1)}
			value, ok := written[name].(string)
			if !ok {
				return nil, nil, unknown
			}
			all, texts = append(all, h), append(texts, h.variable+" = "+quote(value))
			env[h.variable] = value
			t.secrets = append(t.secrets, value)
		}
		t.replace(v.start, v.endsAt, "env = { "+strings.Join(texts, ", ")+" }")
		moved["env"] = env
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		variable, ok := named[name].(string)
		if !ok {
			return nil, nil, unknown
		}
		all, variables = append(all, header{name, variable}), append(variables, variable)
	}
	if bearer != "" {
		all, variables = append(all, header{"Authorization", "Bearer:" + bearer}), append(variables, bearer)
	}
	for i, key := range []string{"env_http_headers", "bearer_token_env_var"} {
		v := t.value(key)
		if v == nil {
			continue
		}
		text := ""
		if i == 1 || t.value("bearer_token_env_var") == nil {
			words := make([]string, len(variables))
			for i, variable := range variables {
				words[i] = fmt.Sprint(variable)
			}
			text = "env_vars = " + tomlList(words)
			moved["env_vars"] = variables
		}
		t.replace(v.start, v.endsAt, text)
	}
	for _, key := range []string{"http_headers", "env_http_headers", "bearer_token_env_var"} {
		delete(table, key)
	}
	return all, moved, nil
}

func (t *tomlTable) replace(start, end int, text string) {
	t.edits = append(t.edits, edit{start, end, text})
}

// quote returns a string of JSON, which is one of TOML too.
func quote(text string) string { return string(hujson.String(text)) }

func tomlList(words []string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = quote(word)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// prefix returns words to put behind the bracket of a list, set as its first word is.
func prefix(rest []byte, words []string) string {
	white := rest[:len(rest)-len(bytes.TrimLeft(rest, " \t\r\n"))]
	first := bytes.TrimLeft(rest, " \t\r\n")
	var b strings.Builder
	for i, word := range words {
		switch {
		case len(white) > 0:
			b.Write(white)
		case i > 0:
			b.WriteByte(' ')
		}
		b.WriteString(quote(word))
		if i < len(words)-1 || len(first) > 0 && first[0] != ']' {
			b.WriteByte(',')
		}
	}
	if len(white) == 0 && len(first) > 0 && first[0] != ']' {
		b.WriteByte(' ')
	}
	return b.String()
}

// An edit replaces a part of a text.
type edit struct {
	start, end int
	text       string
}

// apply returns a text with edits, none of which overlap.
func apply(text []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, text[at:]...)
}

// tomlSpan returns where the keys of a server are, from the first to the end of the last value.
func tomlSpan(values []tomlValue, name string) (start, end int) {
	start = -1
	for _, v := range values {
		if slices.Equal(v.table, []string{codexServers, name}) {
			if start < 0 {
				start = v.start
			}
			end = v.endsAt
		}
	}
	return max(start, 0), end
}
