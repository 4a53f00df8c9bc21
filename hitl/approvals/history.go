package approvals

import (
	"context"
	"slices"
	"time"
)

// A History is a [Store] that returns what people have approved lately, so that "always" can be offered after a restart.
// Those of [NewMemory] and [OpenFile] are one; with another store the approvals of this process alone count.
type History interface {
	Store
	// Approved returns the last approvals of calls of a tool that people gave one by one: at most three, oldest first,
	// since the last denial and of the last 30 days. Their Arguments are hashes, as in any Approval.
	Approved(ctx context.Context, scope, server, tool string) ([]Approval, error)
}

// What a book has of a history.
const (
	maxRow     = 3
	maxRows    = 1000 // tools; the one whose last approval is oldest is dropped
	historyAge = 30 * 24 * time.Hour
)

// A given approval is one that a person gave at a time.
type given struct {
	Approval

	at time.Time
}

// A toolKey is the scope, the server and the name of a tool.
type toolKey [3]string

// decided keeps the decision of a person on a call for the history.
func (b *book) decided(a Approval, at time.Time) {
	key := toolKey{a.Scope, a.Server, a.Tool}
	if a.State != Approved {
		delete(b.rows, key)
		return
	}
	row := append(slices.Clone(b.rows[key]), given{a, at})
	b.rows[key] = row[max(0, len(row)-maxRow):]
	if len(b.rows) <= maxRows {
		return
	}
	var oldest toolKey
	for key, row := range b.rows {
		if last := b.rows[oldest]; last == nil || row[len(row)-1].at.Before(last[len(last)-1].at) {
			oldest = key
		}
	}
	delete(b.rows, oldest)
}

// Approved implements [History].
func (b *book) Approved(_ context.Context, scope, server, tool string) (all []Approval, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	release, err := b.lock(false)
	if err != nil {
		return nil, err
	}
	defer release()
	for _, its := range b.rows[toolKey{scope, server, tool}] {
		if time.Since(its.at) < historyAge {
			all = append(all, its.Approval)
		}
	}
	return all, nil
}
