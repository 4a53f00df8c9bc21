// Package counterpart finds beside a call other calls of the same server that help a person to decide about it: [Reading]
// shows what is there now, [Preview] tries it without an effect, and [Undo] takes it back. All three read names, schemas
// and classes alone and call nothing. What they cannot find beyond doubt they do not return.
package counterpart

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/bm25"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// paths are the members that name a file, and contents those that have the whole text of it.
var (
	paths    = []string{"path", "file_path", "filePath", "filename", "file", "uri"}
	contents = []string{"content", "contents", "text", "file_text"}
	writes   = []string{"write", "create", "save", "overwrite", "put"}
	reads    = []string{"read", "get", "view", "cat"}
	ofFiles  = []string{"file", "text", "content", "contents"}
)

// A Text is the whole text of a file that a call writes.
type Text struct {
	Path string
	Read middleware.Call // returns what the file has now; judge it, and make it only if it is Safe
	New  string
}

// Reading returns the call that reads the file that a call writes as a whole, of a tool of the same server that is Safe.
func Reading(call middleware.Call, tools []*middleware.Tool) (Text, bool) {
	if verb, _ := verbOf(call.Tool); !slices.Contains(writes, verb) {
		return Text{}, false
	}
	members, ok := strictjson.Members(call.Arguments)
	if !ok || !plain(call.Arguments) {
		return Text{}, false
	}
	at, path := textOf(members, paths)
	_, content := textOf(members, contents)
	if at == "" || path == "" || !slices.ContainsFunc(members, func(m strictjson.Member) bool { return slices.Contains(contents, m.Name) }) {
		return Text{}, false
	}
	var best *middleware.Tool
	for _, t := range tools {
		verb, noun := verbOf(t)
		s := schemaOf(t)
		fits := t.Server == call.Tool.Server && t.Safety() == annotation.Safe && slices.Contains(reads, verb) &&
			!slices.ContainsFunc(noun, func(word string) bool { return !slices.Contains(ofFiles, word) }) && len(noun) > 0
		if !fits || !s.has[at] || slices.ContainsFunc(s.required, func(name string) bool { return name != at }) {
			continue
		}
		if best == nil || slices.Contains(noun, "text") || len(t.Name()) < len(best.Name()) {
			best = t
		}
	}
	if best == nil {
		return Text{}, false
	}
	arguments, err := json.Marshal(map[string]string{at: path})
	if err != nil {
		return Text{}, false
	}
	return Text{Path: path, Read: middleware.Call{Scope: call.Scope, Tool: best, Arguments: arguments}, New: content}, true
}

// triesOnly is the effect of a condition whose argument makes a call a trial, see package infer.
const triesOnly = "only tries"

// Preview returns the call as a trial, and what makes it one: with the switch on, or the value given, that its class has as
// harmless, such as "dry_run: true" and "mode: preview". It is false for a tool without one, for a call that is a trial already,
// and for one with a value that is not known: the trial might be of another deed. Judge the call that is returned,
// and make it only if it is Safe.
func Preview(call middleware.Call) (trial middleware.Call, with string, ok bool) {
	for i := range call.Tool.Annotations.Conditions {
		c := &call.Tool.Annotations.Conditions[i]
		name := strings.TrimPrefix(c.Argument, "/")
		at := slices.IndexFunc(c.Values, func(o annotation.Outcome) bool { return o.Value != false && o.Class == annotation.Safe })
		if c.Effect != triesOnly || at < 0 || strings.ContainsAny(name, "/~*") {
			continue
		}
		var given map[string]json.RawMessage
		if len(call.Arguments) > 0 && (!plain(call.Arguments) || json.Unmarshal(call.Arguments, &given) != nil) || !isDeed(c, given[name]) {
			return call, "", false
		}
		if given == nil {
			given = make(map[string]json.RawMessage)
		}
		value, err := json.Marshal(c.Values[at].Value)
		if err != nil {
			return call, "", false
		}
		given[name] = value
		arguments, err := json.Marshal(given)
		if err != nil {
			return call, "", false
		}
		return middleware.Call{Scope: call.Scope, Tool: call.Tool, Arguments: arguments}, fmt.Sprint(name, ": ", c.Values[at].Value), true
	}
	return call, "", false
}

// isDeed reports whether a value of the argument that makes a call a trial leaves it the deed that is tried: none, a switch
// that is not on, or a text that is known as the deed.
func isDeed(c *annotation.Condition, raw json.RawMessage) bool {
	if raw == nil {
		return true
	}
	if c.Values[0].Value == true {
		return string(raw) != "true"
	}
	var text string
	if json.Unmarshal(raw, &text) != nil || string(raw) == "null" {
		return false
	}
	at := slices.IndexFunc(c.Values, func(o annotation.Outcome) bool { return o.Value == text })
	return at >= 0 && c.Values[at].Class != annotation.Safe
}

