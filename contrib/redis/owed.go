package redis

// A write that has ended may find Redis away. Its end is owed then, and sent by the heartbeat that finds Redis back,
// before this process uses anything cached (see Look and watch).

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fairlead-go/fairlead/cache"
	goredis "github.com/redis/go-redis/v9"
)

// Owed holds the ends of writes that could not be sent to Redis.
type owed struct {
	mu     sync.Mutex
	writes map[string]map[string]cache.Write // by server and ID
}

// add notes the end of a write before it is sent, so that it is owed whatever becomes of it.
func (o *owed) add(w cache.Write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.writes[w.Server]
	if of == nil {
		of = make(map[string]cache.Write)
		o.writes[w.Server] = of
	}
	if len(of) >= mostOwed { // one for all of its server
		w = cache.Write{ID: "all of " + w.Server, Server: w.Server}
	}
	of[w.ID] = w
}

func (o *owed) paid(w cache.Write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.writes[w.Server], w.ID)
	if len(o.writes[w.Server]) == 0 {
		delete(o.writes, w.Server)
	}
}

func (o *owed) has(server string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.writes[server]) > 0
}

func (o *owed) all() (all []cache.Write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, of := range o.writes {
		all = slices.AppendSeq(all, maps.Values(of))
	}
	return all
}

// payOwed sends the owed ends to Redis. It returns an error if Redis does not answer.
func (s *Store) payOwed(ctx context.Context) error {
	return together(ctx, s, s.owed.all(), func(pipe goredis.Pipeliner, w cache.Write) *goredis.Cmd {
		keys, args := remote{s}.ending(w)
		return end.Eval(ctx, pipe, keys, args...)
	}, s.owed.paid)
}

// atOnce is the number of scripts in one round trip.
const atOnce = 256

// together runs a script for each of things and calls did for those that succeeded. It is quick,
// since heartbeats wait for it. It returns an error if Redis does not answer.
func together[T any](ctx context.Context, s *Store, things []T, run func(goredis.Pipeliner, T) *goredis.Cmd, did func(T)) error {
	for some := range slices.Chunk(things, atOnce) {
		within, cancel := context.WithTimeout(ctx, s.timeout)
		pipe, said := s.client.Pipeline(), make([]*goredis.Cmd, len(some))
		for i, thing := range some {
			said[i] = run(pipe, thing)
		}
		_, err := pipe.Exec(within)
		cancel()
		for i, thing := range some {
			if said[i].Err() == nil {
				did(thing)
			}
		}
		if !isAnswer(err) {
			return err
		}
	}
	return nil
}
