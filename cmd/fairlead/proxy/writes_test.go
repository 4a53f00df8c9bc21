package proxy_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
)

// writes opens the writes of a folder as another process does.
func writes(t testing.TB, folder string) *proxy.Writes {
	t.Helper()
	w, err := proxy.OpenWrites(folder, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// The file of writes stays short, and no write is lost when it is replaced: neither for a process that has the old file
// open, nor by one.
func TestFileOfWritesIsReplaced(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a, b, idle := writes(t, folder), writes(t, folder), writes(t, folder)
	replaced := 0
	for i := range 3 * proxy.MaxWrites {
		a.Mark()
		if first, second := b.Others(), b.Others(); !first || second {
			t.Fatalf("write %d: another process reads %v and then %v, want true and false", i, first, second)
		}
		info, err := os.Stat(filepath.Join(folder, "writes"))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > proxy.MaxWrites {
			t.Fatalf("write %d: the file has %d bytes", i, info.Size())
		}
		if info.Size() == 0 {
			replaced++
		}
	}
	if replaced != 3 {
		t.Errorf("the file was replaced %d times, want 3", replaced)
	}
	fresh := writes(t, folder)
	idle.Mark() // it has the first file open
	if !fresh.Others() || !b.Others() || !a.Others() {
		t.Error("the write of a process that had an old file open was not read by all")
	}
	if !idle.Others() {
		t.Error("what was written before by others was not read by the process that had an old file open")
	}
	for _, w := range []*proxy.Writes{a, b, idle, fresh} {
		if w.Others() {
			t.Error("a write was read twice")
		}
	}
	if fresh.Mark(); fresh.Others() {
		t.Error("a write of its own counts as another's")
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// A process that has the file open sees that it was removed.
func TestFileOfWritesIsRemoved(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a, b := writes(t, folder), writes(t, folder)
	if err := os.Remove(filepath.Join(folder, "writes")); err != nil {
		t.Fatal(err)
	}
	if first, second := b.Others(), b.Others(); !first || second {
		t.Errorf("after the removal: %v and then %v, want true and false", first, second)
	}
	if a.Mark(); !b.Others() {
		t.Error("a write after the removal was lost")
	}
}

// Each write of many processes at once is read by a process that looks after it.
func TestFileOfWritesOfManyProcesses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		mine, reader := writes(t, folder), writes(t, folder)
		all.Go(func() {
			for i := range proxy.MaxWrites {
				if mine.Mark(); !reader.Others() {
					t.Errorf("write %d was not read", i)
					return
				}
			}
		})
	}
	all.Wait()
}

// A call that was refused or denied is not announced. One that may have happened is announced when it begins and
// when it has ended, and one that its server has turned away when it begins.
func TestOnlyWhatMayHaveHappenedIsAnnounced(t *testing.T) {
	t.Parallel()
	nobody := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{}, errors.New("nobody is there")
	})
	for name, tt := range map[string]struct {
		policy string
		by     hitl.Confirmer
		status int // of the answer to the call; 0 for its result
		want   int64
	}{
		"made":                 {want: 2},
		"denied by a person":   {by: approve(false)},
		"not decided":          {by: nobody},
		"denied by the policy": {policy: `{"rules": [{"tool": "*/delete_thing", "decide": "deny"}]}`},
		"turned away":          {status: http.StatusUnsupportedMediaType, want: 1},
		"of unknown outcome":   {status: http.StatusInternalServerError, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, u := t.TempDir(), newUpstream(t, http.StatusNotFound)
			u.hooked(func(w http.ResponseWriter, m upMessage) bool {
				fails := m.Method == "tools/call" && tt.status != 0
				if fails {
					w.WriteHeader(tt.status)
				}
				return fails
			})
			o := proxy.Options{Confirm: approve(true), Writes: writes(t, folder)}
			if tt.by != nil {
				o.Confirm = tt.by
			}
			if tt.policy != "" {
				o.Policy = decided(t, tt.policy)
			}
			got := u.client(t, o).call(deleteOne)
			info, err := os.Stat(filepath.Join(folder, "writes"))
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() != tt.want {
				t.Errorf("%d announcements, want %d: %s", info.Size(), tt.want, got)
			}
		})
	}
}

func BenchmarkWrites(b *testing.B) {
	folder := b.TempDir()
	mine := writes(b, folder)
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			mine.Others()
		}
	})
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			mine.Mark()
		}
	})
}
