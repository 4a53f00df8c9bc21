package proxy

import (
	"encoding/json"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// declaredKey is the member of a tool's _meta with what its server declared, if the proxy annotates.
const declaredKey = "io.github.fairlead-go/declared"

// annotated is a definition with the hints that count here in the place of those that its server declared, which
// stay readable under declaredKey. MCP's four are never less strict than the class: what is dangerous or unknown
// is destructive, whatever makes it so, since MCP has no other hint for it.
func annotated(written json.RawMessage, tool *middleware.Tool) json.RawMessage {
	a, class := tool.Annotations, tool.Safety()
	asks := class.MustConfirm()
	plain := &mcp.ToolAnnotations{
		Title: a.Title, ReadOnlyHint: class == annotation.Safe, DestructiveHint: &asks, IdempotentHint: a.SafeToRetry(),
	}
	if a.OpenWorld != annotation.Unset {
		plain.OpenWorldHint = new(a.OpenWorld == annotation.Yes)
	}
	if asks {
		a.RequiresConfirmation = annotation.Yes
	}
	if class == annotation.Safe {
		a.Freshness = a.Defaults().Freshness
	}
	own := withMember(withMember(encoded(a), "class", class), "evidence", append([]annotation.Evidence{}, a.Evidence...))
	definition := members(written)
	declared := make(map[string]json.RawMessage)
	if said := definition["annotations"]; said != nil {
		declared["annotations"] = said
	}
	if said := member(definition["_meta"], annotation.MetaKey); said != nil {
		declared["_meta"] = said
	}
	meta := withMember(withMember(definition["_meta"], annotation.MetaKey, own), declaredKey, declared)
	definition["annotations"], definition["_meta"] = encoded(plain), encoded(meta)
	return encoded(definition)
}
