package postgres

import (
	"context"
	"time"
)

func (s *Store) Sweep(ctx context.Context) error { return s.sweep(ctx) }

func (s *Store) SweepsSoon() bool {
	return time.Until(time.Unix(0, s.swept.Load()).Add(sweepEvery)) <= sweepAgain
}
