package listing

import (
	"runtime"
	"sync"
	"weak"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A process may have a catalog for each of many sessions with the same servers, so equal definitions are kept once. A
// digest is over the whole definition, and a tool has a private copy that is decoded from what the digest is over. So two
// of one digest are equal, and nobody writes to either.
var definitions struct {
	mu  sync.Mutex
	all map[middleware.Digest]weak.Pointer[mcp.Tool]
}

// shared returns the definition that the process has already with a digest, or else this one, which it then has for as
// long as a catalog uses it.
func shared(d middleware.Digest, definition *mcp.Tool) *mcp.Tool {
	definitions.mu.Lock()
	defer definitions.mu.Unlock()
	if there := definitions.all[d].Value(); there != nil {
		return there
	}
	if definitions.all == nil {
		definitions.all = make(map[middleware.Digest]weak.Pointer[mcp.Tool])
	}
	definitions.all[d] = weak.Make(definition)
	runtime.AddCleanup(definition, unused, d)
	return definition
}

// unused removes a definition that no catalog has any more.
func unused(d middleware.Digest) {
	definitions.mu.Lock()
	defer definitions.mu.Unlock()
	if definitions.all[d].Value() == nil { // or another one has come meanwhile
		delete(definitions.all, d)
	}
}
