package resolution

import "encoding/json"

// marked are the methods whose results say what a server resolves.
var marked = map[string]func(result map[string]json.RawMessage) bool{
	"initialize":      markCapabilities,
	"server/discover": markCapabilities,
	"tools/list":      markTools,
}

// Marked reports whether the results of a method are to be marked.
func Marked(method string) bool { return marked[method] != nil }

// Mark returns the result of initialize, server/discover or tools/list with what the
// SDK drops put where it does not. What is not as expected stays as it is.
func Mark(method string, raw json.RawMessage) json.RawMessage {
	var result map[string]json.RawMessage
	if json.Unmarshal(raw, &result) != nil || result == nil || marked[method] == nil || !marked[method](result) {
		return raw
	}
	out, err := json.Marshal(result)
	if err != nil {
		return raw
	}
	return out
}

func markCapabilities(result map[string]json.RawMessage) bool {
	caps := members(result["capabilities"])
	if caps == nil || !copyMarks(members(caps["tools"]), caps, "extensions") {
		return false
	}
	var err error
	result["capabilities"], err = json.Marshal(caps)
	return err == nil
}

func markTools(result map[string]json.RawMessage) bool {
	var tools []json.RawMessage
	if json.Unmarshal(result["tools"], &tools) != nil {
		return false
	}
	changed := false
	for i, raw := range tools {
		tool := members(raw)
		if tool == nil || !copyMarks(tool, tool, "_meta") {
			continue
		}
		if out, err := json.Marshal(tool); err == nil {
			tools[i], changed = out, true
		}
	}
	if !changed {
		return false
	}
	var err error
	result["tools"], err = json.Marshal(tools)
	return err == nil
}

// copyMarks writes the marks that are true to a member of into. It leaves a member
// alone that is no object.
func copyMarks(from, into map[string]json.RawMessage, member string) bool {
	marks := make(map[string]bool)
	for _, field := range []string{FieldResolve, FieldDynamic} {
		if string(from[field]) == "true" {
			marks[field] = true
		}
	}
	if len(marks) == 0 {
		return false
	}
	holder := members(into[member])
	if holder == nil {
		if _, there := into[member]; there && string(into[member]) != "null" {
			return false
		}
		holder = make(map[string]json.RawMessage)
	}
	var err error
	if holder[MetaKey], err = json.Marshal(marks); err != nil {
		return false
	}
	into[member], err = json.Marshal(holder)
	return err == nil
}

// members returns an object, nil for anything else.
func members(raw json.RawMessage) (o map[string]json.RawMessage) {
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}
