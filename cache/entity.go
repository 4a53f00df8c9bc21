package cache

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

// maxNames is how many entities one call may name before it counts as one that names none.
const maxNames = 256

// A naming has the members that name what calls are about, by "server/tool".
type naming map[string][]string

func newNaming(given map[string][]string) naming {
	n := make(naming, len(given))
	for tool, members := range given {
		if !strings.Contains(tool, "/") {
			panic("cache: Options.Entities names " + strconv.Quote(tool) + ", which is not server/tool")
		}
		if len(members) == 0 {
			panic("cache: Options.Entities of " + tool + " names no argument; leave the tool out")
		}
		n[tool] = slices.Clone(members)
	}
	return n
}

// of returns the entities that the call names, none if it does not name them all unambiguously:
// arguments that a server could read in two ways name nothing.
func (n naming) of(ctx context.Context, call *middleware.Call) []EntityKey {
	if len(n) == 0 {
		return nil
	}
	members := n[call.Tool.String()]
	if len(members) == 0 {
		return nil
	}
	form, err := callstate.Form(callstate.Of(ctx), call)
	if err != nil {
		return nil
	}
	texts := canonical.Identities(form, members, maxNames)
	names := make([]EntityKey, len(texts))
	for i, text := range texts {
		sum := sha256.Sum256([]byte(text))
		names[i] = EntityKey(sum[:])
	}
	return names
}
