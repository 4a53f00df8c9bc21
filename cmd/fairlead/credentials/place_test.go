package credentials_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials"
	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	goredis "github.com/redis/go-redis/v9"
)

// A kind of place: open returns the same place as another process has it.
type kind struct {
	open func() credentials.Place
	lose func() // ends all locks; nil if only the end of the process does
	dump func() string
}

// places returns each kind of place, by its name.
func places(t *testing.T) map[string]func(t *testing.T) kind {
	t.Helper()
	return map[string]func(t *testing.T) kind{
		"folder": func(t *testing.T) kind {
			t.Helper()
			dir := filepath.Join(t.TempDir(), "kept")
			return kind{open: func() credentials.Place { return credentials.Folder(dir) }}
		},
		"Redis": func(t *testing.T) kind {
			t.Helper()
			server := redistest.New(t)
			to, err := goredis.ParseURL(server.URL())
			if err != nil {
				t.Fatal(err)
			}
			raw := goredis.NewClient(to)
			t.Cleanup(func() { _ = raw.Close() })
			return kind{
				open: func() credentials.Place {
					s, err := redis.Open(t.Context(), server.URL(), redis.Options{Key: bytes.Repeat([]byte{3}, 32), Timeout: time.Minute})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = s.Close() })
					return credentials.Shared(s.Credentials())
				},
				lose: func() {
					if err := raw.Eval(t.Context(), `return redis.call('DEL', unpack(redis.call('KEYS', '*:cl:*')))`, nil).Err(); err != nil {
						t.Fatal(err)
					}
				},
				dump: func() string {
					text, err := raw.Eval(t.Context(), `local all = '' for _, key in ipairs(redis.call('KEYS', '*:c:*')) do all = all .. key .. redis.call('GET', key) end return all`, nil).Text()
					if err != nil {
						t.Fatal(err)
					}
					return text
				},
			}
		},
		"PostgreSQL": func(t *testing.T) kind {
			t.Helper()
			db := postgrestest.New(t)
			psql := func(statement string) string {
				out, err := db.Command("psql", "-h", db.Dir, "-U", "postgres", "-c", statement, "postgres").CombinedOutput()
				if err != nil {
					t.Fatalf("%v %s", err, out)
				}
				return string(out)
			}
			return kind{
				open: func() credentials.Place {
					s, err := postgres.Open(t.Context(), db.URL(), postgres.Options{Timeout: time.Minute})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(s.Close)
					return credentials.Shared(s.Credentials())
				},
				lose: func() {
					psql(`UPDATE fairlead.credentials SET held = '-infinity', origin = DEFAULT`)
				},
				dump: func() string {
					return psql(`SELECT name, encode(value, 'escape') FROM fairlead.credentials`)
				},
			}
		},
	}
}

// put changes a value by its lock.
func put(ctx context.Context, p credentials.Place, name, value string) error {
	l, err := p.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	if value == "" {
		return l.Remove(ctx)
	}
	return l.Put(ctx, []byte(value))
}

// Each place keeps what one process changes for all, and lets one change a name at a time.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for name, prepare := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := prepare(t)
			one, other := k.open(), k.open()
			ctx := t.Context()
			get := func(name, want string) {
				t.Helper()
				for _, p := range []credentials.Place{one, other} {
					if got, err := p.Get(ctx, name); string(got) != want || err != nil || (got == nil) != (want == "") {
						t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
					}
				}
			}
			const a, b = "a.credential", "b.credential"
			get(a, "")
			for _, step := range []struct{ name, value string }{{a, ""}, {a, "first"}, {b, "of b\nwith\x00lines"}, {a, "second"}} {
				if err := put(ctx, one, step.name, step.value); err != nil {
					t.Fatal(err)
				}
				get(step.name, step.value)
			}
			if all, err := other.All(ctx); err != nil || len(all) != 2 || string(all[a]) != "second" || string(all[b]) != "of b\nwith\x00lines" {
				t.Errorf("got %q, %v", all, err)
			}
			for range 2 {
				if err := put(ctx, other, a, ""); err != nil {
					t.Fatal(err)
				}
				get(a, "")
			}
			get(b, "of b\nwith\x00lines")
			oneAtATime(t, one, other)
			if k.lose != nil {
				lockThatHasEnded(t, one, other, k.lose)
			}
		})
	}
}

