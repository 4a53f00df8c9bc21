package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// do runs a program of PostgreSQL.
func do(t *testing.T, s *postgrestest.Server, program string, args ...string) {
	t.Helper()
	if out, err := s.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// copied returns a server with a base backup of another, which does not run yet.
func copied(t *testing.T, s *postgrestest.Server) *postgrestest.Server {
	t.Helper()
	other, err := postgrestest.Prepare()
	must(t, err)
	t.Cleanup(other.Remove)
	do(t, other, "pg_basebackup", "-h", s.Dir, "-U", "postgres", "-X", "stream", "-c", "fast", "-D", filepath.Join(other.Dir, "data"))
	return other
}

// recovers starts a copy with one of the files that make a server recover first.
func recovers(t *testing.T, other *postgrestest.Server, signal string) {
	t.Helper()
	for name, text := range map[string]string{signal: "", "postgresql.auto.conf": "restore_command = 'false'\n"} {
		must(t, os.WriteFile(filepath.Join(other.Dir, "data", name), []byte(text), 0o600))
	}
	must(t, other.Start())
}

// A backup of a schema is called before a revocation, and restore, which returns the server to look at, after it.
type backup func(t *testing.T, s *postgrestest.Server, in string) (restore func() *postgrestest.Server)

// Neither a dump nor a recovery brings a revoked approval back, and maintenance ends none.
func TestRevokedApprovalStaysRevoked(t *testing.T) {
	t.Parallel()
	_ = server(t) // without one, all of it is skipped
	dump := func(more ...string) backup {
		return func(t *testing.T, s *postgrestest.Server, in string) func() *postgrestest.Server {
			t.Helper()
			do(t, s, "pg_dump", append([]string{"-h", s.Dir, "-U", "postgres", "-n", in, "-f", filepath.Join(s.Dir, in)}, more...)...)
			return func() *postgrestest.Server {
				do(t, s, "psql", "-q", "-h", s.Dir, "-U", "postgres", "-f", filepath.Join(s.Dir, in))
				return s
			}
		}
	}
	for _, tt := range []struct {
		name   string
		backup backup
		want   string
	}{
		{"maintenance", func(t *testing.T, s *postgrestest.Server, in string) func() *postgrestest.Server {
			t.Helper()
			return func() *postgrestest.Server {
				for _, text := range []string{"VACUUM FREEZE", "VACUUM FULL", "CLUSTER"} {
					execute(t, connect(t, s), text+" "+in+".standing"+strings.Repeat(" USING standing_pkey", strings.Count(text, "CLUSTER")))
				}
				return s
			}
		}, "kept"},
		{"a dump", dump("--clean"), ""},
		{"rows of a dump", dump("--data-only", "--inserts", "--on-conflict-do-nothing", "-T", "*.history"), "kept"},
		{"a dump in another server", func(t *testing.T, s *postgrestest.Server, in string) func() *postgrestest.Server {
			t.Helper()
			do(t, s, "pg_dump", "-Fc", "-h", s.Dir, "-U", "postgres", "-n", in, "-f", filepath.Join(s.Dir, in))
			return func() *postgrestest.Server {
				other := postgrestest.New(t)
				do(t, s, "pg_restore", "-h", other.Dir, "-U", "postgres", "-d", "postgres", filepath.Join(s.Dir, in))
				return other
			}
		}, ""},
		{"a recovery to a point in time", func(t *testing.T, s *postgrestest.Server, in string) func() *postgrestest.Server {
			t.Helper()
			other := copied(t, s)
			return func() *postgrestest.Server {
				recovers(t, other, "recovery.signal")
				eventually(t, "it recovers", func() (over bool) {
					must(t, connect(t, other).QueryRow(t.Context(), "SELECT NOT pg_is_in_recovery()").Scan(&over))
					return over
				})
				return other
			}
		}, ""},
		{"a standby that is promoted", func(t *testing.T, s *postgrestest.Server, in string) func() *postgrestest.Server {
			t.Helper()
			other := copied(t, s)
			return func() *postgrestest.Server {
				recovers(t, other, "standby.signal")
				if _, err := postgres.Open(t.Context(), other.URL(), postgres.Options{Schema: in}); err == nil || !strings.Contains(err.Error(), "is a standby") {
					t.Errorf("before its promotion: %v", err)
				}
				do(t, other, "pg_ctl", "promote", "-w", "-D", filepath.Join(other.Dir, "data"))
				return other
			}
		}, ""},
		// What cannot be noticed, as the documentation reports.
		{"a copy that starts as after a crash", func(t *testing.T, s *postgrestest.Server, in string) func() *postgrestest.Server {
			t.Helper()
			other := copied(t, s)
			return func() *postgrestest.Server {
				must(t, other.Start())
				return other
			}
		}, "kept revoked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, in, ctx := server(t), schema(), t.Context()
			store := open(t, s, postgres.Options{Schema: in})
			must(t, store.Remember(ctx, standing("revoked")))
			must(t, answered(ctx, store, "1", "revoked")) // which writes the row again
			must(t, store.Remember(ctx, standing("kept")))
			must(t, store.Remember(ctx, standing("kept"))) // the same
			restore := tt.backup(t, s, in)
			must(t, store.Forget(ctx, "ann", "revoked"))
			if got := ids(t, store); got != "kept" {
				t.Fatalf("before: got %s", got)
			}
			store.Close()
			s = restore()

			var log bytes.Buffer
			o := postgres.Options{Schema: in, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			for range 2 {
				store = open(t, s, o)
				if got := ids(t, store); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
			if tt.want == "kept revoked" {
				return
			}
			ended := strings.Count(log.String(), "remembered approvals are ended")
			if want := strings.Contains(tt.name, "dump") || tt.want == ""; ended > 1 || want != (ended == 1) {
				t.Errorf("it was logged %d times:\n%s", ended, &log)
			}
			for by, want := range map[string]bool{"revoked": false, "kept": tt.want == "kept"} {
				err := answered(ctx, store, "by "+by, by)
				if (err == nil) != want || err != nil && !errors.Is(err, approvals.ErrNoEffect) {
					t.Errorf("%s answers: %v", by, err)
				}
			}
			must(t, store.Remember(ctx, standing("revoked")))
			if got := ids(t, store); got != strings.TrimSpace(tt.want+" revoked") {
				t.Errorf("asked again: got %q", got)
			}
		})
	}
}

// A process that runs while rows are put back neither shows nor uses them, and logs it once.
func TestRowsPutBackUnderARunningProcess(t *testing.T) {
	t.Parallel()
	s, ctx := server(t), t.Context()
	var log bytes.Buffer
	o := postgres.Options{Schema: schema(), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	store, pool := open(t, s, o), connect(t, s)
	must(t, store.Remember(ctx, standing("1")))
	must(t, store.Add(ctx, approvals.Approval{ID: "a", State: approvals.Pending, Scope: "ann", Until: time.Now().Add(time.Hour)}))
	execute(t, pool, `CREATE TABLE `+o.Schema+`.yesterday AS TABLE `+o.Schema+`.standing`)
	execute(t, pool, `CREATE TABLE `+o.Schema+`.asked AS TABLE `+o.Schema+`.approvals`)
	must(t, store.Forget(ctx, "ann", "1"))
	execute(t, pool, `INSERT INTO `+o.Schema+`.standing TABLE `+o.Schema+`.yesterday`)
	execute(t, pool, `DELETE FROM `+o.Schema+`.approvals; INSERT INTO `+o.Schema+`.approvals TABLE `+o.Schema+`.asked`)
	if err := answered(ctx, store, "2", "1"); !errors.Is(err, approvals.ErrNoEffect) {
		t.Errorf("it answers: %v", err)
	}
	if err := store.Advance(ctx, "a", approvals.Change{To: approvals.Void}); !errors.Is(err, approvals.ErrNoEffect) || !strings.Contains(err.Error(), "not known") {
		t.Errorf("an approval that was put back: %v", err)
	}
	for range 2 {
		if got := ids(t, store); got != "" {
			t.Errorf("got %s", got)
		}
	}
	if n := strings.Count(log.String(), "approvals=1"); n != 1 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("the log is\n%s", &log)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// A row is valid in its own database system, on its own timeline and by its own transaction.
func TestEachPartOfTheOriginCounts(t *testing.T) {
	t.Parallel()
	s, in := server(t), schema()
	store, pool := open(t, s, postgres.Options{Schema: in}), connect(t, s)
	origin := []string{`(pg_control_system()).system_identifier`, `left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)`, `pg_current_xact_id()`}
	for other := range 4 {
		must(t, store.Remember(t.Context(), standing("1")))
		parts := slices.Clone(origin)
		if other < 3 {
			parts[other] = "1"
		}
		execute(t, pool, `UPDATE `+in+`.standing SET origin = concat_ws('/', `+strings.Join(parts, ", ")+`)`)
		if got := ids(t, store); (got == "1") != (other == 3) {
			t.Errorf("with another part %d: got %q", other, got)
		}
	}
}

// What has returned nil is there after the server was killed, and what was revoked stays revoked.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	s, ctx := postgrestest.New(t), t.Context()
	store := open(t, s, postgres.Options{})
	var kept, revoked, approved sync.Map
	var steps atomic.Int64
	enough := make(chan struct{})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprint(w, "-", i)
				if store.Remember(ctx, standing(id)) != nil {
					return
				}
				kept.Store(id, true)
				if i%2 == 0 {
					kept.Delete(id) // it may be revoked although the server is killed
					if store.Forget(ctx, "ann", id) != nil {
						return
					}
					revoked.Store(id, true)
				}
				asked := approvals.Approval{ID: id, State: approvals.Pending, Scope: "ann", Until: time.Now().Add(time.Hour)}
				if store.Add(ctx, asked) != nil || store.Advance(ctx, id, approvals.Change{To: approvals.Approved, Until: asked.Until}) != nil {
					return
				}
				approved.Store(id, true)
				if steps.Add(1) == 200 {
					close(enough)
				}
			}
		})
	}
	<-enough
	s.Kill()
	all.Wait()
	must(t, s.Start())
	var there []approvals.Standing
	eventually(t, "List fails", func() (ok bool) { // as each connection of before does once
		var err error
		there, err = store.List(ctx)
		return err == nil
	})
	has := func(id string) bool {
		return slices.ContainsFunc(there, func(y approvals.Standing) bool { return y.ID == id })
	}
	kept.Range(func(id, _ any) bool {
		if !has(id.(string)) {
			t.Errorf("%s is lost", id)
		}
		return true
	})
	revoked.Range(func(id, _ any) bool {
		if has(id.(string)) {
			t.Errorf("%s is back", id)
		}
		return true
	})
	approved.Range(func(id, _ any) bool {
		must(t, store.Advance(ctx, id.(string), approvals.Change{To: approvals.Spent}))
		return true
	})
	t.Logf("%d steps", steps.Load())
}
