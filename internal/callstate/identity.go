package callstate

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

// An Identity is what two calls have in common that ask the same: scope, server, tool and its definition, and the
// canonical form of the arguments, however they are written. It is a SHA-256. Names have their length before them and
// the definition's digest has one length, so that no two lists of parts give the same text.
type Identity [sha256.Size]byte

// maxKept is how long a form may be that is kept beside the identity. Most calls need a form for nothing else, and it
// takes less time to compute a long one again than to keep it each time.
const maxKept = 512

// identify computes the identity, and the form if there is none, in a text that is used again. The lock is held.
func (c *Call) identify(call *middleware.Call) {
	f, room := c.facts, rooms.Get().(*[]byte)
	text := appendParts((*room)[:0], call)
	parts := len(text)
	if f.formed {
		text = append(text, f.form...)
	} else {
		Observe("form")
		text, f.err = canonical.AppendObject(text, call.Arguments)
		if form := text[parts:]; f.err == nil && len(form) <= maxKept {
			f.form, f.formed = append(f.room[:0], form...), true
		}
	}
	f.identity, f.hash = sha256.Sum256(text), maphash.Bytes(seed, text[parts:])
	if *room = text; cap(text) <= maxRoom {
		rooms.Put(room)
	}
}

// appendParts appends what comes before the form in the text of an identity.
func appendParts(text []byte, call *middleware.Call) []byte {
	for _, part := range [...]string{call.Scope, call.Tool.Server, call.Tool.Name()} {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	return append(text, call.Tool.Digest[:]...)
}

// rooms are for texts that are hashed.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// maxRoom keeps one long text from pinning its room.
const maxRoom = 4 << 20
