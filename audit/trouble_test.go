package audit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A sink that fails for a thousand calls has a line of the log at the begin and one at the end, also if single records are
// accepted meanwhile; the next trouble has lines of its own.
func TestTroubleOfASinkHasTwoLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		fails, n := true, 0
		trail := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error {
			if n++; fails && n%10 != 0 {
				return errors.New("no space left on device")
			}
			return nil
		}), audit.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))})
		caller := trail.Record(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		}))
		calls := func(number int, apart time.Duration) {
			for range number {
				if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "read", annotation.ReadOnly())}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(apart)
			}
		}
		for range 2 {
			fails = true
			calls(1000, 10*time.Millisecond)
			fails = false
			calls(300, 10*time.Millisecond)
		}
		var levels []string
		for line := range strings.Lines(log.String()) {
			levels = append(levels, strings.Fields(line)[1])
		}
		if got := strings.Join(levels, " "); got != "level=ERROR level=WARN level=ERROR level=WARN" {
			t.Errorf("the log has %d lines:\n%.2000s", len(levels), log.String())
		}
		if first, _, _ := strings.Cut(log.String(), "\n"); !strings.Contains(first, "no space left on device") || !strings.Contains(first, "tool=read") {
			t.Errorf("the first line is %s", first)
		}
	})
}
