package audit

import (
	"context"
	"log/slog"

	"github.com/fairlead-go/fairlead/internal/trouble"
)

// A troubled sink does not accept records. It has one line of the log at the begin and one at the end, however many calls
// there are.
type troubled struct{ trouble.Trouble }

func (t *troubled) fails(ctx context.Context, log *slog.Logger, r *Record, err error) {
	if t.Fails() {
		log.LogAttrs(ctx, slog.LevelError, "audit: a record was not accepted; there is another line when records are accepted again", slog.String("kind", string(r.Kind)),
			slog.String("server", r.Server), slog.String("tool", r.Tool), slog.String("class", r.Class), slog.String("call", r.Call), slog.Any("err", err))
	}
}

func (t *troubled) over(ctx context.Context, log *slog.Logger) {
	if records, after := t.Works(); records > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "audit: records are accepted again", slog.Int("records", records), slog.Duration("after", after))
	}
}
