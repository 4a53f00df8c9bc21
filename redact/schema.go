package redact

import (
	"encoding/json"

	"github.com/fairlead-go/fairlead/internal/schema"
)

// shapeOf returns what a schema states about a value, nil where it states nothing. A
// schema comes from a server: what it states can only take more out.
func shapeOf(root any) *schema.Shape {
	root = decoded(root)
	return schema.NewShape(root, root, true)
}

// resultShape is shapeOf for a result whose structured content has the schema.
func resultShape(root any) *schema.Shape {
	root = decoded(root)
	return schema.NewShape(root, map[string]any{"properties": map[string]any{
		"structuredContent": root,
		"content":           map[string]any{"items": map[string]any{"properties": map[string]any{"text": map[string]any{"contentSchema": root}}}},
	}}, true)
}

// decoded returns a schema as JSON decodes it, nil for one that is not JSON.
func decoded(root any) (v any) {
	if _, ok := root.(map[string]any); ok {
		return root
	}
	raw, err := json.Marshal(root)
	if err != nil || json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

// isSecretBySchema reports whether a schema states that the value is a secret.
func isSecretBySchema(s map[string]any) bool {
	return s["writeOnly"] == true || s["format"] == "password"
}
