package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
)

// maxArguments is the size of arguments above which a call is not worth
// remembering: finding it again costs more than it saves, and it pins memory.
const maxArguments = 1 << 20

// maxPooled keeps no more than what the largest arguments take.
const maxPooled = 4 << 20

// A key identifies a read: the same key means the same question of the same
// person to the same tool.
type key [sha256.Size]byte

var keyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// keyOf hashes scope, server, name, definition and canonical arguments, the first
// three with their lengths, so that no two questions give the same text.
func keyOf(call *middleware.Call) (key, error) {
	buffer := keyBuffers.Get().(*[]byte)
	b := (*buffer)[:0]
	for _, part := range [...]string{call.Scope, call.Tool.Server, call.Tool.Name()} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	b = append(b, call.Tool.Digest[:]...)
	b, err := canonical.AppendObject(b, call.Arguments)
	id := key(sha256.Sum256(b))
	if *buffer = b; cap(b) <= maxPooled {
		keyBuffers.Put(buffer)
	}
	return id, session.ArgumentsError(*call, err)
}
