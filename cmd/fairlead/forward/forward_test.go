package forward_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/forward"
)

// record returns the nth record of a call.
func record(n int64, arguments string) audit.Record {
	return audit.Record{
		Time: time.Date(2026, 11, 27, 9, 0, 0, int(n)*1000, time.UTC), Kind: audit.Intent, Run: "r", N: n, Server: "crm", Tool: "delete_customer", Class: "dangerous",
		Arguments: json.RawMessage(arguments), Durable: true,
	}
}

// A place of the test takes what take returns, and remembers it.
type place struct {
	take func(ctx context.Context, copies []forward.Copy) (int, error)

	mu     sync.Mutex
	got    []int64
	closed bool
}

func (p *place) Send(ctx context.Context, copies []forward.Copy) (int, error) {
	n, err := len(copies), error(nil)
	if p.take != nil {
		n, err = p.take(ctx, copies)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range copies[:n] {
		p.got = append(p.got, c.Record.N)
	}
	return n, err
}

func (p *place) Close() error { p.closed = true; return nil }

func (p *place) has() []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got
}

// closes gives a queue a day of the bubble's time to send what it has.
func closes(t *testing.T, q *forward.Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	defer cancel()
	if err := q.Close(ctx); err != nil {
		t.Error(err)
	}
}

// away is the error of a place that cannot be reached.
var away = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// A place that is away delays nothing. Its copies wait, arrive in their order and once, and what becomes of it is reported.
func TestPlaceThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		down, reports := true, []error{}
		p := &place{take: func(_ context.Context, copies []forward.Copy) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return 0, away
			}
			if len(copies) > 3 { // the connection ends in the middle of a batch
				return 3, away
			}
			return len(copies), nil
		}}
		q := forward.New("syslog", p, nil, func(_ context.Context, err error) {
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, err)
		})
		began := time.Now()
		for n := range int64(1000) {
			q.Add(record(n, `{"id":"7"}`))
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("adding waited for %v", took)
		}
		time.Sleep(time.Hour)
		if use := q.Use(); use.Waiting != 1000 || use.Lost != 0 || len(p.has()) != 0 {
			t.Errorf("in the outage: %+v, and %d arrived", use, len(p.has()))
		}
		mu.Lock()
		if n := len(reports); n < 200 || n > 2000 || reports[0] == nil {
			t.Errorf("%d attempts in an hour", n)
		}
		down = false
		mu.Unlock()
		closes(t, q)
		if got := p.has(); len(got) != 1000 || got[0] != 0 || got[999] != 999 {
			t.Errorf("%d copies arrived", len(got))
		}
		for i, n := range p.has() {
			if n != int64(i) {
				t.Fatalf("the copy %d arrived as number %d", n, i)
			}
		}
		if !p.closed || reports[len(reports)-1] != nil {
			t.Errorf("closed: %v; the last report is %v", p.closed, reports[len(reports)-1])
		}
	})
}

// A place that takes nothing for ever costs a bounded amount of memory; what is lost is counted, and the log has one
// line about it.
func TestMemoryOfAQueueIsBounded(t *testing.T) {
	t.Parallel()
	t.Run("B428: a place that never takes anything", func(t *testing.T) { synctest.Test(t, takesNothing) })
}

func takesNothing(t *testing.T) {
	var log bytes.Buffer
	p := &place{take: func(ctx context.Context, _ []forward.Copy) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}}
	q := forward.New("syslog", p, slog.New(slog.NewTextHandler(&log, nil)), func(context.Context, error) {})
	long := `"` + strings.Repeat("x", 64<<10) + `"`
	const added = 1000
	for n := range int64(added) {
		q.Add(record(n, long))
	}
	use := q.Use()
	if use.Bytes > forward.MaxBytes || use.Bytes < forward.MaxBytes/2 || use.Waiting+use.Lost != added || use.Lost == 0 {
		t.Errorf("got %+v", use)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	began := time.Now()
	if err := q.Close(ctx); err != nil || time.Since(began) > 6*time.Second {
		t.Errorf("the end took %v: %v", time.Since(began), err)
	}
	if use := q.Use(); use.Lost != added || use.Bytes != 0 {
		t.Errorf("at the end: %+v", use)
	}
	for line, want := range map[string]int{"copies of records are lost": 1, "the proxy ends before copies of records were sent": 1} {
		if got := strings.Count(log.String(), line); got != want {
			t.Errorf("%d times %q, want %d:\n%s", got, line, want, log.String())
		}
	}
}

// One copy that a place answers and does not take is lost alone; the others arrive.
func TestCopyThatIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, poison := range map[string]int64{"B429: the first is not taken": 0, "B429: one in the middle": 300, "B429: the last": 599} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &place{take: func(_ context.Context, copies []forward.Copy) (int, error) {
					for _, c := range copies {
						if c.Record.N == poison {
							return 0, errors.New("400 Bad Request")
						}
					}
					return len(copies), nil
				}}
				var log bytes.Buffer
				q := forward.New("otlp-logs", p, slog.New(slog.NewTextHandler(&log, nil)), func(context.Context, error) {})
				for n := range int64(600) {
					q.Add(record(n, `{}`))
				}
				closes(t, q)
				if got := p.has(); len(got) != 599 || q.Use().Lost != 1 {
					t.Errorf("%d arrived, and %d are lost", len(got), q.Use().Lost)
				}
				if begins, ends := strings.Count(log.String(), "copies of records are lost;"), strings.Count(log.String(), "no more copies of records are lost"); begins != 1 || ends != 1 && poison < 599 {
					t.Errorf("%d lines at the begin and %d at the end:\n%s", begins, ends, log.String())
				}
			})
		})
	}
}

// A record of a call without texts has no second form.
func TestCopies(t *testing.T) {
	t.Parallel()
	var got []forward.Copy
	p := &place{take: func(_ context.Context, copies []forward.Copy) (int, error) {
		got = append(got, copies...)
		return len(copies), nil
	}}
	q := forward.New("syslog", p, nil, func(context.Context, error) {})
	full := record(1, `{"id":"7"}`)
	full.Result, full.Undo = json.RawMessage(`{"ok":true}`), &audit.Undo{Server: "crm", Tool: "restore_customer"}
	q.Add(full)
	q.Add(record(2, ""))
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("got %d", len(got))
	}
	const long, short = `"n":1,"server":"crm","tool":"delete_customer","class":"dangerous","arguments":{"id":"7"},"result":{"ok":true},"undo":{`, `"n":1,"server":"crm","tool":"delete_customer","class":"dangerous"}`
	if text := string(got[0].Text); !strings.Contains(text, long) || !strings.HasPrefix(text, `{"time":"2026-11-27T09:00:00.000001Z","kind":"intent"`) {
		t.Errorf("got %s", text)
	}
	if text := string(got[0].Short); !strings.HasSuffix(text, short) {
		t.Errorf("got %s", text)
	}
	if got[1].Short != nil {
		t.Errorf("got %s", got[1].Short)
	}
	if r := got[0].Record; r.Arguments != nil || r.Result != nil || r.Undo != nil {
		t.Errorf("the texts are there twice: %+v", r)
	}
}
