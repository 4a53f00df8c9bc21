package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

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
