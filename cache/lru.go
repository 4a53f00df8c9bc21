package cache

import (
	"time"

	"github.com/fairlead-go/fairlead/internal/versions"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An entry is a cached result.
type entry struct {
	res     *mcp.CallToolResult
	tool    *middleware.Tool
	names   []EntityKey      // what it is about; none for a list
	since   versions.Version // when it was requested
	at      time.Duration    // when it was returned, by the store's clock
	expires time.Duration    // likewise
	size    int64
	slow    bool // took long to get
}

// valid reports whether an entry may still be used. A write in flight needs no look: it changed the server
// when it began, and no result that is requested before it returns is cached (see Servers.Request).
func (s *shard) valid(e *entry, now time.Duration) bool {
	return now < e.expires && !s.servers.Changed(e.tool.Server, e.names, e.since)
}

func (s *shard) account(e entry, by int) {
	s.bytes += int64(by) * e.size
	if e.slow {
		s.slow += by
	}
}

func (s *shard) full(size int64) bool {
	return s.list.Len() >= s.maxEntries || s.bytes+size > s.maxBytes
}

// lookAt is how many of the oldest entries evict chooses from.
const lookAt = 8

// evict removes one of the oldest entries. It passes over results of slow tools, which take long to get again,
// unless they are more than four fifths of all: then it passes over the others, so that a new read always finds
// a place. The entries that it passes over become the newest. An invalid entry is removed at once, and is not
// reported as evicted.
func (s *shard) evict(now time.Duration) (evicted bool) {
	wantSlow := s.slow*5 > s.list.Len()*4
	for most := min(lookAt, s.list.Len()); ; most-- {
		id, e, _ := s.list.GetOldest()
		if valid := s.valid(&e, now); !valid || e.slow == wantSlow || most == 1 {
			s.list.Remove(id)
			return valid
		}
		s.list.Get(id)
	}
}
