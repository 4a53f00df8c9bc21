package proxy

import (
	"cmp"
	"context"
	"time"

	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// endorsedFor is how long an endorsement is listed if the policy has no other time for the approvals of a session.
const endorsedFor = 8 * time.Hour

// endorsements keep the values that people endorse among the remembered approvals, where they are listed and taken back.
func endorsements(store approvals.Store, lifetime time.Duration) (keep func(context.Context, flow.Endorsement) error, kept func(context.Context, string) ([]string, error)) {
	keep = func(ctx context.Context, e flow.Endorsement) error {
		return store.Remember(ctx, approvals.Standing{
			ID: e.ID, Session: cmp.Or(e.Session, "the only one"), Scope: e.Scope, Server: e.Server, Tool: e.Tool, Definition: e.Digest,
			Value: e.Value, Kind: e.Kind, From: e.From, By: e.By, Since: e.Since, Until: e.Since.Add(lifetime),
		})
	}
	kept = func(ctx context.Context, scope string) (ids []string, err error) {
		all, err := store.Remembered(ctx, scope, "", "")
		for _, s := range all {
			if s.Value != "" {
				ids = append(ids, s.ID)
			}
		}
		return ids, err
	}
	return keep, kept
}
