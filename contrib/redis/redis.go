// Package redis lets replicas of a host share one memory, one pace and one set of
// approvals, in a Redis of version 7 or later.
//
// A [Store] is four small things for four options of the core: [Store.Cache] for
// cache.Options.Remote, [Store.Limiter] for ratelimit.Options.Shared,
// [Store.Approvals] for hitl.Options.Store and [Store.Board] for
// inbox.Options.Board. Nothing dangerous is done because of what stands in Redis: a
// yes that executes lives in the process that asked, and Redis can only take away.
package redis

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Options are the settings of [Open]. The zero value is ready for limits and
// approvals; the cache and the board hold contents and need Key or Plain.
type Options struct {
	// Key is a secret of 32 bytes, the same in every replica. What calls carry and
	// answer is sealed with it (AES-256-GCM), so that who can read Redis learns nothing
	// of it, and what others wrote there is not believed. nil means none.
	Key []byte
	// Plain is the host's word that results, arguments and answers may stand in Redis
	// as they are: who can write to Redis can then answer for a person. The zero value
	// means that without a Key no contents are stored.
	Plain bool
	// Prefix begins every key; replicas that share have the same. "" means "fairlead".
	Prefix string
	// Timeout is how long one operation may take. A context's earlier deadline counts as
	// well. The first writes of an outage wait for it and 1.2 s; above a second it is
	// patience for limits and approvals alone, and no value is believed of a Redis that
	// needs so long. 0 means 250 ms.
	Timeout time.Duration
	// MaxValue is the size of a result, in bytes, above which it is not kept; 0 means
	// 1 MiB.
	MaxValue int
	// Logger gets a line when something begins to fail and when it works again; nil is
	// silent.
	Logger *slog.Logger
}

const (
	defaultPrefix   = "fairlead"
	defaultTimeout  = 250 * time.Millisecond
	defaultMaxValue = 1 << 20
	keySize         = 32
)

// A Store is a connection to Redis. Make one with [Open], and close it.
type Store struct {
	client   goredis.UniversalClient
	beats    goredis.UniversalClient // for heartbeats, so that calls do not hold them up
	prefix   string
	timeout  time.Duration
	maxValue int
	seal     sealer
	contact  *contact
	runs     *runs
	said     said
	owed     owed
	leads    leads
	returns  returns
	found    hits
	servers  sync.Map // of each server's id, what its keys have in common

	close    context.CancelFunc
	closed   sync.WaitGroup
	closing  sync.Once
	closeErr error // of closing
}

// Open connects to a Redis by its URL: redis://user:password@host:port/db,
// rediss:// with TLS, unix://path, and for a cluster the same with further nodes as
// ?addr=host:port. It fails where that is none, or none that can be used: another
// program, a wrong password, a replica that takes no writes, one that is full.
//
// It starts a goroutine that watches the connection; it ends with [Store.Close].
// Open panics on a negative number and on a Key of another length.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	switch {
	case o.Timeout < 0:
		panic("redis: Options.Timeout is negative")
	case o.MaxValue < 0:
		panic("redis: Options.MaxValue is negative")
	case len(o.Key) != 0 && len(o.Key) != keySize:
		panic(fmt.Sprintf("redis: Options.Key has %d bytes; it needs %d, from crypto/rand and the same in every replica", len(o.Key), keySize))
	case strings.ContainsAny(o.Prefix, "{}"):
		panic(fmt.Sprintf("redis: Options.Prefix %q has braces, by which a cluster sorts keys", o.Prefix))
	}
	seal, err := newSealer(o.Key, o.Plain)
	if err != nil {
		return nil, err
	}
	s := &Store{
		prefix:   cmp.Or(o.Prefix, defaultPrefix),
		timeout:  cmp.Or(o.Timeout, defaultTimeout),
		maxValue: cmp.Or(o.MaxValue, defaultMaxValue),
		seal:     seal,
		runs:     newRuns(),
		said:     said{log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), last: make(map[string]string)},
	}
	s.contact, s.runs.again = newContact(s.timeout), s.returns.again
	if err := s.connect(ctx, url); err != nil {
		return nil, err
	}
	ctx, s.close = context.WithCancel(context.WithoutCancel(ctx))
	s.closed.Go(func() { s.watch(ctx) })
	return s, nil
}

// Close ends the connection. What it holds in Redis stays there for the others,
// and ends by itself. A second Close does nothing more.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.close()
		s.closeErr = s.client.Close()
		if s.beats != s.client {
			s.closeErr = cmp.Or(s.closeErr, s.beats.Close())
		}
	})
	s.closed.Wait()
	return s.closeErr
}

// A facility is what a line of the log is about.
const (
	ofCache     = "the cache"
	ofLimiter   = "the limiter"
	ofApprovals = "approvals"
	ofBoard     = "the board"
	ofServer    = "Redis"
)

// do runs one operation, which is an error where Redis is known to be gone.
func (s *Store) do(ctx context.Context, facility string, operation func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.contact.isDown() {
		return errGone
	}
	within, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.ended(ctx, facility, operation(within))
}

// ended notes how an operation went.
func (s *Store) ended(ctx context.Context, facility string, err error) error {
	if !isAnswer(err) && ctx.Err() == nil {
		s.contact.doubt()
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.said.change(ctx, facility, err)
	if err != nil {
		return fmt.Errorf("redis: %s: %w", facility, err)
	}
	return nil
}

// A said writes a line for each change, and none for each call.
type said struct {
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]string // of each facility, the kind of its last error
}

func (s *said) change(ctx context.Context, facility string, err error) {
	kind := kindOf(err)
	s.mu.Lock()
	before := s.last[facility]
	s.last[facility] = kind
	s.mu.Unlock()
	switch {
	case before == kind:
	case err != nil:
		s.log.LogAttrs(ctx, slog.LevelWarn, "redis: "+facility+" does not work", slog.String("kind", kind), slog.Any("err", err))
	default:
		s.log.LogAttrs(ctx, slog.LevelInfo, "redis: "+facility+" works again", slog.String("before", before))
	}
}
