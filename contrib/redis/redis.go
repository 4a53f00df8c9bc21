// Package redis lets replicas of a host share a cache, rate limits and approvals, in a Redis of
// version 7 or later.
//
// A [Store] serves four options: [Store.Cache] is for cache.Options.Remote, [Store.Limiter] for
// ratelimit.Options.Shared, [Store.Approvals] for hitl.Options.Store and [Store.Board] for
// inbox.Options.Board. Redis can only take an approval away: the grant is in the process that asked.
package redis

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options configures [Open]. The zero value is ready for limits and approvals; the cache and the board
// hold contents and need Key or Plain.
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
	contacts *contacts
	runs     *runs
	said     said
	owed     owed
	leads    leads
	found    hits
	servers  sync.Map // of each server's id, the common part of its keys

	close  func() error
	closed sync.WaitGroup
}

// Open connects to a Redis by its URL: redis://user:password@host:port/db, rediss:// with TLS,
// unix://path, for a cluster the same with further nodes as ?addr=host:port, and for Sentinel the
// sentinels in the same way with ?master_name=NAME. The error names what makes the server unusable:
// another program, a wrong password, a replica, a full memory.
//
// A goroutine watches the connection until [Store.Close]. Open panics on a negative number and on a
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
		owed:     owed{writes: make(map[string]map[string]cache.Write)},
		said:     said{log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), last: make(map[string]failing)},
	}
	if err := s.connect(ctx, *to); err != nil {
		return nil, fmt.Errorf("redis: %s: %w", strings.Join(to.Addrs, ", "), err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.closed.Go(func() { s.watch(ctx) })
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
	ofApprovals = "approvals"
	ofBoard     = "the board"
	ofServer    = "Redis"
	ofFleet     = "sharing with the other replicas"
)

// do runs one operation at the master of a key, which is an error where that is known to be gone.
func (s *Store) do(ctx context.Context, facility, key string, operation func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
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
	if !isAnswer(err) && ctx.Err() == nil {
		s.contacts.doubt()
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

// A said writes a line where a facility begins to fail, and one where it has not failed for a while: what fails now
// and then writes no line for each call.
type said struct {
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]failing // by facility
}

type failing struct {
	kind           string // of the error that was logged; "" if the facility works
	failed, logged time.Time
}

// settled is how long a facility must not fail until it works again, and between two lines about its errors.
const settled = 10 * time.Second

func (s *said) change(ctx context.Context, facility string, err error) {
	kind, now := kindOf(err), time.Now()
	s.mu.Lock()
	f := s.last[facility]
	before := f.kind
	switch {
	case err != nil && before != kind && (before == "" || now.Sub(f.logged) >= settled):
		f = failing{kind, now, now}
	case err != nil:
		f.failed = now
	case before != "" && now.Sub(f.failed) >= settled:
		f.kind = ""
	}
	s.last[facility] = f
	s.mu.Unlock()
	switch {
	case f.kind == before:
	case f.kind == "":
		s.log.LogAttrs(ctx, slog.LevelInfo, "redis: "+facility+" works again", slog.String("before", before))
	default:
		s.log.LogAttrs(ctx, slog.LevelWarn, "redis: "+facility+" does not work", slog.String("kind", kind), slog.Any("err", err))
	}
}

// A sealer seals contents so that only replicas of the same host can read them, or refuses to.
type sealer struct {
	aead   cipher.AEAD   // nil without a key
	opens  []cipher.AEAD // of all keys whose contents are read
	plain  bool
	hashes *sync.Pool // of hash.Hash, with the secret in it
}

// The first byte of contents names their encoding; any other value is foreign.
const (
	plainContents  = 'p'
	sealedContents = 's'
)

func newSealer(o Options) sealer {
	s := sealer{plain: o.Plain, hashes: &sync.Pool{New: func() any { return sha256.New() }}}
	if len(o.Key) == 0 {
		return s
	}
	// One secret, two uses, two keys.
	derive := func(key []byte, use string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(use))
		return mac.Sum(nil)
	}
	for _, key := range append([][]byte{o.Key}, o.OtherKeys...) {
		block, _ := aes.NewCipher(derive(key, "fairlead contents 1")) // of 32 bytes, which never fails
		aead, _ := cipher.NewGCMWithRandomNonce(block)                // nor does this with a block of AES
		s.opens = append(s.opens, aead)
	}
	s.aead = s.opens[0]
	secret := o.NameKey
	if secret == nil {
		secret = o.Key
	}
	names := derive(secret, "fairlead names 1")
	s.hashes = &sync.Pool{New: func() any { return hmac.New(sha256.New, names) }}
	return s
}

func (s sealer) allowed() bool { return s.aead != nil || s.plain }

// seal appends contents that can only be opened at the same place.
func (s sealer) seal(dst []byte, place string, contents []byte) ([]byte, error) {
	switch {
	case s.aead != nil:
		return s.aead.Seal(append(dst, sealedContents), nil, contents, []byte(place)), nil //nolint:gosec // the nonce is random: NewGCMWithRandomNonce
	case s.plain:
		return append(append(dst, plainContents), contents...), nil
	}
	return nil, errors.New("redis: contents are not stored without Options.Key or Options.Plain")
}

// open returns the contents, opened in place, and false if they are foreign or of another place.
func (s sealer) open(place string, contents []byte) ([]byte, bool) {
	switch {
	case len(contents) == 0:
	case s.aead != nil && contents[0] == sealedContents:
		for i, key := range s.opens {
			dst := contents[1:1] // in place, unless another key may have to try
			if i < len(s.opens)-1 {
				dst = nil
			}
			if text, err := key.Open(dst, nil, contents[1:], []byte(place)); err == nil {
				return text, true
			}
		}
	case s.aead == nil && s.plain && contents[0] == plainContents:
		return contents[1:], true
	}
	return nil, false
}

// name returns 22 characters for the parts of a key: without braces, and secret if there is a Key.
func (s sealer) name(parts ...string) string {
	h, _ := s.hashes.Get().(hash.Hash)
	defer s.hashes.Put(h)
	h.Reset()
	var buffer [256]byte
	text := buffer[:0]
	for _, part := range parts {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	h.Write(text)
	return base64.RawURLEncoding.EncodeToString(h.Sum(buffer[:0])[:16])
}

// key returns a key of a kind; all keys with the same about are in one slot of a cluster.
func (s *Store) key(kind, about string, rest ...string) string {
	return s.prefix + ":" + kind + ":{" + about + "}" + strings.Join(append([]string{""}, rest...), ":")
}

// oldest is the first version whose scripts may write when memory is full.
const oldest = 7

// connect makes the clients and checks that the server can be used.
func (s *Store) connect(ctx context.Context, to goredis.UniversalOptions) error {
	to.MaxRetries, to.DialerRetries, to.ContextTimeoutEnabled, to.DisableIdentity = -1, 1, true, true
	to.DialTimeout, to.ReadTimeout, to.WriteTimeout, to.PoolTimeout = s.timeout, s.timeout, s.timeout, s.timeout
	to.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	first := to.OnConnect
	to.OnConnect = func(ctx context.Context, conn *goredis.Conn) error {
		if first != nil {
			if err := first(ctx, conn); err != nil {
				return err
			}
		}
		return s.runs.met(ctx, conn)
	}
	s.client = goredis.NewUniversalClient(&to)
	_, s.runs.cluster = s.client.(*goredis.ClusterClient)
	to.PoolSize, to.MinIdleConns = 2, 0
	s.beats = goredis.NewUniversalClient(&to)
	if err := s.check(ctx); err != nil {
		_ = s.client.Close()
		_ = s.beats.Close()
		return err
	}
	return nil
}

// optionsOf returns what a URL of [Open] means.
func optionsOf(address string) (*goredis.UniversalOptions, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	nodes, master := query["addr"], query.Get("master_name")
	query.Del("addr")
	query.Del("master_name")
	u.RawQuery = query.Encode()
	o, err := goredis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	return &goredis.UniversalOptions{
		Addrs: append([]string{o.Addr}, nodes...), MasterName: master, IsClusterMode: master == "" && len(nodes) > 0,
		ClientName: o.ClientName, DB: o.DB, Protocol: o.Protocol, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
		PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns,
		MaxActiveConns: o.MaxActiveConns, ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime,
	}, nil
}

// withoutPassword returns the address as an error may show it.
func withoutPassword(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "(malformed)"
}

// check returns an error that explains why a server cannot be used.
func (s *Store) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(8*s.timeout, 2*time.Second)) // once, and with a handshake
	defer cancel()
	heard := s.pulse(ctx)
	some := false // of a cluster's masters may be away
	for address, err := range heard {
		s.contacts.at(address).turn(err != nil)
		some = some || err == nil
	}
	if !some {
		return explain(cmp.Or(slices.Collect(maps.Values(heard))...))
	}
	// Results need a plain write too, which fails when memory is full.
	probe := s.key("probe", "start")
	for n := 0; s.contactOf(ctx, probe).isDown(); n++ { // a key of a master that is there
		probe = s.key("probe", strconv.Itoa(n))
	}
	if err := s.client.Set(ctx, probe, "1", time.Second).Err(); err != nil {
		return explain(err)
	}
	if !s.contactOf(ctx, s.fleetKey()).isDown() {
		if err := s.meet(ctx); err != nil {
			return err
		}
	}
	for address := range heard {
		s.contacts.at(address).begin(time.Now())
	}
	return nil
}

