package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// maxArguments is the size of arguments above which a call is not worth caching:
// its digest costs more than it saves, and it pins memory.
const maxArguments = 1 << 20

// A digest identifies a read: the same digest means the same request in the same scope to the same tool.
type digest [sha256.Size]byte

func (d digest) key() key { return key(d[:]) }

// A key is the first half of the digest that identifies a read. It is as long as a
// UUID, and a store may hold a million of them.
type key [sha256.Size / 2]byte

var keyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// digestOf hashes scope, server, name, definition and canonical arguments, the first
// three with their lengths, so that no two calls hash the same text.
func digestOf(ctx context.Context, call *middleware.Call) (digest, error) {
	buffer := keyBuffers.Get().(*[]byte)
	b := (*buffer)[:0]
	for _, part := range [...]string{call.Scope, call.Tool.Server, call.Tool.Name()} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	b = append(b, call.Tool.Digest[:]...)
	b, err := callstate.AppendForm(b, callstate.Of(ctx), call)
	id := digest(sha256.Sum256(b))
	if *buffer = b; cap(b) <= 4*maxArguments {
		keyBuffers.Put(buffer)
	}
	return id, err
}
