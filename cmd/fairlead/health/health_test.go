package health_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/health"
)

func get(t *testing.T, m *health.Monitor, path string) (code int, body map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusNotFound {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
	}
	return w.Code, body
}

// A trouble has one line at its begin and one at its end, both at the default level, however often it is met.
func TestTroubleHasTwoLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		m := health.New(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelWarn})))
		full := errors.New("the disk is full")
		var fails atomic.Bool
		m.Add(health.Dependency{Name: "record", Refused: "dangerous calls", Probe: func(context.Context) error {
			if fails.Load() {
				return full
			}
			return nil
		}})
		m.Started()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go m.Watch(ctx)
		for range 9820 {
			m.Report(ctx, "record", full)
		}
		m.Report(ctx, "record", nil) // a use that works now and then is not the end of it
		if got := m.States()[0]; got.Status != health.Away || got.Since == nil || got.Refused != "dangerous calls" {
			t.Errorf("got %+v", got)
		}
		fails.Store(true)
		time.Sleep(time.Minute)
		fails.Store(false)
		time.Sleep(health.Settled + health.Every)
		synctest.Wait()
		if got := m.States()[0]; got.Status != health.OK || got.Since != nil {
			t.Errorf("got %+v", got)
		}
		away, back := strings.Count(text.String(), "a dependency is away"), strings.Count(text.String(), "a dependency is back")
		if away != 1 || back != 1 {
			t.Errorf("%d lines at the begin and %d at the end:\n%s", away, back, text.String())
		}
	})
}

// A server without a probe is away and back by what became of its use.
func TestServerIsBackOnceItAnswers(t *testing.T) {
	m := health.New(nil)
	m.Add(health.Dependency{Name: "server:crm", Server: true})
	m.Started()
	m.Report(t.Context(), "server:crm", errors.New("connection refused"))
	if got := m.Ready(); got != health.Away {
		t.Errorf("got %s", got)
	}
	m.Report(t.Context(), "server:crm", nil)
	if got := m.Ready(); got != health.OK {
		t.Errorf("got %s", got)
	}
	m.Report(t.Context(), "nothing", errors.New("not one of these"))
}

func TestReadiness(t *testing.T) {
	gone := errors.New("gone")
	for name, c := range map[string]struct {
		away   []string
		status string
		code   int
	}{
		"all there":      {nil, health.OK, http.StatusOK},
		"a store away":   {[]string{"redis"}, health.Degraded, http.StatusOK},
		"one server":     {[]string{"server:a"}, health.Degraded, http.StatusOK},
		"all servers":    {[]string{"server:a", "server:b"}, health.Away, http.StatusServiceUnavailable},
		"all but server": {[]string{"redis", "server:a"}, health.Degraded, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			m := health.New(nil)
			for _, d := range []health.Dependency{{Name: "redis", Refused: "approvals"}, {Name: "server:a", Server: true}, {Name: "server:b", Server: true}} {
				m.Add(d)
			}
			if code, body := get(t, m, "/readyz"); code != http.StatusServiceUnavailable || body["status"] != health.Starting {
				t.Errorf("at the start: got %d %v", code, body)
			}
			m.Started()
			for _, d := range c.away {
				m.Report(t.Context(), d, gone)
				if code, body := get(t, m, "/readyz/"+d); code != http.StatusServiceUnavailable || body["status"] != health.Away {
					t.Errorf("%s: got %d %v", d, code, body)
				}
			}
			code, body := get(t, m, "/readyz")
			if code != c.code || body["status"] != c.status || len(body["dependencies"].([]any)) != 3 {
				t.Errorf("got %d %v", code, body)
			}
			if code, _ := get(t, m, "/readyz/other"); code != http.StatusNotFound {
				t.Errorf("another one: got %d", code)
			}
			m.End()
			if code, body := get(t, m, "/readyz"); code != http.StatusServiceUnavailable || body["status"] != health.Ending {
				t.Errorf("at the end: got %d %v", code, body)
			}
		})
	}
}
