package redis

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	goredis "github.com/redis/go-redis/v9"
)

const (
	// tokenLife is how long a token lasts after the last write. Without its tokens a value is a miss.
	tokenLife = 24 * time.Hour
	// writeLease bounds the time for which a write counts, in case its replica has died.
	writeLease = 10 * time.Minute
	// flightLease does the same for a flight; its leader renews it.
	flightLease = 1500 * time.Millisecond
	renewEvery  = 500 * time.Millisecond

	entryVersion = "1"
	nonceSize    = 16
	mostOwed     = 4096
)

// Cache returns the cache of all replicas, for cache.Options.Remote. It panics without [Options.Key]
// and [Options.Plain].
//
// A value has the tokens of everything that it is about, as they were when it was requested, and is
// valid while they have not changed. A write replaces them when it begins, so that nothing is cached
// under them, and when it ends. A token has the id of Redis' run, so that a restart invalidates values.
func (s *Store) Cache() cache.Remote {
	if !s.seal.allowed() {
		panic("redis: the cache holds results; give Options.Key, or allow plain text with Options.Plain")
	}
	return remote{s}
}

type remote struct{ *Store }

var (
	look  = script("look")
	keep  = strictScript("keep")
	drop  = script("drop")
	renew = script("renew")
	begin = script("begin")
	end   = script("end")
)

// keys are those of a question: its value, its flight, and the tokens of everything it is about.
func (m remote) keys(q cache.Read) []string {
	about, id := m.about(q.Server), m.seal.name("question", string(q.ID[:]))
	keys := append(make([]string, 0, 3+len(q.Entities)), m.key("c", about, id), m.key("f", about, id))
	if len(q.Entities) == 0 {
		return append(keys, m.key("t", about, "last"))
	}
	keys = append(keys, m.key("t", about, "whole"))
	for _, name := range q.Entities {
		keys = append(keys, m.key("t", about, m.entity(name)))
	}
	return keys
}

// about returns the common part of the keys of one server.
func (s *Store) about(server string) string {
	if known, ok := s.servers.Load(server); ok {
		return known.(string)
	}
	about := s.seal.name("server", server)
	s.servers.Store(server, about)
	return about
}

// home names the slot of all keys of one server.
func (m remote) home(server string) string { return "{" + m.about(server) + "}" }

func (m remote) entity(name cache.EntityKey) string {
	return "e" + m.seal.name("entity", string(name[:]))
}

// writeKeys returns, for everything that a write may change, the keys of its token and of the writes in flight.
func (m remote) writeKeys(w cache.Write) []string {
	about := m.about(w.Server)
	things := []string{"last"}
	if len(w.Entities) == 0 {
		things = append(things, "whole")
	}
	for _, name := range w.Entities {
		things = append(things, m.entity(name))
	}
	keys := make([]string, 0, 2*len(things))
	for _, thing := range things {
		keys = append(keys, m.key("t", about, thing), m.key("b", about, thing))
	}
	return keys
}

