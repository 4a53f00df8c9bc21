// Package redis lets replicas of a host share a cache, rate limits, approvals and calls in doubt, in a Redis of
// version 7 or later.
//
// A [Store] serves five options: [Store.Cache] is for cache.Options.Remote, [Store.Limiter] for
// ratelimit.Options.Shared, [Store.Approvals] for hitl.Options.Store, [Store.Board] for inbox.Options.Board and
// [Store.Doubt] for doubt.LedgerOptions.Store. [Store.Sessions] is for servers whose clients have sessions. Redis can only
// take an approval away: the grant is in the process that asked.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	goredis "github.com/redis/go-redis/v9"
)

// Options configures [Open]. The zero value is ready for limits and approvals; the cache, the board
// and calls in doubt are contents and need Key or Plain.
type Options struct {
	// Key is a secret of 32 bytes, the same in every replica. It seals contents (AES-256-GCM), so that
	// Redis' other users can neither read nor write them. nil means none.
	Key []byte
	// OtherKeys are keys whose contents are read too, during a rotation: first all replicas get the new key here,
	// then it becomes the Key of all with the old one here, which goes after the last remembered approval has expired.
	OtherKeys [][]byte
	// NameKey makes names of tenants and servers into hashes; nil means Key. It stays the same when Key changes:
	// set it to the first Key.
	NameKey []byte
	// Plain allows results, arguments and answers in Redis in plain text: any client that can write
	// to Redis can then answer for a person. The default is to store no contents without a Key.
	Plain bool
	// Prefix begins every key; replicas that share have the same. "" means "fairlead".
	Prefix string
	// Timeout bounds one operation, beside the context's deadline. The first writes of an outage wait for it
	// and 1.2 s. Above a second it helps limits and approvals alone, and values are misses. 0 means 250 ms.
	Timeout time.Duration
	// MaxValue is the size in bytes above which a result is not kept; 0 means 1 MiB.
	MaxValue int
	// Logger gets a line when something begins to fail and when it works again; nil is silent.
	Logger *slog.Logger
	// Observe is called after each operation with what it was for ("cache", "limiter", "approvals", "board", "doubt" or
	// "fleet"), how long it took and its error. It must be fast and safe for concurrent use; nil observes nothing.
	Observe func(ctx context.Context, operation string, took time.Duration, err error)
}

const (
	defaultPrefix   = "fairlead"
	defaultTimeout  = 250 * time.Millisecond
	defaultMaxValue = 1 << 20
	keySize         = 32
)

// A Store is a connection to Redis. Make one with [Open], and close it. It is safe for concurrent use.
type Store struct {
	client   goredis.UniversalClient
	beats    goredis.UniversalClient // for heartbeats, so that calls do not hold them up
	prefix   string
	timeout  time.Duration
	maxValue int
	seal     sealer
	contacts *contacts
	runs     *runs
	said     said
	observe  func(ctx context.Context, operation string, took time.Duration, err error)
	owed     owed
	leads    leads
	found    hits
	revoked  *revocations
	approves atomic.Bool // Approvals was called
	servers  sync.Map    // of each server's id, the common part of its keys

	close  func() error
	closed sync.WaitGroup
}

// Open connects to a Redis by its URL: redis://user:password@host:port/db, rediss:// with TLS,
// unix://path, for a cluster the same with further nodes as ?addr=host:port, and for Sentinel the
// sentinels in the same way with ?master_name=NAME. The error names what makes the server unusable:
// another program, a wrong password, a replica, a full memory.
//
// Goroutines watch the connection until [Store.Close]. Open panics on a negative number and on a
// Key of another length.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	to, err := optionsOf(url)
	if err != nil {
		return nil, fmt.Errorf("redis: the URL %s: %w; an example is redis://:password@host:6379/0",
			withoutPassword(url), errors.New(strings.ReplaceAll(err.Error(), url, "")))
	}
	return New(ctx, to, o)
}

