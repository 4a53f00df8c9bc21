package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/fairleadtest/storetest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/jackc/pgx/v5/pgxpool"
)

// shared is the server of the tests that leave it running.
var shared *postgrestest.Server

func TestMain(m *testing.M) {
	flag.Parse()
	s, err := postgrestest.Run()
	if err == nil {
		shared = s
	} else { // which an example cannot report
		_ = flag.Set("test.skip", "^Example")
		fmt.Fprintln(os.Stderr, "SKIPPED, NOT TESTED: the examples:", err)
	}
	code := m.Run()
	if shared != nil {
		shared.Remove()
	}
	os.Exit(code)
}

// server returns the shared server, and skips the test without one.
func server(tb testing.TB) *postgrestest.Server {
	tb.Helper()
	if shared == nil {
		return postgrestest.New(tb)
	}
	return shared
}

// patient is for machines with much else to do.
const patient = 20 * time.Second

func open(tb testing.TB, s *postgrestest.Server, o postgres.Options) *postgres.Store {
	tb.Helper()
	if o.Timeout == 0 {
		o.Timeout = patient
	}
	store, err := postgres.Open(context.Background(), s.URL(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(store.Close)
	return store
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// PostgreSQL keeps the promises that the embedded store keeps.
func TestStores(t *testing.T) {
	t.Parallel()
	s := server(t)
	storetest.Run(t, func(t *testing.T) (_, _ storetest.Stores) {
		t.Helper()
		o := postgres.Options{Schema: `a "schema", ` + schema(), Timeout: patient}
		b, err := postgres.Open(t.Context(), s.URL()+"&default_query_exec_mode=exec", o) // for a pooler without prepared statements
		must(t, err)
		t.Cleanup(b.Close)
		a := open(t, s, o)
		return storetest.Stores{Approvals: a, Doubt: a.Doubt()}, storetest.Stores{Approvals: b, Doubt: b.Doubt()}
	})
}

// names has the schemas of tests.
var names atomic.Int64

func schema() string { return fmt.Sprint("test_", names.Add(1)) }

func standing(id string) approvals.Standing {
	return approvals.Standing{
		ID: id, Scope: "ann", Server: "bank", Tool: "pay", Definition: "d", Class: "dangerous", Arguments: "h", By: "ann",
		Until: time.Now().Add(time.Hour),
	}
}

// ids returns the remembered approvals of ann, as each of the ways to read them does.
func ids(t *testing.T, s *postgres.Store) string {
	t.Helper()
	all, err := s.List(t.Context())
	must(t, err)
	its, err := s.Remembered(t.Context(), "ann", "bank", "pay")
	must(t, err)
	var got []string
	for i := range all {
		if i >= len(its) || its[i].ID != all[i].ID {
			t.Fatalf("List has %v and Remembered %v", all, its)
		}
		got = append(got, all[i].ID)
	}
	slices.Sort(got)
	return strings.Join(got, " ")
}

// Processes that start at once create the tables once. A role that may not create them uses them, and one that has
// its schema needs no privilege on the database.
func TestTablesAreCreatedOnce(t *testing.T) {
	t.Parallel()
	s, o := server(t), postgres.Options{Schema: schema()}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { open(t, s, o) })
	}
	all.Wait()
	pool := connect(t, s)
	role, own := o.Schema, schema()
	execute(t, pool, `CREATE ROLE `+role+` LOGIN; GRANT USAGE ON SCHEMA `+role+` TO `+role+`; CREATE SCHEMA `+own+` AUTHORIZATION `+role+`;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA `+role+` TO `+role)
	for _, o.Schema = range []string{role, own} {
		store, err := postgres.Open(t.Context(), strings.Replace(s.URL(), "//postgres@", "//"+role+"@", 1), o)
		must(t, err)
		must(t, store.Remember(t.Context(), standing("1")))
		must(t, answered(t.Context(), store, "2", "1"))
		if got := ids(t, store); got != "1" {
			t.Errorf("%s: got %s", o.Schema, got)
		}
		store.Close()
	}
}

func connect(tb testing.TB, s *postgrestest.Server) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(context.Background(), s.URL())
	must(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

func execute(tb testing.TB, pool *pgxpool.Pool, sql string) {
	tb.Helper()
	_, err := pool.Exec(context.Background(), sql)
	must(tb, err)
}

// An unusable server is a clear error at the start, without the password.
func TestOpenExplainsItsError(t *testing.T) {
	t.Parallel()
	s := server(t)
	for _, tt := range []struct{ name, url, want string }{
		{"nothing listens there", "postgres://ann:secret@127.0.0.1:1/x", "127.0.0.1:1"},
		{"no URL", "postgres://ann:secret@host:x/y", "an example is postgres://user:password@host:5432/database"},
		{"a wrong database", strings.Replace(s.URL(), "/postgres?", "/none?password=secret&", 1), `database "none" does not exist`},
		{"commits that a crash loses", s.URL() + "&synchronous_commit=off&password=secret", "a crash could lose a revocation"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := postgres.Open(t.Context(), tt.url, postgres.Options{Schema: schema()})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
}

// An operation ends in its time, and with its call.
func TestTimeBoundsAnOperation(t *testing.T) {
	t.Parallel()
	s, o := server(t), postgres.Options{Schema: schema(), Timeout: 200 * time.Millisecond}
	store, pool := open(t, s, postgres.Options{Schema: o.Schema}), connect(t, s)
	short := open(t, s, o)
	must(t, store.Remember(t.Context(), standing("1")))
	tx, err := pool.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM `+o.Schema+`.standing FOR UPDATE`)
	must(t, err)
	if err := short.Forget(t.Context(), "ann", "1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	cause := errors.New("the call has ended")
	ctx, end := context.WithCancelCause(t.Context())
	forgotten := make(chan error, 1)
	go func() { forgotten <- store.Forget(ctx, "ann", "1") }()
	end(cause)
	if err := <-forgotten; !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	must(t, tx.Rollback(t.Context()))
	must(t, store.Forget(t.Context(), "ann", "1"))
}

func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, shared.URL(), postgres.Options{Logger: slog.Default()}) // postgres://user:password@host:5432/database
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	_ = hitl.Options{Store: store, Remember: hitl.Always, AlwaysAtOnce: true}
	all, err := store.List(ctx)
	fmt.Println(len(all), err)
	// Output: 0 <nil>
}

func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, shared.URL()) // the host's, with its own limits and credentials
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	store, err := postgres.New(ctx, pool, postgres.Options{Schema: "agents"})
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := store.List(ctx)
	fmt.Println(len(all), err)
	// Output: 0 <nil>
}
