package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// A revoked approval does not come back with an earlier snapshot, nor with a copy that lacks the
// revocation.
func TestRevokedApprovalStaysRevoked(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	s := open(t, e.URL(), redis.Options{Key: key, Timeout: patient}).Approvals()
	y := approvals.Standing{
		ID: "Y", Scope: "ann", Server: "bank", Tool: "pay", Definition: "d", Class: "dangerous", Arguments: "{}",
		Until: time.Now().Add(time.Hour),
	}
	must(t, s.Remember(t.Context(), y))
	if got, err := s.Remembered(t.Context(), "ann", "bank", "pay"); err != nil || len(got) != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
	must(t, raw(t, e).Save(t.Context()).Err())
	must(t, s.Forget(t.Context(), "ann", "Y"))
	e.Kill()
	must(t, e.Start())
	if raw(t, e).DBSize(t.Context()).Val() == 0 {
		t.Fatal("nothing was put back")
	}
	eventually(t, "it does not answer", func() bool {
		got, err := s.Remembered(t.Context(), "ann", "bank", "pay")
		if len(got) > 0 {
			t.Fatalf("it is back: %v", got)
		}
		return err == nil
	})
	must(t, s.Remember(t.Context(), y))
	if got, err := s.Remembered(t.Context(), "ann", "bank", "pay"); err != nil || len(got) != 1 {
		t.Errorf("asked again: got %v, %v", got, err)
	}
}

// A replica with another key does not take the others' questions down.
func TestQuestionsOfAnotherHostStay(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	ours := open(t, e.URL(), redis.Options{Key: key, Timeout: patient}).Board()
	theirs := stranger(t, e).Board()
	must(t, ours.Post(t.Context(), approvals.Notice{ID: "Q", Until: time.Now().Add(time.Minute), Question: []byte("may I?")}))
	for _, c := range []struct {
		who   string
		board approvals.Board
		want  int
	}{{"another host", theirs, 0}, {"the host", ours, 1}} {
		if got, err := c.board.Open(t.Context()); err != nil || len(got) != c.want {
			t.Errorf("%s is shown %v, %v; want %d", c.who, got, err, c.want)
		}
	}
}

// The time of a question is Redis' affair, whatever the clocks say.
func TestQuestionsWithAnotherClock(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	b := open(t, e.URL(), redis.Options{Key: key, Timeout: patient}).Board()
	must(t, b.Post(t.Context(), approvals.Notice{ID: "Q", Until: time.Now().Add(time.Minute), Question: []byte("may I?")}))
	client := raw(t, e)
	keys := client.Keys(t.Context(), "fairlead:q:*").Val()
	for _, behind := range []time.Duration{time.Hour, -time.Hour} { // Redis' clock, when it was posted
		must(t, client.HSet(t.Context(), keys[0], "until", fmt.Sprint(time.Now().Add(time.Minute-behind).UnixMilli())).Err())
		if got, err := b.Open(t.Context()); err != nil || len(got) != 1 || time.Until(got[0].Until) > time.Minute || time.Until(got[0].Until) < 30*time.Second {
			t.Errorf("%v behind: it is shown %v, %v", behind, got, err)
		}
	}
}