// New is [Open] with options of go-redis, such as client certificates, a provider of credentials or
// the password of the sentinels. It sets the timeouts, and turns retries off.
func New(ctx context.Context, to *goredis.UniversalOptions, o Options) (*Store, error) {
	switch {
	case o.Timeout < 0:
		panic("redis: Options.Timeout is negative")
	case o.MaxValue < 0:
		panic("redis: Options.MaxValue is negative")
	case len(o.Key) == 0 && len(o.OtherKeys)+len(o.NameKey) > 0:
		panic("redis: Options.OtherKeys and NameKey need a Key")
	case strings.ContainsAny(o.Prefix, "{}"):
		panic(fmt.Sprintf("redis: Options.Prefix %q has braces, by which a cluster sorts keys", o.Prefix))
	}
	for name, keys := range map[string][][]byte{"Key": {o.Key}, "OtherKeys": o.OtherKeys, "NameKey": {o.NameKey}} {
		for _, key := range keys {
			if len(key) != keySize && (len(key) > 0 || name == "OtherKeys") {
				panic(fmt.Sprintf("redis: Options.%s has %d bytes; a key needs %d, from crypto/rand and the same in every replica", name, len(key), keySize))
			}
		}
	}
	s := &Store{
		prefix:   cmp.Or(o.Prefix, defaultPrefix),
		timeout:  cmp.Or(o.Timeout, defaultTimeout),
		maxValue: cmp.Or(o.MaxValue, defaultMaxValue),
		seal:     newSealer(o),
		contacts: newContacts(cmp.Or(o.Timeout, defaultTimeout)),
		runs:     newRuns(),
		revoked:  newRevocations(),
		owed:     owed{writes: make(map[string]map[string]cache.Write)},
		said:     said{log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), last: make(map[string]failing)},
		observe:  o.Observe,
	}
	if s.observe == nil {
		s.observe = func(context.Context, string, time.Duration, error) {}
	}
	if err := s.connect(ctx, *to); err != nil {
		return nil, fmt.Errorf("redis: %s: %w", strings.Join(to.Addrs, ", "), err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.closed.Go(func() { s.watch(ctx) })
	s.closed.Go(func() { s.watchRevoked(ctx) })
	s.close = sync.OnceValue(func() error {
		stop()
		err := errors.Join(s.client.Close(), s.beats.Close())
		s.closed.Wait()
		return err
	})
	return s, nil
}

// Close ends the connection. Its contents in Redis expire. A second Close does nothing more.
func (s *Store) Close() error { return s.close() }

// A facility is what a line of the log is about.
const (
	ofCache     = "the cache"
	ofLimiter   = "the limiter"
	ofApprovals = "the store of approvals"
	ofBoard     = "the board"
	ofDoubt     = "the store of calls in doubt"
	ofSessions  = "the store of sessions"

	ofCredentials = "the store of credentials" //nolint:gosec // a name
	ofServer      = "Redis"
	ofFleet       = "sharing with the other replicas"
)

// operations are the facilities, as Options.Observe names them.
var operations = map[string]string{
	ofCache: "cache", ofLimiter: "limiter", ofApprovals: "approvals", ofBoard: "board", ofDoubt: "doubt", ofFleet: "fleet",
	ofSessions: "sessions", ofCredentials: "credentials",
}

// do runs one operation at the master of a key, which is an error where that is known to be gone.
func (s *Store) do(ctx context.Context, facility, key string, operation func(context.Context) error) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	began := time.Now()
	defer func() { s.observe(ctx, operations[facility], time.Since(began), err) }()
	if s.contactOf(ctx, key).isDown() {
		return errGone
	}
	within, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.ended(ctx, facility, operation(within))
}

func (s *Store) run(ctx context.Context, facility string, script *goredis.Script, keys []string, args ...any) *goredis.Cmd {
	reply := goredis.NewCmd(ctx)
	err := s.do(ctx, facility, keys[0], func(ctx context.Context) error {
		reply = script.Run(ctx, s.client, keys, args...)
		return reply.Err()
	})
	if err != nil {
		reply.SetErr(err)
	}
	return reply
}

// ended logs and wraps the error of an operation.
func (s *Store) ended(ctx context.Context, facility string, err error) error {
	if err != nil {
		if own := over(ctx); own != nil {
			return own
		}
	}
	if !isAnswer(err) {
		s.contacts.doubt()
	}
	s.said.change(ctx, facility, err)
	if err != nil {
		return fmt.Errorf("redis: %s: %w", facility, err)
	}
	return nil
}

// over returns why the caller's context ended an operation, nil if it did not. The connection has the same deadline, and
// its timer may be the first of the two: then Redis is not at fault either.
func over(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return nil
}
