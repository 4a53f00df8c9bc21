package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

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

const runSize = 16 // of a run's id, as tokens have it