// An Inverse is a call that takes another one back, as far as the names of their tools show.
type Inverse struct {
	Tool *middleware.Tool
	// Arguments returns the arguments of the inverse, with the result of the call; false if they cannot be made of it.
	Arguments func(res *mcp.CallToolResult) (json.RawMessage, bool)
}

// Undo returns the call that takes a call back: the same move in the other direction, the opposite verb with the same
// arguments, or the deletion of what the call's result names.
func Undo(call middleware.Call, tools []*middleware.Tool) (Inverse, bool) {
	verb, noun := verbOf(call.Tool)
	if !plain(call.Arguments) {
		return Inverse{}, false
	}
	if verb == "move" || verb == "rename" {
		return moveBack(call)
	}
	for _, t := range tools {
		other, its := verbOf(t)
		if t.Server != call.Tool.Server || t == call.Tool || !slices.Equal(noun, its) {
			continue
		}
		switch {
		case opposite[verb] == other && other != "" || opposite[other] == verb && verb != "":
			if arguments, ok := same(call, t); ok {
				return Inverse{t, func(*mcp.CallToolResult) (json.RawMessage, bool) { return arguments, true }}, true
			}
		case (verb == "create" || verb == "add") && (other == "delete" || other == "remove"):
			if s := schemaOf(t); len(s.required) == 1 {
				name := s.required[0]
				return Inverse{t, func(res *mcp.CallToolResult) (json.RawMessage, bool) {
					if arguments, ok := severalReturned(call, res, name, noun); ok {
						return arguments, true
					}
					return returned(res, name, noun)
				}}, true
			}
		}
	}
	return Inverse{}, false
}

// opposite are pairs of verbs that take each other back.
var opposite = map[string]string{
	"archive": "unarchive", "lock": "unlock", "star": "unstar", "pin": "unpin", "follow": "unfollow", "mute": "unmute", "block": "unblock",
	"assign": "unassign", "subscribe": "unsubscribe", "enable": "disable", "add": "remove", "hide": "unhide", "close": "reopen", "freeze": "unfreeze",
}

// moveBack returns a move in the other direction. A move onto something that was there is not taken back by it.
func moveBack(call middleware.Call) (Inverse, bool) {
	for _, pair := range [][2]string{
		{"source", "destination"}, {"from", "to"}, {"src", "dst"}, {"old_path", "new_path"}, {"oldPath", "newPath"}, {"source_path", "destination_path"},
	} {
		var given map[string]json.RawMessage
		if json.Unmarshal(call.Arguments, &given) != nil || len(given) != 2 || given[pair[0]] == nil || given[pair[1]] == nil {
			continue
		}
		given[pair[0]], given[pair[1]] = given[pair[1]], given[pair[0]]
		arguments, err := json.Marshal(given)
		return Inverse{call.Tool, func(*mcp.CallToolResult) (json.RawMessage, bool) { return arguments, true }}, err == nil
	}
	return Inverse{}, false
}

// same returns the call's arguments for another tool, if that takes each one that the call's tool requires, and requires
// no other one. Otherwise it would do more than take the call back.
func same(call middleware.Call, t *middleware.Tool) (json.RawMessage, bool) {
	own, its := schemaOf(call.Tool), schemaOf(t)
	var given map[string]json.RawMessage
	if json.Unmarshal(call.Arguments, &given) != nil || len(own.required) == 0 {
		return nil, false
	}
	for _, name := range own.required {
		if !its.has[name] || given[name] == nil {
			return nil, false
		}
	}
	for name := range given {
		if !its.has[name] {
			delete(given, name)
		}
	}
	for _, name := range its.required {
		if given[name] == nil {
			return nil, false
		}
	}
	arguments, err := json.Marshal(given)
	return arguments, err == nil
}

// contentOf returns the structured content of a result, or its one text; nil of one that failed.
func contentOf(res *mcp.CallToolResult) json.RawMessage {
	if res == nil || res.IsError {
		return nil
	}
	if res.StructuredContent == nil && len(res.Content) == 1 {
		if text, ok := res.Content[0].(*mcp.TextContent); ok {
			return json.RawMessage(text.Text)
		}
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return nil
	}
	return raw
}

