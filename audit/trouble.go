package audit

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A trouble lasts while records are not accepted. It has one line of the log at its begin and one at its end,
// however many calls there are. The zero value has not begun.
type trouble struct {
	on atomic.Bool

	mu          sync.Mutex
	since, last time.Time // of the first record and of the last one
	records     int
}

// calm is how long records have to be accepted for a trouble to be over, so that one that comes and goes does not have
// two lines for each call.
const calm = time.Second

func (t *trouble) fails(ctx context.Context, log *slog.Logger, r *Record, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	if t.records++; t.records > 1 {
		return
	}
	t.since = t.last
	t.on.Store(true)
	log.LogAttrs(ctx, slog.LevelError, "audit: a record was not accepted; there is another line when records are accepted again", slog.String("kind", string(r.Kind)),
		slog.String("server", r.Server), slog.String("tool", r.Tool), slog.String("class", r.Class), slog.String("call", r.Call), slog.Any("err", err))
}

func (t *trouble) over(ctx context.Context, log *slog.Logger) {
	if !t.on.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.records == 0 || time.Since(t.last) < calm {
		return
	}
	log.LogAttrs(ctx, slog.LevelWarn, "audit: records are accepted again", slog.Int("records", t.records), slog.Duration("after", time.Since(t.since)))
	t.records = 0
	t.on.Store(false)
}
