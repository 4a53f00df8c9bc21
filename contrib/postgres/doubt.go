package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/retry/doubt"
)

// maxDoubt is the maximum number of entries of one scope and tool; the oldest is dropped for the next.
const maxDoubt = 1000

// Doubt returns the store of calls in doubt, for doubt.LedgerOptions.Store, in the table doubt. It has hashes of
// arguments, and never their text. A restart, a restore and a promotion remove none; what a backup lacks is lost.
func (s *Store) Doubt() doubt.Store { return doubts{s} }

// place returns a hash of what an entry is found by.
func place(scope, server, tool string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q%q%q", scope, server, tool))
	return hex.EncodeToString(sum[:])
}

type doubts struct{ *Store }

func (d doubts) Put(ctx context.Context, e doubt.Entry) error {
	if d.due() {
		_ = d.sweep(ctx) // what fails is done by a later one
	}
	return d.one(ctx, "doubtput", []any{
		place(e.Scope, e.Server, e.Tool), e.Key, e.Scope, e.Server, e.Tool, e.Time, time.Until(e.Until).Seconds(), e.Told, document{e}, maxDoubt,
	}, new(bool))
}

func (d doubts) Find(ctx context.Context, scope, server, tool string) (found []doubt.Entry, err error) {
	var form []byte
	var told bool
	err = d.query(ctx, "doubtfind", []any{place(scope, server, tool)}, []any{&form, &told}, func() error {
		var e doubt.Entry
		if err := json.Unmarshal(form, &e); err != nil {
			return fmt.Errorf("a call in doubt is damaged: %w", err)
		}
		e.Told = told
		found = append(found, e)
		return nil
	})
	return found, err
}

func (d doubts) Tell(ctx context.Context, e doubt.Entry) (first bool, err error) {
	err = d.one(ctx, "doubttell", []any{place(e.Scope, e.Server, e.Tool), e.Key}, &first)
	return first, err
}

func (d doubts) Remove(ctx context.Context, e doubt.Entry) (was bool, err error) {
	err = d.one(ctx, "doubtremove", []any{place(e.Scope, e.Server, e.Tool), e.Key}, &was)
	return was, err
}
