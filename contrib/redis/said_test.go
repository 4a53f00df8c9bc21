package redis

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An engine that fails and works in turn gives a line where that begins and one where it ends, and not one a call.
func TestLogOfWhatFailsAndWorksInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		s := said{log: slog.New(slog.NewTextHandler(&text, nil)), last: make(map[string]failing)}
		for range 1000 {
			s.change(t.Context(), "cache", errors.New("OOM command not allowed"))
			s.change(t.Context(), "cache", nil)
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(settled)
		s.change(t.Context(), "cache", nil)
		s.change(t.Context(), "cache", nil)
		down, up := strings.Count(text.String(), "does not work"), strings.Count(text.String(), "works again")
		if down != 1 || up != 1 {
			t.Errorf("%d lines that it does not work and %d that it works again, want one of each:\n%s", down, up, text.String())
		}
	})
}