// severalReturned returns the arguments of a deletion of several things: those of the call's list that its result has,
// since others may have been there before. The deletion takes their names, or the same objects under the same member. It
// is false if the result has something that the call has not given.
func severalReturned(call middleware.Call, res *mcp.CallToolResult, name string, noun []string) (json.RawMessage, bool) {
	list, key := strings.Join(noun, "_"), "name"
	if name == list {
		key = ""
	} else if !isNamesOf(name, noun) {
		return nil, false
	}
	given, ok := elements(call.Arguments, list, key)
	raw := contentOf(res)
	made, isList := elements(raw, list, key)
	if !ok || !isList || len(made) == 0 {
		return nil, false
	}
	var all []json.RawMessage
	for _, one := range made {
		at := slices.IndexFunc(given, func(e element) bool { return e.form == one.form })
		if at < 0 {
			return nil, false
		}
		all = append(all, given[at].value)
	}
	arguments, err := json.Marshal(map[string][]json.RawMessage{name: all})
	return arguments, err == nil
}

// isNamesOf reports whether a member has the names of several things, such as entityNames of entities.
func isNamesOf(member string, noun []string) bool {
	var words []string
	for run := range bm25.Runs(member) {
		words = slices.AppendSeq(words, bm25.Parts(run))
	}
	thing, ok := strings.CutSuffix(strings.Join(words, "_"), "_names")
	things := strings.Join(noun, "_")
	y, ends := strings.CutSuffix(thing, "y")
	return ok && (things == thing || things == thing+"s" || things == thing+"es" || ends && things == y+"ies")
}

// An element is one of a list, as an object or as the name that it has, with the form in which two are compared.
type element struct {
	value json.RawMessage
	form  string
}

// elements returns those of a list that is a member of an object, or the whole text.
func elements(raw json.RawMessage, list, key string) (all []element, ok bool) {
	if members, isObject := strictjson.Members(raw); isObject {
		raw = nil
		for _, m := range members {
			if m.Name == list {
				raw = m.Value
			}
		}
	}
	var values []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &values) != nil {
		return nil, false
	}
	for _, v := range values {
		form, err := canonical.AppendObject(nil, v)
		if err != nil {
			return nil, false
		}
		if key == "" {
			all = append(all, element{v, string(form)})
			continue
		}
		members, _ := strictjson.Members(v)
		_, text := textOf(members, []string{key})
		quoted, err := json.Marshal(text)
		if err != nil || text == "" {
			return nil, false
		}
		all = append(all, element{quoted, text})
	}
	return all, true
}

// returned returns the arguments with the identifier that a result has, as structured content or as a text of JSON.
func returned(res *mcp.CallToolResult, name string, noun []string) (json.RawMessage, bool) {
	members, ok := strictjson.Members(contentOf(res))
	if !ok {
		return nil, false
	}
	thing := strings.Join(noun, "_")
	if name != "id" && name != thing+"_id" && name != thing+"Id" {
		return nil, false
	}
	for _, want := range []string{name, "id"} {
		for _, m := range members {
			var id any
			if m.Name != want || json.Unmarshal(m.Value, &id) != nil {
				continue
			}
			if text, isText := id.(string); isText && text == "" {
				continue
			}
			switch id.(type) {
			case string, float64:
				arguments, err := json.Marshal(map[string]json.RawMessage{name: m.Value})
				return arguments, err == nil
			}
		}
	}
	return nil, false
}

// plain reports whether arguments are one object that no two readers read differently.
func plain(arguments json.RawMessage) bool {
	_, err := canonical.AppendObject(nil, arguments)
	return err == nil
}

// verbOf returns the verb that a name begins with, and the rest of its words.
func verbOf(t *middleware.Tool) (verb string, noun []string) {
	var words []string
	for run := range bm25.Runs(t.Name()) {
		words = slices.AppendSeq(words, bm25.Parts(run))
	}
	if len(words) == 0 {
		return "", nil
	}
	return words[0], words[1:]
}

// textOf returns the first of the members with one of the names that is a text.
func textOf(members []strictjson.Member, names []string) (name, text string) {
	for _, name := range names {
		for _, m := range members {
			if m.Name == name && json.Unmarshal(m.Value, &text) == nil {
				return name, text
			}
		}
	}
	return "", ""
}

// A schema is what a tool's arguments may be.
type schema struct {
	has      map[string]bool
	required []string
}

func schemaOf(t *middleware.Tool) (s schema) {
	raw, err := json.Marshal(t.Definition.InputSchema)
	if err != nil {
		return s
	}
	var read struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(raw, &read) != nil {
		return schema{}
	}
	s.has = make(map[string]bool)
	for name := range read.Properties {
		s.has[name] = true
	}
	s.required = read.Required
	return s
}
