package callstate

import (
	"context"
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
//
// What it takes is the form, which takes longer than anything else that budget or cache do with a call. So it is
// computed once if the record of the call is read, and without a record [FormHash] leaves it in the context.
type Identity [sha256.Size]byte

// IdentityOf returns the identity of a call that has a tool, or an [*ArgumentsError] as [Form] does.
func IdentityOf(ctx context.Context, call *middleware.Call) (Identity, error) {
	if k, ok := Own[*keptIdentity](ctx); ok && k.tool == call.Tool && k.scope == call.Scope && k.arguments == SpellingOf(call.Arguments) {
		return k.identity, nil
	}
	if s := Of(ctx); s.HasRecord() {
		return s.call.identityOf(call)
	}
	identity, _, err := identityOf(call)
	return identity, err
}

// FormHash returns a hash of the form of the call's arguments, which is another in every process, and a context with
// which [IdentityOf] does not read the arguments again unless the call changes. The caller passes the spelling of the
// arguments.
func FormHash(ctx context.Context, call *middleware.Call, arguments Spelling) (context.Context, uint64, error) {
	if s := Of(ctx); s.HasRecord() { // which has the form
		form, err := Form(s, call)
		return ctx, maphash.Bytes(seed, form), err
	}
	identity, hash, err := identityOf(call)
	if err != nil {
		return ctx, 0, err
	}
	k := &keptIdentity{tool: call.Tool, scope: call.Scope, arguments: arguments, identity: identity}
	k.State = derive(ctx, k)
	return &k.State, hash, nil
}

// A keptIdentity is the identity of a call without a record, and what it was computed from.
type keptIdentity struct {
	State // the one that carries it, so that both are one piece

	tool      *middleware.Tool
	scope     string
	arguments Spelling
	identity  Identity
}

// A Spelling tells whether arguments are the bytes that they were, without a copy of them: by where they are, and by a
// hash with a secret seed, for a middleware that writes to what it was given.
type Spelling struct {
	begin  *byte
	length int
	hash   uint64
}

var seed = maphash.MakeSeed()

// SpellingOf returns the spelling of arguments.
func SpellingOf(arguments []byte) Spelling {
	s := Spelling{length: len(arguments), hash: maphash.Bytes(seed, arguments)}
	if len(arguments) > 0 {
		s.begin = &arguments[0]
	}
	return s
}

// Hash returns the same for the same bytes, wherever they are. It differs from process to process.
func (s Spelling) Hash() uint64 { return s.hash }

// identityOf returns the identity of a call, and the hash of the form.
func identityOf(call *middleware.Call) (identity Identity, hash uint64, err error) {
	Observe("form")
	room := rooms.Get().(*[]byte)
	text := appendParts((*room)[:0], call)
	parts := len(text)
	if text, err = canonical.AppendObject(text, call.Arguments); err == nil {
		identity, hash = sha256.Sum256(text), maphash.Bytes(seed, text[parts:])
	} else {
		err = &ArgumentsError{call.Tool, err}
	}
	if *room = text; cap(text) <= maxRoom {
		rooms.Put(room)
	}
	return identity, hash, err
}

func (c *shared) identityOf(call *middleware.Call) (Identity, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := c.formOf(call.Arguments)
	if err != nil {
		return Identity{}, &ArgumentsError{call.Tool, err}
	}
	if !f.identified || f.tool != call.Tool || f.caller != call.Scope {
		var room [1024]byte
		f.identity = sha256.Sum256(append(appendParts(room[:0], call), f.form...))
		f.identified, f.tool, f.caller = true, call.Tool, call.Scope
	}
	return f.identity, nil
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
