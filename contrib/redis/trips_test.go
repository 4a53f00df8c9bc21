package redis_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// A wire is a proxy in front of an engine that writes down each command, heartbeats
// and greetings left out. The store sends none before the one before is answered, so
// a command is a round trip.
type wire struct {
	url  string
	mu   sync.Mutex
	said []string
	read int // bytes of all answers
	sent int // bytes of what was written down
	off  bool
	late time.Duration // of each answer
	open []net.Conn
}

// answers passes on the server's answers, each part with its delay.
func (w *wire) answers(client io.Writer, server io.Reader) {
	type part struct {
		text []byte
		due  time.Time
	}
	parts := make(chan part, 1<<12)
	go func() {
		defer close(parts)
		for {
			text := make([]byte, 1<<12)
			n, err := server.Read(text)
			if err != nil {
				return
			}
			w.mu.Lock()
			w.read += n
			parts <- part{text[:n], time.Now().Add(w.late)}
			w.mu.Unlock()
		}
	}()
	for p := range parts {
		time.Sleep(time.Until(p.due))
		_, _ = client.Write(p.text)
	}
}

// cut ends all connections and lets no more come about, or lets them come about again.
func (w *wire) cut(off bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.off = off; len(w.open) > 0; w.open = w.open[1:] {
		_ = w.open[0].Close()
	}
}

// joins notes a connection, and reports whether it may be.
func (w *wire) joins(client net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, client)
	return !w.off
}

func newWire(t *testing.T, port int) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	w := &wire{url: "redis://" + listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if !w.joins(client) {
				_ = client.Close()
				continue
			}
			server, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { w.answers(client, server); _ = client.Close() }()
			go func() { w.commands(client, server); _ = server.Close() }()
		}
	}()
	return w
}

// commands passes a client's commands on, which are arrays of texts, each when it
// is written down.
func (w *wire) commands(client io.Reader, server io.Writer) {
	from := bufio.NewReader(client)
	for {
		head, err := from.ReadString('\n')
		if err != nil {
			return
		}
		parts, _ := strconv.Atoi(strings.TrimSpace(head[1:]))
		command := []byte(head)
		var texts []string
		for range parts {
			head, err := from.ReadString('\n')
			if err != nil {
				return
			}
			size, _ := strconv.Atoi(strings.TrimSpace(head[1:]))
			text := make([]byte, size+len("\r\n"))
			if _, err := io.ReadFull(from, text); err != nil {
				return
			}
			command = append(append(command, head...), text...)
			texts = append(texts, strings.ToUpper(string(text[:size])))
		}
		beat := strings.HasPrefix(texts[0], "EVAL") && texts[2] == "0" // of all scripts only the heartbeat has no keys
		if !beat && !slices.Contains([]string{"PING", "HELLO", "CLIENT", "INFO"}, texts[0]) {
			w.mu.Lock()
			w.said = append(w.said, texts[0])
			w.sent += len(command)
			w.mu.Unlock()
		}
		if _, err := server.Write(command); err != nil {
			return
		}
	}
}

// trips returns what was said since it was called last.
func (w *wire) trips() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := strings.Join(w.said, " ")
	w.said = nil
	return said
}

// bytes returns how much was read from the server.
func (w *wire) bytes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read
}

