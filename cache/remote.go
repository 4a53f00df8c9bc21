package cache

import (
	"context"
	"crypto/sha256"
	"time"
)

// A Remote is a cache that several replicas of a host share. [NewMemory] returns one
// in this process; storetest tests whether another keeps these promises:
//
//   - A value is found only if nothing that it is about was written to since the
//     look that returned its ticket. Both the begin and the end of a write count,
//     of any replica and in any order.
//   - While a write is in flight, values that it may change are neither found nor kept.
//     If its replica has died, it ends after a while.
//   - Of the callers that look for the same value at one time one leads; the others learn
//     that another does. A leader that has died is replaced.
//   - A value that cannot be read, is foreign or has another format is not found.
//
// It is safe for concurrent use. Each method returns soon after its context is done, which is after
// two seconds at the latest: an error costs a call to the server but does not prevent one. An operation that
// does not return is abandoned; see [Stats].
type Remote interface {
	// Look returns what is cached. A caller that is to lead calls Keep or Drop once.
	Look(ctx context.Context, q Read) (Lookup, error)
	// Keep caches a value that was requested after the look that returned the ticket, and ends the flight.
	Keep(ctx context.Context, q Read, ticket string, value []byte, ttl time.Duration) error
	// Drop ends the flight without a value.
	Drop(ctx context.Context, q Read, ticket string)
	// Begin records that a write is about to be sent.
	Begin(ctx context.Context, w Write) error
	// End records that it has returned. If it fails, the implementation documents how much longer a result that
	// the write may have changed is used. With the ticket the result of the write is kept, for a question with
	// its names that was looked for before it began; "" if another write of what it may change overlapped it.
	End(ctx context.Context, w Write) (ticket string, err error)
}

// An EntityKey is the hash of what names one entity, the same in every process.
type EntityKey [16]byte

// A Read is a call whose result is looked for.
type Read struct {
	Server   string
	ID       [sha256.Size]byte // digest of scope, server, tool, definition and arguments
	Entities []EntityKey       // what it is about; none for a list, which any write invalidates
}

// A Write is a call that may change the entities of its names, or without names the whole server.
type Write struct {
	ID       string // of this write alone
	Server   string
	Entities []EntityKey
	Until    time.Time // when it has ended in any case; zero if that is not known
}

// A Lookup is the result of Look.
type Lookup struct {
	// Value is what was kept; nil if nothing is cached.
	Value []byte
	// Ticket identifies the time of the look; "" if nothing may be kept.
	Ticket string
	// Busy reports that another caller has asked the server: look again soon.
	Busy bool
}
