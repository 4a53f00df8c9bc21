package redis_test

import (
	"errors"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// During an update, what replicas of an earlier version remember does not answer at one of this version, which leaves it
// there for them. None of this version is where they look, since they could not end it.
func TestApprovalsOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	e, ctx := redistest.New(t), t.Context()
	opened := open(t, e.URL(), redis.Options{Key: key, Timeout: patient})
	s, client := opened.Approvals(), raw(t, e)
	place := opened.RememberAsBefore(ctx, yes("earlier"))
	before := client.HGetAll(ctx, place).Val()
	if len(before) != 1 {
		t.Fatalf("%s has %v", place, before)
	}
	if got := remembered(t, s); got != "" {
		t.Errorf("got %q", got)
	}
	if err := answersBy(ctx, s, "1", "earlier"); !errors.Is(err, approvals.ErrNoEffect) {
		t.Errorf("it answers: %v", err)
	}
	must(t, s.Remember(ctx, yes("now")))
	// Nor does it where somebody moves it to.
	for _, to := range client.Keys(ctx, "fairlead:y:*").Val() {
		if client.Type(ctx, to).Val() == "hash" {
			must(t, client.HSet(ctx, to, "earlier", before["earlier"]).Err())
		} else {
			must(t, client.SAdd(ctx, to, "earlier").Err())
		}
	}
	if got := remembered(t, s); got != "now" {
		t.Errorf("got %q", got)
	}
	if got := client.HGetAll(ctx, place).Val(); len(got) != 1 || got["earlier"] != before["earlier"] {
		t.Errorf("the earlier version finds %v", got)
	}
}