// sends returns how much was written to the server, without heartbeats and greetings.
func (w *wire) sends() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// How often Redis is asked for each thing, counted on the wire. A script is sent
// itself, once, to a Redis that does not know it.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	w := newWire(t, e.Port)
	s, other := open(t, w.url, redis.Options{Key: key, Timeout: patient}), open(t, e.URL(), redis.Options{Key: key, Timeout: patient}) // the other one is not counted
	written := func(c cache.Remote, id string) {
		must(t, c.Begin(t.Context(), cache.Write{ID: id, Server: "crm"}))
		must(t, ended(t.Context(), c, cache.Write{ID: id, Server: "crm"}))
	}
	take := func(id string) {
		_, err := s.Limiter().Take(t.Context(), ratelimit.Waiter{ID: id, Buckets: []ratelimit.Bucket{
			{Server: "crm", Tool: "get", PerSecond: 1e6, Burst: 1e6}, {Server: "crm", PerSecond: 1e6, Burst: 1e6},
		}})
		must(t, err)
	}
	dangerous := func(id string) {
		a, until := s.Approvals(), time.Now().Add(time.Minute)
		must(t, a.Add(t.Context(), approvals.Approval{ID: id, State: approvals.Pending, Until: until}))
		must(t, a.Advance(t.Context(), id, approvals.Change{To: approvals.Approved, Until: until}))
		must(t, a.Advance(t.Context(), id, approvals.Change{To: approvals.Spent}))
		must(t, a.Advance(t.Context(), id, approvals.Change{To: approvals.Done}))
	}
	must(t, s.Approvals().Remember(t.Context(), yes("standing")))
	answered := func(id string) { remembers(t, s.Approvals(), id) }
	keep(t, s.Cache(), "warm", "v")
	answered("warm")
	written(s.Cache(), "warm")
	take("warm")
	dangerous("warm")
	kept := func(id string) { keep(t, s.Cache(), id, "v") }
	elsewhere := func(id string) { keep(t, other.Cache(), id, "v") }
	hit := func(id string) { knows(t, s.Cache(), id, "v") }
	for _, c := range []struct {
		name, want string
		before, do func(id string)
	}{
		{"a miss with its fill", "EVALSHA EVALSHA", nil, kept},
		{"a hit", "MGET", kept, hit},
		{"another hit", "MGET", func(id string) { kept(id); hit(id) }, hit},
		{"what another replica has kept, at first", "EVALSHA", elsewhere, hit},
		{"and then", "MGET", func(id string) { elsewhere(id); hit(id) }, hit},
		{"what was known and a write has ended, with its fill", "MGET EVALSHA EVALSHA", func(id string) { kept(id); written(other.Cache(), id) }, kept},
		{"a write", "EVALSHA EVALSHA", nil, func(id string) { written(s.Cache(), id) }},
		{"a decision of the limiter, for tool and server", "EVALSHA", nil, take},
		{"a dangerous call's record", "EVALSHA EVALSHA EVALSHA EVALSHA", nil, dangerous},
		{"the same by a remembered approval", "EVALSHA MGET EVALSHA EVALSHA MGET EVALSHA", nil, answered},
	} {
		// A heartbeat that falls into it may renew a flight, or say that a write has ended:
		// then it is tried again.
		got := ""
		for try := 0; try < 5 && got != c.want; try++ {
			id := fmt.Sprint(c.name, try)
			if c.before != nil {
				c.before(id)
			}
			w.trips()
			c.do(id)
			got = w.trips()
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// remembers makes a call that the remembered approval "standing" answers.
func remembers(t *testing.T, s approvals.Store, id string) {
	t.Helper()
	if found, err := s.Remembered(t.Context(), "ann", "bank", "pay"); err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
	must(t, answersBy(t.Context(), s, id, "standing"))
	must(t, s.Advance(t.Context(), id, approvals.Change{To: approvals.Done, Scope: "ann", Standing: "standing"}))
}

// A call by a remembered approval costs the same, however many are remembered for other tools and were revoked.
func TestCallCostsTheSameWithManyApprovals(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	w, ctx := newWire(t, e.Port), t.Context()
	s := open(t, w.url, redis.Options{Key: key, Timeout: patient}).Approvals()
	other := open(t, e.URL(), redis.Options{Key: key, Timeout: patient}).Approvals() // whose commands are not counted
	must(t, s.Remember(ctx, yes("standing")))
	n := 0
	cost := func() (trips string, read int) {
		n++
		w.trips()
		before := w.bytes()
		remembers(t, s, fmt.Sprintf("call %03d", n))
		return w.trips(), w.bytes() - before
	}
	cost()
	wantTrips, wantRead := cost()
	for i := range 200 {
		y := yes(fmt.Sprint(i))
		y.Tool = fmt.Sprint("tool ", i)
		must(t, other.Remember(ctx, y))
		if i%2 == 0 {
			must(t, other.Forget(ctx, "ann", y.ID))
		}
	}
	cost() // which reads the revocations, once
	// A heartbeat that falls into it is read too.
	for try := 0; ; try++ {
		trips, read := cost()
		if trips == wantTrips && read <= wantRead+200 {
			t.Logf("%s, %d bytes", trips, read)
			return
		}
		if try == 20 {
			t.Fatalf("got %s and %d bytes, want %s and %d", trips, read, wantTrips, wantRead)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
