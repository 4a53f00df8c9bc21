package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

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

// digestOf hashes scope, server, name, definition and the hash of the canonical arguments. The first three have
// their lengths before them and the others have one length, so that no two calls hash the same text.
func digestOf(ctx context.Context, call *middleware.Call) (digest, error) {
	sum, err := callstate.SumOf(ctx, call)
	if err != nil {
		return digest{}, err
	}
	var room [256]byte
	b := room[:0]
	for _, part := range [...]string{call.Scope, call.Tool.Server, call.Tool.Name()} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	b = append(b, call.Tool.Digest[:]...)
	b = append(b, sum[:]...)
	return sha256.Sum256(b), nil
}
