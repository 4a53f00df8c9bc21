package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/retry/doubt"
)

// maxDoubt is the maximum number of entries of one scope and tool; the oldest is dropped for the next.
const maxDoubt = 1000

// told followed by its key is the field of an entry that the model was told about.
const told = "#"

// Doubt returns the store of calls in doubt, for doubt.LedgerOptions.Store. It needs [Options.Key] or [Options.Plain],
// and panics without both. An entry that cannot be opened counts as a call with any arguments. If Redis loses its
// memory, it loses what is in doubt as well.
func (s *Store) Doubt() doubt.Store {
	if !s.seal.allowed() {
		panic("redis: calls in doubt are contents; give Options.Key, or allow plain text with Options.Plain")
	}
	return doubts{s}
}

type doubts struct{ *Store }

var (
	enterDoubt  = strictScript("doubtput")
	tellDoubt   = script("doubttell")
	removeDoubt = script("doubtremove")
)

// keys returns the keys of a scope and a tool: of the entries, and of when each was made.
func (d doubts) keys(scope, server, tool string) []string {
	about := d.seal.name("doubt", scope, server, tool)
	return []string{d.key("d", about), d.key("d", about, "t")}
}

func (d doubts) Put(ctx context.Context, e doubt.Entry) error {
	keys := d.keys(e.Scope, e.Server, e.Tool)
	form, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	sealed, err := d.seal.seal(nil, keys[0]+"/"+e.Key, form)
	if err != nil {
		return err
	}
	marked := 0
	if e.Told {
		marked = 1
	}
	return d.run(ctx, ofDoubt, enterDoubt, keys, e.Key, sealed, e.Time.UnixMicro(), max(time.Until(e.Until).Milliseconds(), 1), maxDoubt, marked).Err()
}

func (d doubts) Find(ctx context.Context, scope, server, tool string) ([]doubt.Entry, error) {
	key := d.keys(scope, server, tool)[0]
	var all map[string]string
	err := d.do(ctx, ofDoubt, key, func(ctx context.Context) (err error) {
		all, err = d.client.HGetAll(ctx, key).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	var found []doubt.Entry
	for name, sealed := range all {
		if strings.HasPrefix(name, told) {
			continue
		}
		var e doubt.Entry
		form, ok := d.seal.open(key+"/"+name, []byte(sealed))
		if !ok || json.Unmarshal(form, &e) != nil || e.Key != name || e.Scope != scope || e.Server != server || e.Tool != tool {
			e = doubt.Entry{Key: name, Call: doubt.Call{Scope: scope, Server: server, Tool: tool}}
		} else if !time.Now().Before(e.Until) {
			if _, err := d.Remove(ctx, e); err != nil {
				return nil, err
			}
			continue
		}
		_, marked := all[told+name]
		e.Told = marked
		found = append(found, e)
	}
	slices.SortFunc(found, func(x, y doubt.Entry) int { return x.Time.Compare(y.Time) })
	return found, nil
}

func (d doubts) Tell(ctx context.Context, e doubt.Entry) (bool, error) {
	return d.run(ctx, ofDoubt, tellDoubt, d.keys(e.Scope, e.Server, e.Tool), e.Key).Bool()
}

func (d doubts) Remove(ctx context.Context, e doubt.Entry) (bool, error) {
	return d.run(ctx, ofDoubt, removeDoubt, d.keys(e.Scope, e.Server, e.Tool), e.Key).Bool()
}
