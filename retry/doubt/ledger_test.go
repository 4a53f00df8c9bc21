package doubt_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/retry/doubt"
)

// A call of an earlier process is in doubt by what its record has of it.
func TestAddedCalls(t *testing.T) {
	l := doubt.NewLedger(doubt.LedgerOptions{})
	l.Add(doubt.Call{Server: "shop", Tool: "send_payment", Time: time.Now().Add(-time.Minute), Arguments: json.RawMessage(`{"amount":5,"token":"[redacted]"}`)})
	l.Add(doubt.Call{Server: "shop", Tool: "create_order", Time: time.Now()})
	w := newWorld(t, doubt.Options{Ledger: l}, hitl.Options{})
	if err := w.call("send_payment", `{"amount":6,"token":"x7Gf0aKq92LmZ"}`); err != nil {
		t.Error(err)
	}
	if err := w.call("send_payment", `{"token":"x7Gf0aKq92LmZ","amount":5}`); !errors.Is(err, doubt.ErrHeld) {
		t.Error(err)
	}
	if err := w.call("create_order", `{"any":1}`); !errors.Is(err, doubt.ErrHeld) {
		t.Error(err)
	}
	w.want(1, 1, 2)
}

// The ledger is bounded in number and time, and logs what it forgets.
func TestLedgerForgetsAndLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		w := newWorld(t, doubt.Options{Ledger: doubt.NewLedger(doubt.LedgerOptions{Max: 2, Lifetime: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil))})}, hitl.Options{})
		for _, arguments := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
			w.loses()
			_ = w.call("create_order", arguments)
			time.Sleep(time.Minute)
		}
		if w.want(3, 0, 2); !strings.Contains(log.String(), "too many are in doubt") {
			t.Errorf("the log has %q", &log)
		}
		time.Sleep(time.Hour)
		if w.want(3, 0, 0); strings.Count(log.String(), "a call expires, and its outcome is still unknown") != 2 {
			t.Errorf("the log has %q", &log)
		}
	})
}

// A scope that fills the ledger drops its own calls, and those of other scopes stay in doubt.
func TestScopeThatFillsTheLedger(t *testing.T) {
	t.Parallel()
	l, now := doubt.NewLedger(doubt.LedgerOptions{}), time.Now()
	l.Add(doubt.Call{ID: "a", Scope: "quiet", Server: "shop", Tool: "create_order", Time: now.Add(-time.Hour)})
	for i := range 1005 {
		l.Add(doubt.Call{ID: strconv.Itoa(i), Scope: "noisy", Server: "shop", Tool: "create_order", Time: now.Add(time.Duration(i) - time.Minute)})
	}
	open := l.Open()
	if len(open) != 1000 || open[0].ID != "a" || open[1].ID != "6" {
		t.Errorf("there are %d, the oldest are %+v", len(open), open[:2])
	}
}
