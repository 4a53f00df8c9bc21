package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Runs holds the ids of the connected servers. Each start has a new id, and data of an earlier run, or
// of a copy in its place, may be out of date.
type runs struct {
	cluster bool
	mu      sync.Mutex
	at      map[string]string // by the server's own address
	known   atomic.Pointer[map[string]bool]
	back    atomic.Pointer[time.Time] // when Redis was back after an outage, or had started again; nil before the first
}

func newRuns() *runs {
	r := &runs{at: make(map[string]string)}
	r.known.Store(&map[string]bool{})
	return r
}

// met is called for each new connection before anything is sent over it.
func (r *runs) met(ctx context.Context, conn *goredis.Conn) error {
	info, err := conn.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	run, version := field(info, "run_id:", "\n"), field(info, "redis_version:", "\n")
	major, _, _ := strings.Cut(version, ".")
	switch n, err := strconv.Atoi(major); {
	case len(run) < runSize:
		return errors.New("the server at this address is not Redis: its INFO has no run_id")
	case err != nil || n < oldest:
		return fmt.Errorf("it is version %.20q; version %d or later is needed", version, oldest)
	}
	run = run[:runSize] // as much of it as tokens have
	client, err := conn.Do(ctx, "CLIENT", "INFO").Text()
	if err != nil {
		return err
	}
	address := field(client, " laddr=", " ")
	if !r.cluster {
		address = "" // there is one server, wherever it is
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.at[address] {
	case run:
		return nil
	case "":
	default:
		r.again()
	}
	r.at[address] = run
	known := make(map[string]bool, len(r.at))
	for _, run := range r.at {
		known[run] = true
	}
	r.known.Store(&known)
	return nil
}

// again records that Redis is back, or has started again.
func (r *runs) again() { r.back.Store(new(time.Now())) }

// only removes the nodes of a cluster that are no longer masters.
func (r *runs) only(masters map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.at, func(_, run string) bool { return !masters[run] })
	r.known.Store(&masters)
}

// live reports whether a token was made by a server that is connected now.
func (r *runs) live(token string) bool {
	return len(token) > runSize && (*r.known.Load())[token[:runSize]]
}
