package cache

import (
	"crypto/sha256"
	"time"

	"github.com/fairlead-go/fairlead/internal/versions"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A key is the first half of the digest that identifies a read. It is as long as a
// UUID, and a store may hold a million of them.
type key [sha256.Size / 2]byte

type entry struct {
	res     *mcp.CallToolResult
	tool    *middleware.Tool
	names   []Name           // what it is about; none for a list
	since   versions.Version // when it was requested
	at      time.Duration    // when it was returned, by the store's clock
	expires time.Duration    // likewise
	size    int64
	slow    bool // took long to get
}

type results struct {
	list       *simplelru.LRU[key, entry]
	maxEntries int
	maxBytes   int64
	bytes      int64
	slow       int // entries of slow tools
	servers    *versions.Servers[Name]
}

func newResults(maxEntries int, maxBytes int64, servers *versions.Servers[Name]) *results {
	r := &results{maxEntries: maxEntries, maxBytes: maxBytes, servers: servers}
	r.list, _ = simplelru.NewLRU(maxEntries, func(_ key, e entry) { r.count(e, -1) }) // its one error is a size below 1
	return r
}

// valid reports whether an entry may still be used. A write in flight needs no look: it changed the server
// when it began, and no result that is requested before it returns is cached (see Servers.Request).
func (r *results) valid(e *entry, now time.Duration) bool {
	return now < e.expires && !r.servers.Changed(e.tool.Server, e.names, e.since)
}

func (r *results) count(e entry, by int) {
	r.bytes += int64(by) * e.size
	if e.slow {
		r.slow += by
	}
}

func (r *results) full(size int64) bool {
	return r.list.Len() >= r.maxEntries || r.bytes+size > r.maxBytes
}

// add adds an entry under a key that has none. The caller has made space for it.
func (r *results) add(id key, e entry) {
	r.list.Add(id, e)
	r.count(e, 1)
}

const lookAt = 8

// evict removes one of the oldest entries. It passes over results of slow tools, which take long to get again,
// unless they are more than four fifths of all: then it passes over the others, so that a new read always finds
// a place. The entries that it passes over become the newest. An invalid entry is removed at once, and is not
// reported as evicted.
func (r *results) evict(now time.Duration) (evicted bool) {
	wantSlow := r.slow*5 > r.list.Len()*4
	for most := min(lookAt, r.list.Len()); ; most-- {
		id, e, _ := r.list.GetOldest()
		if valid := r.valid(&e, now); !valid || e.slow == wantSlow || most == 1 {
			r.list.Remove(id)
			return valid
		}
		r.list.Get(id)
	}
}