// oneAtATime has two processes count one up, in many goroutines.
func oneAtATime(t *testing.T, places ...credentials.Place) {
	t.Helper()
	const name, each = "count.credential", 10
	ctx := t.Context()
	var counting sync.WaitGroup
	for i := range each * len(places) {
		counting.Go(func() {
			p := places[i%len(places)]
			l, err := p.Lock(ctx, name)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = l.Close() }()
			was, err := p.Get(ctx, name)
			n, _ := strconv.Atoi(string(was))
			if err == nil {
				err = l.Put(ctx, []byte(strconv.Itoa(n+1)))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	counting.Wait()
	if got, err := places[0].Get(ctx, name); string(got) != strconv.Itoa(each*len(places)) || err != nil {
		t.Errorf("counted to %s, %v, want %d", got, err, each*len(places))
	}
	held, err := places[0].Lock(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond) // in which a lock that is free would be had
	defer cancel()
	if l, err := places[1].Lock(short, name); err == nil {
		_ = l.Close()
		t.Error("two have the lock")
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}

// lockThatHasEnded has a process that was paused for long change nothing, such as bring back what was removed meanwhile.
func lockThatHasEnded(t *testing.T, one, other credentials.Place, lose func()) {
	t.Helper()
	const name = "late.credential"
	ctx := t.Context()
	late, err := one.Lock(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	lose()
	if err := put(ctx, other, name, "newer"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"put": late.Put(ctx, []byte("older")), "remove": late.Remove(ctx)} {
		if err == nil || !strings.Contains(err.Error(), "the lock of the credential has ended") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := late.Close(); err != nil {
		t.Error(err)
	}
	if got, err := other.Get(ctx, name); string(got) != "newer" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// A user who has signed in at one replica is signed in at each, and a revocation at any ends that at all. What is in the
// store is sealed, and another key opens nothing.
func TestAnyReplicaUsesACredential(t *testing.T) {
	t.Parallel()
	for name, prepare := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, key := prepare(t), bytes.Repeat([]byte{5}, 32)
			store := func(key []byte) *credentials.Store {
				s, err := credentials.NewStore(k.open(), key)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			f := newFixture(t, func(o *credentials.Options) { o.Store = store(key) })
			f.signIn(t, "ann")
			f.signIn(t, "bob")
			other := credentials.New(t.Context(), credentials.Options{Store: store(key), Base: f.page.URL + "/credentials/"})
			for _, user := range []string{"ann", "bob"} {
				a, err := other.Account(user, "crm", f.server.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				check(t, a, f.server, user)
			}
			if k.dump != nil {
				for _, secret := range []string{"ann", "RefreshToken", "refresh_token", "access_token", f.server.URL} {
					if strings.Contains(k.dump(), secret) {
						t.Errorf("%q is in the store as it is", secret)
					}
				}
			}
			if all, err := store(bytes.Repeat([]byte{6}, 32)).List(t.Context()); err == nil || len(all) > 0 {
				t.Errorf("with another key: got %v, %v", all, err)
			}
			if all, err := store(key).List(t.Context()); err != nil || len(all) != 2 || all[0].User != "ann" || all[1].User != "bob" {
				t.Errorf("got %d, %v", len(all), err)
			}
			if found, err := other.Revoke(t.Context(), "ann", f.server.URL); !found || err != nil {
				t.Errorf("got %t, %v", found, err)
			}
			f.pageOf(t, f.account(t, "ann"))
			check(t, f.account(t, "bob"), f.server, "bob")
		})
	}
	if _, err := credentials.NewStore(credentials.Folder(t.TempDir())); err == nil {
		t.Error("a shared store without a key was opened")
	}
}
