package proxy

import "sync"

// maxClaims is how many names of one kind a session keeps of one server, such as the addresses of its resources, and
// maxClaimsBytes how long they may be together.
const (
	maxClaims      = 10_000
	maxClaimsBytes = 4 << 20
)

// claims are names that servers have given, with the server that gave each of them first. Of each server the latest are
// kept, up to maxClaims and maxClaimsBytes: further ones take the places of its own oldest, never of another server's.
// The zero value is ready. It is safe for concurrent use.
type claims struct {
	mu    sync.Mutex
	owner map[string]*server
	of    map[*server]*claimed
}

// claimed are the names of one server, the oldest first.
type claimed struct {
	names []string
	bytes int
}

// claim keeps that a name is the server's, unless it is another's already.
func (c *claims) claim(name string, s *server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner[name] != nil || len(name) > maxClaimsBytes {
		return
	}
	if c.owner == nil {
		c.owner, c.of = make(map[string]*server), make(map[*server]*claimed)
	}
	own := c.of[s]
	if own == nil {
		own = new(claimed)
		c.of[s] = own
	}
	c.owner[name] = s
	own.names, own.bytes = append(own.names, name), own.bytes+len(name)
	for len(own.names) > maxClaims || own.bytes > maxClaimsBytes {
		delete(c.owner, own.names[0])
		own.names, own.bytes = own.names[1:], own.bytes-len(own.names[0])
	}
}

// by returns the server of a name, nil if there is none.
func (c *claims) by(name string) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owner[name]
}
