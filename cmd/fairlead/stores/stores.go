// Package stores is what the programs take of an engine that replicas share. The
// engines themselves are in modules of their own, whose mains are these programs
// with more in them.
package stores

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// Stores are the options of the rooms that replicas have in common. The zero value
// is a process on its own.
type Stores struct {
	Cache     cache.Remote     // cache.Options.Remote
	Limiter   ratelimit.Shared // ratelimit.Options.Shared
	Approvals approvals.Store  // hitl.Options.Store
	Board     approvals.Board  // inbox.Options.Board
	Close     func() error     // nil where there is nothing to close
}

// Share returns a func that puts the stores into the options of the rooms, for so
// many replicas; none of them is touched where there is no engine. An answer that a
// write gave is nothing for replicas to share.
func (s Stores) Share(replicas int) func(*cache.Options, *ratelimit.Options, *hitl.Options) {
	return func(memory *cache.Options, pace *ratelimit.Options, ask *hitl.Options) {
		if s.Cache != nil {
			memory.Remote, memory.Idempotent = s.Cache, nil
		}
		if s.Limiter != nil {
			pace.Shared, pace.Replicas = s.Limiter, max(replicas, 1)
		}
		if s.Approvals != nil {
			ask.Store = s.Approvals
		}
	}
}

// An Opener connects to the engine at a URL. What stands under one name is shared
// by the programs that give the same: it has to mean the same servers.
type Opener func(ctx context.Context, url, name string, log *slog.Logger) (Stores, error)

// Open opens the stores at a URL, none where that is "". Instead is the program
// that has an engine in it, in case this one has none.
func (open Opener) Open(ctx context.Context, address, name, instead string, log *slog.Logger) (Stores, error) {
	if err := open.Lacks(address, instead); address == "" || err != nil {
		return Stores{}, err
	}
	return open(ctx, address, name, log)
}

// Lacks says which program to use for a URL where this one has no engine in it. The
// URL's password is not said.
func (open Opener) Lacks(address, instead string) error {
	if open != nil || address == "" {
		return nil
	}
	shown := "URL"
	if u, err := url.Parse(address); err == nil {
		shown = u.Redacted()
	}
	return fmt.Errorf("--store needs the program that has Redis in it: go -C contrib/redis run %s --store %s", instead, shown)
}

// End closes what there is to close.
func (s Stores) End() error {
	if s.Close == nil {
		return nil
	}
	return s.Close()
}