// layout is raised when what is in Redis changes, so that replicas of different versions do not share it.
const layout = "1"

// fleetKept is how long a fleet is known after its last replica has ended, and fleetSeen how often each one looks.
const (
	fleetKept = 30 * time.Second
	fleetSeen = 10 * time.Second
)

func (s *Store) fleetKey() string { return s.key("fleet", "mark") }

// meet leaves a mark of Options.Key and layout, and returns an error if replicas with another one are there: no write
// of one would end what the other has cached.
func (s *Store) meet(ctx context.Context) error {
	key, mine := s.fleetKey(), s.seal.name("fleet", layout)
	found, err := s.client.SetArgs(ctx, key, mine, goredis.SetArgs{Mode: "NX", Get: true, TTL: fleetKept}).Result()
	switch {
	case errors.Is(err, goredis.Nil):
		return nil
	case err != nil:
		return explain(err)
	case found != mine:
		return fmt.Errorf("replicas with another Options.Key, or of a version that keeps other things in Redis, use the prefix %q; give all of them one key, or end them and wait %v", s.prefix, fleetKept)
	}
	return s.client.Expire(ctx, key, fleetKept).Err()
}

//go:embed lua
var sources embed.FS

// script returns a script that may write when memory is full, as those that only end entries do.
func script(name string) *goredis.Script { return read("#!lua flags=allow-oom\n", name) }

