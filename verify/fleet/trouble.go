//go:build unix

package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	goredis "github.com/redis/go-redis/v9"
)

// A Trouble is something that happens to an engine in the middle.
type Trouble struct {
	Name   string
	Do     func(*redistest.Server) error
	Bursts int // beyond the quota that are allowed: one for each loss of data that no replica can notice
}

func pause(e *redistest.Server, d time.Duration) error {
	if err := e.Pause(); err != nil {
		return err
	}
	time.Sleep(d)
	return e.Resume()
}

func tell(e *redistest.Server, command ...any) error {
	o, err := goredis.ParseURL(e.URL())
	if err != nil {
		return err
	}
	c := goredis.NewClient(o)
	return errors.Join(c.Do(context.Background(), command...).Err(), c.Close())
}

// Troubles are all troubles.
var Troubles = []Trouble{
	{Name: "nothing"},
	{Name: "killed, back after 1.5 s", Do: func(e *redistest.Server) error {
		e.Kill()
		time.Sleep(1500 * time.Millisecond)
		return e.Start()
	}},
	{Name: "paused for 0.4 s", Do: func(e *redistest.Server) error { return pause(e, 400*time.Millisecond) }},
	{Name: "paused for 2 s", Do: func(e *redistest.Server) error { return pause(e, 2*time.Second) }},
	{Name: "flushed, three times", Do: func(e *redistest.Server) error {
		for range 3 {
			if err := tell(e, "FLUSHALL"); err != nil {
				return err
			}
			time.Sleep(200 * time.Millisecond)
		}
		return nil
	}, Bursts: 3},
	{Name: "full for 1.5 s", Do: func(e *redistest.Server) error {
		if err := tell(e, "CONFIG", "SET", "maxmemory", "1"); err != nil {
			return err
		}
		time.Sleep(1500 * time.Millisecond)
		return tell(e, "CONFIG", "SET", "maxmemory", "0")
	}},
	{Name: "restarted with what it knew 0.5 s before", Do: func(e *redistest.Server) error {
		if err := tell(e, "SAVE"); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond)
		e.Kill()
		return e.Start()
	}},
}
