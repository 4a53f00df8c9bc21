package resolution

import (
	"bytes"
	"encoding/json"
)

// Marked reports whether results of a method may have what [Mark] copies.
func Marked(method string) bool {
	return method == "initialize" || method == "server/discover" || method == "tools/list"
}

// Mark returns the result of initialize, server/discover or tools/list with what the SDK drops copied elsewhere.
func Mark(method string, raw json.RawMessage) json.RawMessage {
	if method == "tools/list" {
		return markTools(raw)
	}
	return edit(raw, func(result map[string]any) bool {
		caps, _ := result["capabilities"].(map[string]any)
		tools, _ := caps["tools"].(map[string]any)
		return copyMark(tools, caps, "extensions")
	})
}

func markTools(raw json.RawMessage) json.RawMessage {
	var list map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || json.Unmarshal(list["tools"], &tools) != nil {
		return raw
	}
	changed := false
	for i, tool := range tools {
		tools[i] = edit(tool, func(tool map[string]any) bool { return copyMark(tool, tool, "_meta") })
		changed = changed || !bytes.Equal(tools[i], tool)
	}
	if !changed {
		return raw
	}
	var err error
	if list["tools"], err = json.Marshal(tools); err != nil {
		return raw
	}
	return written(list, raw)
}

func written(v any, raw json.RawMessage) json.RawMessage {
	if out, err := json.Marshal(v); err == nil {
		return out
	}
	return raw
}

// edit returns a JSON object as change leaves it, and anything that it does not change as it is.
func edit(raw json.RawMessage, change func(map[string]any) bool) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var o map[string]any
	if d.Decode(&o) != nil || !change(o) {
		return raw
	}
	return written(o, raw)
}

// copyMark writes the mark, if it is true, to a member of into. It keeps a member that is not an object.
func copyMark(from, into map[string]any, member string) bool {
	holder, ok := into[member].(map[string]any)
	if from[FieldDynamic] != true || !ok && into[member] != nil {
		return false
	}
	if holder == nil {
		holder = make(map[string]any)
		into[member] = holder
	}
	holder[MetaKey] = map[string]any{FieldDynamic: true}
	return true
}