// strictScript returns a script that Redis refuses when memory is full.
func strictScript(name string) *goredis.Script { return read("#!lua\n", name) }

// read returns a script from its file, after the functions that scripts share.
func read(head, name string) *goredis.Script {
	for _, part := range []string{"prelude", name} {
		text, err := sources.ReadFile("lua/" + part + ".lua")
		if err != nil {
			panic(err) // the file is embedded
		}
		head += string(text)
	}
	return goredis.NewScript(head)
}

// explain adds the remedy to an error of the first connection.
func explain(err error) error {
	text := err.Error()
	says := func(what string) error { return fmt.Errorf("%s: %w", what, err) }
	switch kind := kindOf(err); {
	case kind == "WRONGPASS", kind == "NOAUTH", strings.Contains(text, "AUTH"):
		return says("it rejects the user or password; put the right ones into the URL")
	case kind == "READONLY":
		return says("it is a read-only replica; give the primary's address")
	case kind == "OOM":
		return says("its memory is full; raise maxmemory, or let it evict with maxmemory-policy allkeys-lru")
	case kind == "NOPERM":
		return says("its user lacks permissions: it needs scripts and all keys of the prefix")
	case kind == "MOVED", kind == "ASK":
		return says("it is a node of a cluster; give its nodes as ?addr=host:port")
	case kind == "LOADING", kind == "CLUSTERDOWN", kind == "MASTERDOWN":
		return says("it is not ready; try again soon")
	case errors.Is(err, context.DeadlineExceeded), kind == "timeout":
		return says("it does not answer; is that a Redis, and is it reachable?")
	case errors.Is(err, io.EOF), strings.Contains(text, "can't parse"), strings.Contains(text, "invalid reply"), kind == "ERR":
		return says("the server at this address is not a usable Redis")
	}
	return err
}

