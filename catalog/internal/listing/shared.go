package listing

import (
	"bytes"
	"reflect"

	"github.com/fairlead-go/fairlead/internal/intern"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A digest is over the whole definition, and a tool has a private copy that is decoded from what the digest is over. So two
// of one digest are equal, and both are read-only.
var definitions intern.Set[middleware.Digest, mcp.Tool]

// shared returns the definition that the process has already with a digest, or else this one, which it then has for as
// long as a catalog uses it.
func shared(d middleware.Digest, definition *mcp.Tool) *mcp.Tool {
	return definitions.Share(d, definition, func(_, _ *mcp.Tool) bool { return true })
}

// A toolOf names a tool of a server by its definition.
type toolOf struct {
	server string
	digest middleware.Digest
}

var listed intern.Set[toolOf, Definition]

// share returns what the process has already of the tool, if that is equal in all that was read and inferred of it.
func (d *Definition) share() *Definition {
	return listed.Share(toolOf{d.Tool.Server, d.Tool.Digest}, d, (*Definition).Same)
}

// Same reports whether another definition is equal in all that was read and inferred of it.
func (d *Definition) Same(other *Definition) bool {
	return d == other || d.Tool.Server == other.Tool.Server && d.Tool.Digest == other.Tool.Digest && d.Fault == other.Fault &&
		d.Unchecked == other.Unchecked && bytes.Equal(d.Form, other.Form) &&
		reflect.DeepEqual(d.Declared, other.Declared) && reflect.DeepEqual(d.Inferred, other.Inferred)
}