// nonce returns the random part of a new token.
func nonce() string {
	var b [nonceSize * 3 / 4]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Look implements [cache.Remote]. A recent hit is one plain read; otherwise a script reads or takes the lead.
func (m remote) Look(ctx context.Context, q cache.Read) (cache.Lookup, error) {
	contact := m.contactOf(ctx, m.home(q.Server))
	switch {
	case contact.isDown():
		return cache.Lookup{}, errGone
	case m.owed.has(q.Server) || contact.settling():
		return cache.Lookup{}, nil // a write is in flight that not all replicas have seen
	}
	if h := m.found.of(q); h != nil {
		if f, ok, err := m.peek(ctx, contact, h); ok || err != nil {
			return f, err
		}
		m.found.slot(q.ID).Store(nil)
	}
	keys := m.keys(q)
	got, err := m.run(ctx, ofCache, look, keys, nonce(), flightLease.Milliseconds(), tokenLife.Milliseconds()).Slice()
	if err != nil || len(got) == 0 {
		return cache.Lookup{}, err
	}
	ticket, _ := got[0].(string)
	if len(got) == 1 {
		m.leads.tickets.Store(keys[1], ticket)
	}
	if contact.settling() || !m.alive(ticket) { // or Redis has started again since
		m.Drop(ctx, q, ticket)
		return cache.Lookup{}, nil
	}
	if len(got) > 2 {
		return cache.Lookup{Ticket: ticket, Busy: true}, nil
	}
	if len(got) == 2 {
		entry, _ := got[1].(string)
		if value, ok := m.value(keys[0], ticket, entry); ok {
			m.found.add(q, keys)
			return cache.Lookup{Value: value, Ticket: ticket}, nil
		}
	}
	return cache.Lookup{Ticket: ticket}, nil
}

// peek reads a value and its tokens atomically, at little more than the cost of a GET.
func (m remote) peek(ctx context.Context, contact *contact, h *hit) (f cache.Lookup, ok bool, err error) {
	got, err := m.mget(ctx, h.command)
	if err != nil || len(got) != len(h.command)-1 || contact.settling() {
		return cache.Lookup{}, err == nil && contact.settling(), err
	}
	entry, _ := got[0].(string)
	ticket, ok := m.bears(entry, got[1:])
	if !ok {
		return cache.Lookup{}, false, nil
	}
	value, ok := m.value(h.place, ticket, entry)
	return cache.Lookup{Value: value, Ticket: ticket}, ok, nil
}

// mget runs a command, bounded by the client's timeouts and the caller's deadline, without a timer.
func (s *Store) mget(ctx context.Context, command []any) (got []any, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	began := time.Now()
	reply := goredis.NewSliceCmd(ctx, command...)
	err = s.ended(ctx, ofCache, s.client.Process(ctx, reply))
	s.observe(ctx, operations[ofCache], time.Since(began), err)
	return reply.Val(), err
}

// bears returns the ticket of an entry with exactly these tokens, all of the current runs.
func (m remote) bears(entry string, tokens []any) (ticket string, ok bool) {
	texts := make([]string, len(tokens))
	for i, token := range tokens {
		texts[i], _ = token.(string)
	}
	ticket = entryVersion + strings.Join(texts, ",")
	return ticket, strings.HasPrefix(entry, ticket) && m.alive(ticket)
}

// alive reports whether all tokens of a ticket are of the current runs.
func (m remote) alive(ticket string) bool {
	tokens, ok := strings.CutPrefix(ticket, entryVersion)
	if !ok {
		return false
	}
	for token := range strings.SplitSeq(tokens, ",") {
		if !m.runs.live(token) {
			return false
		}
	}
	return true
}

// value returns the contents of an entry, if they were sealed for this place and ticket.
func (m remote) value(place, ticket, entry string) ([]byte, bool) {
	if len(entry) <= len(ticket) || entry[:len(ticket)] != ticket || entry[len(ticket)] != '\n' {
		return nil, false
	}
	// The reply is not shared and may be opened in place: Bytes returns it without a copy.
	contents, err := goredis.NewStringResult(entry[len(ticket)+1:], nil).Bytes()
	if err != nil {
		return nil, false
	}
	return m.seal.open(place+ticket, contents)
}

func (m remote) Keep(ctx context.Context, q cache.Read, ticket string, value []byte, ttl time.Duration) error {
	if ticket == "" {
		return nil
	}
	if len(value) > m.maxValue || ttl < time.Millisecond {
		m.Drop(ctx, q, ticket)
		return nil
	}
	keys := m.keys(q)
	m.leads.tickets.CompareAndDelete(keys[1], ticket)
	entry, err := m.seal.seal([]byte(ticket+"\n"), keys[0]+ticket, value)
	if err == nil {
		err = m.run(ctx, ofCache, keep, keys, entry, ttl.Milliseconds(), ticket).Err()
	}
	if err != nil {
		m.Drop(ctx, q, ticket)
		return err
	}
	m.found.add(q, keys)
	return nil
}

func (m remote) Drop(ctx context.Context, q cache.Read, ticket string) {
	if ticket == "" {
		return
	}
	flight := m.keys(q)[1]
	m.leads.tickets.CompareAndDelete(flight, ticket)
	m.soon(ctx, func(ctx context.Context) { m.run(ctx, ofCache, drop, []string{flight}, ticket) })
}

// soon runs f, on a goroutine if ctx has ended.
func (s *Store) soon(ctx context.Context, f func(context.Context)) {
	if ctx.Err() == nil {
		f(ctx)
		return
	}
	s.closed.Go(func() { f(context.WithoutCancel(ctx)) })
}

func (m remote) Begin(ctx context.Context, w cache.Write) error {
	lease := writeLease
	if !w.Until.IsZero() {
		lease = min(lease, max(time.Until(w.Until), 0)+time.Second)
	}
	return m.run(ctx, ofCache, begin, m.writeKeys(w), w.ID, lease.Milliseconds()).Err()
}

// End implements [cache.Remote]. If Redis does not answer, it waits until every other replica must
// have noticed, some 1.5 seconds after the last answer, or until ctx is done. This process ends the
// write when Redis is back, before any earlier value counts.
func (m remote) End(ctx context.Context, w cache.Write) (ticket string, err error) {
	began := time.Now()
	m.owed.add(w)
	for {
		keys, args := m.ending(w)
		ticket, err = m.run(ctx, ofCache, end, keys, args...).Text()
		if err == nil {
			m.owed.paid(w)
			if m.owed.has(w.Server) || m.contactOf(ctx, keys[0]).settling() || !m.alive(ticket) {
				ticket = ""
			}
			return ticket, nil
		}
		m.contacts.doubt()
		now := time.Now()
		left := min(m.contactOf(ctx, keys[0]).alone(now), began.Add(m.contacts.grace).Sub(now))
		if left <= 0 || ctx.Err() != nil {
			return "", err
		}
		select {
		case <-time.After(min(left, 25*time.Millisecond)):
		case <-ctx.Done():
		}
	}
}

// ending returns the keys and arguments of the script that ends a write; its ticket's keys are last.
func (m remote) ending(w cache.Write) (keys []string, args []any) {
	pairs, tokens := m.writeKeys(w), m.keys(cache.Read{Server: w.Server, Entities: w.Entities})[2:]
	return append(pairs, tokens...), []any{w.ID, nonce(), tokenLife.Milliseconds(), len(pairs)}
}

// Leads holds the flights that this process leads.
type leads struct {
	tickets sync.Map  // by the flight's key
	next    time.Time // of their renewal; only watch uses it
}

// renewLeads renews the leads of this process when that is due, and drops those that it cannot renew.
func (s *Store) renewLeads(ctx context.Context) {
	now := time.Now()
	if now.Before(s.leads.next) {
		return
	}
	s.leads.next = now.Add(renewEvery)
	var flights []string
	for flight := range s.leads.tickets.Range {
		flights = append(flights, flight.(string))
	}
	_ = together(ctx, s, flights, func(pipe goredis.Pipeliner, flight string) *goredis.Cmd {
		ticket, _ := s.leads.tickets.Load(flight)
		return renew.Eval(ctx, pipe, []string{flight}, ticket, flightLease.Milliseconds())
	}, func(string) {})
}