// kindOf returns the kind of an error: the first word of Redis' answer, or why none came.
func kindOf(err error) string {
	if err == nil {
		return ""
	}
	network, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errGone):
		return "gone"
	case isAnswer(err):
		word, _, _ := strings.Cut(err.Error(), " ")
		return word
	case errors.Is(err, context.DeadlineExceeded), ok && network.Timeout():
		return "timeout"
	}
	return "no connection"
}

// isAnswer reports whether Redis has answered, if only with an error.
func isAnswer(err error) bool {
	_, answered := errors.AsType[goredis.Error](err)
	return err == nil || answered
}

// field returns the text between two others.
func field(info, before, after string) string {
	_, rest, _ := strings.Cut(info, before)
	value, _, _ := strings.Cut(rest, after)
	return strings.TrimSpace(value)
}

// Runs holds the ids of the connected servers. Each start has a new id, and data of an earlier run, or
// of a copy in its place, may be out of date.
type runs struct {
	cluster bool
	mu      sync.Mutex
	at      map[string]string // by the server's own address
	known   atomic.Pointer[map[string]bool]
	back    atomic.Pointer[time.Time] // when Redis was back after an outage, or had started again; nil before the first
}

const runSize = 16 // of a run's id, as tokens have it

func newRuns() *runs {
	r := &runs{at: make(map[string]string)}
	r.known.Store(&map[string]bool{})
	return r
}

// met is called for each new connection before anything is sent over it.
func (r *runs) met(ctx context.Context, conn *goredis.Conn) error {
	info, err := conn.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	run, version := field(info, "run_id:", "\n"), field(info, "redis_version:", "\n")
	major, _, _ := strings.Cut(version, ".")
	switch n, err := strconv.Atoi(major); {
	case len(run) < runSize:
		return errors.New("the server at this address is not Redis: its INFO has no run_id")
	case err != nil || n < oldest:
		return fmt.Errorf("it is version %.20q; version %d or later is needed", version, oldest)
	}
	run = run[:runSize] // as much of it as tokens have
	client, err := conn.Do(ctx, "CLIENT", "INFO").Text()
	if err != nil {
		return err
	}
	address := field(client, " laddr=", " ")
	if !r.cluster {
		address = "" // there is one server, wherever it is
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.at[address] {
	case run:
		return nil
	case "":
	default:
		r.again()
	}
	r.at[address] = run
	known := make(map[string]bool, len(r.at))
	for _, run := range r.at {
		known[run] = true
	}
	r.known.Store(&known)
	return nil
}

// again records that Redis is back, or has started again.
func (r *runs) again() { r.back.Store(new(time.Now())) }

// only removes the nodes of a cluster that are no longer masters.
func (r *runs) only(masters map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.at, func(_, run string) bool { return !masters[run] })
	r.known.Store(&masters)
}

// live reports whether a token was made by a server that is connected now.
func (r *runs) live(token string) bool {
	return len(token) > runSize && (*r.known.Load())[token[:runSize]]
}
