package cache

import (
	"crypto/sha256"

	"github.com/fairlead-go/fairlead/internal/callstate"
)

// maxArguments is the size of arguments above which a call is not worth caching:
// its digest costs more than it saves, and it pins memory.
const maxArguments = 1 << 20

// A digest identifies a read: the same digest means the same request in the same scope to the same tool.
type digest callstate.Identity

func (d digest) key() key { return key(d[:]) }

// A key is the first half of the digest that identifies a read. It is as long as a
// UUID, and a store may hold a million of them.
type key [sha256.Size / 2]byte
