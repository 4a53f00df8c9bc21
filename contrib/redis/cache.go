package redis

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	goredis "github.com/redis/go-redis/v9"
)

const (
	// tokenLife is how long a token is known after the last write: a value whose
	// tokens are gone is not believed any more.
	tokenLife = 24 * time.Hour
	// writeLease is how long a write counts whose replica may have died.
	writeLease = 10 * time.Minute
	// flightLease likewise; who leads renews it every so often.
	flightLease = 1500 * time.Millisecond
	renewEvery  = 500 * time.Millisecond

	entryVersion = "1"
	nonceSize    = 16
	mostOwed     = 4096
)

// Cache returns the memory of all replicas, for cache.Options.Remote. It panics
// where contents may not be stored: without [Options.Key] and [Options.Plain].
//
// A value bears the tokens of all that it is about, as they were when it was asked
// for, and is believed while these are the present ones. A write changes them when
// it begins, to such as nothing is kept under, and when it ends. A token holds the
// id that Redis has since its start, so that what it knew before a restart is not
// believed.
func (s *Store) Cache() cache.Remote {
	if !s.seal.allowed() {
		panic("redis: the cache holds results; give Options.Key, or say with Options.Plain that they may stand in Redis as they are")
	}
	return (*remote)(s)
}

type remote Store

var (
	look = script(`
local v=redis.call('MGET',unpack(KEYS))
local run=string.sub(string.match(redis.call('INFO','server'),'run_id:(%x+)'),1,16)
local busy=false
for i=3,#KEYS do
  local t=v[i]
  local open=t and string.sub(t,1,16)==run
  if t and string.sub(t,1,17)=='!'..run then
    busy=true
  elseif not open then
    v[i]=run..ARGV[1]
    redis.call('SET',KEYS[i],v[i],'PX',ARGV[3])
  end
end
if busy then return {} end
local h='1'..table.concat(v,',',3)
if v[1] and string.sub(v[1],1,#h+1)==h..'\n' then return {h,v[1]} end
if v[2]==h then return {h,'','busy'} end
redis.call('SET',KEYS[2],h,'PX',ARGV[2])
return {h}`)

	// keep is refused when memory is full.
	keep = newScript(`#!lua
local h='1'..table.concat(redis.call('MGET',unpack(KEYS,3)),',')
if h==ARGV[3] then redis.call('SET',KEYS[1],ARGV[1],'PX',ARGV[2]) end
if redis.call('GET',KEYS[2])==ARGV[3] then redis.call('DEL',KEYS[2]) end
return 1`)

	drop = script(`if redis.call('GET',KEYS[1])==ARGV[1] then redis.call('DEL',KEYS[1]) end return 1`)

	renew = script(`if redis.call('GET',KEYS[1])==ARGV[1] then redis.call('PEXPIRE',KEYS[1],ARGV[2]) end return 1`)

	begin = script(`
local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
local run=string.sub(string.match(redis.call('INFO','server'),'run_id:(%x+)'),1,16)
for i=1,#KEYS,2 do
  redis.call('ZADD',KEYS[i+1],now+ARGV[3],ARGV[1])
  local top=redis.call('ZREVRANGE',KEYS[i+1],0,0,'WITHSCORES')
  local left=math.max(1,math.floor(tonumber(top[2])-now))
  redis.call('PEXPIRE',KEYS[i+1],left)
  redis.call('SET',KEYS[i],'!'..run..ARGV[2],'PX',left)
end
return 1`)

	end = script(`
local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
local run=string.sub(string.match(redis.call('INFO','server'),'run_id:(%x+)'),1,16)
for i=1,#KEYS,2 do
  redis.call('ZREM',KEYS[i+1],ARGV[1])
  redis.call('ZREMRANGEBYSCORE',KEYS[i+1],'-inf',now)
  local top=redis.call('ZREVRANGE',KEYS[i+1],0,0,'WITHSCORES')
  if top[2] then
    redis.call('SET',KEYS[i],'!'..run..ARGV[2],'PX',math.max(1,math.floor(tonumber(top[2])-now)))
  else
    redis.call('SET',KEYS[i],run..ARGV[2],'PX',ARGV[3])
  end
end
return 1`)
)

// keys are those of a question: its value, its flight, and the tokens of all that
// it is about.
func (m *remote) keys(q cache.Question) []string {
	s := (*Store)(m)
	about, id := s.about(q.Server), s.seal.name("question", string(q.ID[:]))
	keys := append(make([]string, 0, 3+len(q.Names)), s.key("c", about, id), s.key("f", about, id))
	if len(q.Names) == 0 {
		return append(keys, s.key("t", about, "last"))
	}
	keys = append(keys, s.key("t", about, "whole"))
	for _, name := range q.Names {
		keys = append(keys, s.key("t", about, m.entity(name)))
	}
	return keys
}

// about is what the keys of one server have in common.
func (s *Store) about(server string) string {
	if known, ok := s.servers.Load(server); ok {
		return known.(string)
	}
	about := s.seal.name("server", server)
	s.servers.Store(server, about)
	return about
}

func (m *remote) entity(name cache.Name) string {
	return "e" + m.seal.name("entity", string(name[:]))
}

// writeKeys are a token and the writes under way, for all that a write may change.
func (m *remote) writeKeys(w cache.Write) []string {
	s := (*Store)(m)
	about := s.about(w.Server)
	things := []string{"last"}
	if len(w.Names) == 0 {
		things = append(things, "whole")
	}
	for _, name := range w.Names {
		things = append(things, m.entity(name))
	}
	keys := make([]string, 0, 2*len(things))
	for _, thing := range things {
		keys = append(keys, s.key("t", about, thing), s.key("b", about, thing))
	}
	return keys
}

func nonce() string {
	var b [nonceSize * 3 / 4]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Look implements [cache.Remote]. What was found before is looked for by a plain
// read; else one script looks and takes the lead.
func (m *remote) Look(ctx context.Context, q cache.Question) (cache.Found, error) {
	s := (*Store)(m)
	switch {
	case s.contact.isDown():
		return cache.Found{}, errGone
	case m.owed.has(q.Server) || s.contact.settling():
		return cache.Found{}, nil // a write is known of that others have not heard of, here or there
	}
	if h := m.found.of(q); h != nil {
		if f, ok, err := m.peek(ctx, h); ok || err != nil {
			return f, err
		}
		m.found.forget(q.ID)
	}
	keys := m.keys(q)
	var got []any
	err := s.do(ctx, ofCache, func(ctx context.Context) (err error) {
		got, err = look.Run(ctx, s.client, keys, nonce(), flightLease.Milliseconds(), tokenLife.Milliseconds()).Slice()
		return err
	})
	if err != nil || len(got) == 0 {
		return cache.Found{}, err
	}
	ticket, _ := got[0].(string)
	if len(got) == 1 {
		m.leads.add(keys[1], ticket)
	}
	if s.contact.settling() || !m.alive(ticket) { // or Redis has started again since
		m.Drop(ctx, q, ticket)
		return cache.Found{}, nil
	}
	if len(got) > 2 {
		return cache.Found{Ticket: ticket, Busy: true}, nil
	}
	if len(got) == 2 {
		entry, _ := got[1].(string)
		if value, ok := m.value(keys[0], ticket, entry); ok {
			m.found.add(q, keys)
			return cache.Found{Value: value, Ticket: ticket}, nil
		}
	}
	return cache.Found{Ticket: ticket}, nil
}

// peek reads a value and its tokens at one instant. It asks nothing else of Redis,
// and costs little more than a GET.
func (m *remote) peek(ctx context.Context, h *hit) (f cache.Found, ok bool, err error) {
	s := (*Store)(m)
	got, err := s.mget(ctx, h.command)
	if err != nil || len(got) != len(h.command)-1 || s.contact.settling() {
		return cache.Found{}, err == nil && s.contact.settling(), err
	}
	entry, _ := got[0].(string)
	ticket, ok := m.bears(entry, got[1:])
	if !ok {
		return cache.Found{}, false, nil
	}
	value, ok := m.value(h.place, ticket, entry)
	return cache.Found{Value: value, Ticket: ticket}, ok, nil
}

// mget is an operation without a timer of its own: the client's timeouts and the
// caller's deadline bound it.
func (s *Store) mget(ctx context.Context, command []any) (got []any, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.contact.isDown() {
		return nil, errGone
	}
	reply := goredis.NewSliceCmd(ctx, command...)
	err = s.client.Process(ctx, reply)
	return reply.Val(), s.ended(ctx, ofCache, err)
}

// bears returns the ticket of an entry that bears exactly these tokens, all of
// servers that have not started again.
func (m *remote) bears(entry string, tokens []any) (ticket string, ok bool) {
	if !strings.HasPrefix(entry, entryVersion) {
		return "", false
	}
	end := len(entryVersion)
	for i, t := range tokens {
		token, _ := t.(string)
		if i > 0 {
			if end >= len(entry) || entry[end] != ',' {
				return "", false
			}
			end++
		}
		if !m.runs.live(token) || !strings.HasPrefix(entry[end:], token) {
			return "", false
		}
		end += len(token)
	}
	return entry[:end], true
}

// alive reports whether all tokens of a ticket are of servers that have not
// started again since.
func (m *remote) alive(ticket string) bool {
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

// value takes an entry apart: its ticket, and contents that were sealed for it.
func (m *remote) value(place, ticket, entry string) ([]byte, bool) {
	if len(entry) <= len(ticket) || entry[:len(ticket)] != ticket || entry[len(ticket)] != '\n' {
		return nil, false
	}
	// The reply is nobody else's, and may be opened where it lies: the client gives its bytes without a copy.
	contents, err := goredis.NewStringResult(entry[len(ticket)+1:], nil).Bytes()
	if err != nil {
		return nil, false
	}
	return m.seal.open(place+ticket, contents)
}

// Keep implements [cache.Remote].
func (m *remote) Keep(ctx context.Context, q cache.Question, ticket string, value []byte, ttl time.Duration) error {
	if ticket == "" {
		return nil
	}
	if len(value) > m.maxValue || ttl < time.Millisecond {
		m.Drop(ctx, q, ticket)
		return nil
	}
	s, keys := (*Store)(m), m.keys(q)
	m.leads.end(keys[1], ticket)
	entry, err := m.seal.seal([]byte(ticket+"\n"), keys[0]+ticket, value)
	if err == nil {
		err = s.do(ctx, ofCache, func(ctx context.Context) error {
			return keep.Run(ctx, s.client, keys, entry, ttl.Milliseconds(), ticket).Err()
		})
	}
	if err != nil {
		m.Drop(ctx, q, ticket)
		return err
	}
	m.found.add(q, keys)
	return nil
}

// Drop implements [cache.Remote].
func (m *remote) Drop(ctx context.Context, q cache.Question, ticket string) {
	if ticket == "" {
		return
	}
	s, flight := (*Store)(m), m.keys(q)[1]
	m.leads.end(flight, ticket)
	s.soon(ctx, func(ctx context.Context) {
		_ = s.do(ctx, ofCache, func(ctx context.Context) error {
			return drop.Run(ctx, s.client, []string{flight}, ticket).Err()
		})
	})
}

// soon runs f, and after the end of ctx for as long as an operation may take, with
// nobody waiting for it.
func (s *Store) soon(ctx context.Context, f func(context.Context)) {
	if ctx.Err() == nil {
		f(ctx)
		return
	}
	s.closed.Go(func() { f(context.WithoutCancel(ctx)) })
}

// Begin implements [cache.Remote].
func (m *remote) Begin(ctx context.Context, w cache.Write) error {
	s, lease := (*Store)(m), writeLease
	if !w.Until.IsZero() {
		lease = min(lease, max(time.Until(w.Until), 0)+time.Second)
	}
	return s.do(ctx, ofCache, func(ctx context.Context) error {
		return begin.Run(ctx, s.client, m.writeKeys(w), w.ID, nonce(), lease.Milliseconds()).Err()
	})
}

// End implements [cache.Remote]. Where Redis does not answer it waits until every
// other replica must have seen that, some 1.5 seconds after the last answer, or
// until ctx is done; this process says it when Redis is back, before anybody
// believes what it knew.
func (m *remote) End(ctx context.Context, w cache.Write) error {
	s, began := (*Store)(m), time.Now()
	m.owed.add(w)
	for {
		err := s.end(ctx, w)
		if err == nil {
			m.owed.paid(w.ID)
			return nil
		}
		s.contact.doubt()
		now := time.Now()
		left := min(s.contact.alone(now), began.Add(s.contact.grace).Sub(now))
		if left <= 0 || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(min(left, 25*time.Millisecond)):
		case <-ctx.Done():
		}
	}
}

func (s *Store) end(ctx context.Context, w cache.Write) error {
	return s.do(ctx, ofCache, func(ctx context.Context) error {
		return end.Run(ctx, s.client, (*remote)(s).writeKeys(w), w.ID, nonce(), tokenLife.Milliseconds()).Err()
	})
}

// Owed are the ends of writes that Redis was not told of.
type owed struct {
	mu      sync.Mutex
	writes  map[string]cache.Write
	servers map[string]int // how many of them, by server
}

func (o *owed) add(w cache.Write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writes == nil {
		o.writes, o.servers = make(map[string]cache.Write), make(map[string]int)
	}
	if len(o.writes) >= mostOwed { // one for all of its server
		w = cache.Write{ID: "all of " + w.Server, Server: w.Server}
	}
	if _, known := o.writes[w.ID]; known {
		return
	}
	o.writes[w.ID] = w
	o.servers[w.Server]++
}

func (o *owed) paid(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, ok := o.writes[id]
	if !ok {
		return
	}
	delete(o.writes, id)
	if o.servers[w.Server]--; o.servers[w.Server] == 0 {
		delete(o.servers, w.Server)
	}
}

func (o *owed) has(server string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.servers[server] > 0
}

func (o *owed) all() []cache.Write {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.writes))
}

// payOwed tells Redis of what it was not told. An error is that there is no answer.
func (s *Store) payOwed(ctx context.Context) error {
	return together(ctx, s, s.owed.all(), func(pipe goredis.Pipeliner, w cache.Write) *goredis.Cmd {
		return end.Eval(ctx, pipe, (*remote)(s).writeKeys(w), w.ID, nonce(), tokenLife.Milliseconds())
	}, func(w cache.Write) { s.owed.paid(w.ID) })
}

// atOnce is how many of many scripts go in one round trip.
const atOnce = 256

// together runs a script for each of many things, and calls did for those for which
// that went well. It is quick, since heartbeats wait for it and other replicas for
// half a second only. An error is that there is no answer.
func together[T any](ctx context.Context, s *Store, things []T, run func(goredis.Pipeliner, T) *goredis.Cmd, did func(T)) error {
	for some := range slices.Chunk(things, atOnce) {
		within, cancel := context.WithTimeout(ctx, s.timeout)
		pipe, said := s.client.Pipeline(), make([]*goredis.Cmd, len(some))
		for i, thing := range some {
			said[i] = run(pipe, thing)
		}
		_, err := pipe.Exec(within)
		cancel()
		for i, thing := range some {
			if said[i].Err() == nil {
				did(thing)
			}
		}
		if !isAnswer(err) {
			return err
		}
	}
	return nil
}

// Leads are the flights that this process leads.
type leads struct {
	mu      sync.Mutex
	tickets map[string]string // by the flight's key
	next    time.Time
}

func (l *leads) add(flight, ticket string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tickets == nil {
		l.tickets = make(map[string]string)
	}
	l.tickets[flight] = ticket
}

func (l *leads) end(flight, ticket string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tickets[flight] == ticket {
		delete(l.tickets, flight)
	}
}

// due returns the flights once in a while.
func (l *leads) due(now time.Time) map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.next) || len(l.tickets) == 0 {
		return nil
	}
	l.next = now.Add(renewEvery)
	return maps.Clone(l.tickets)
}

// renewLeads says that this process still leads. What it cannot say ends the lead.
func (s *Store) renewLeads(ctx context.Context) {
	due := s.leads.due(time.Now())
	flights := slices.Collect(maps.Keys(due))
	_ = together(ctx, s, flights, func(pipe goredis.Pipeliner, flight string) *goredis.Cmd {
		return renew.Eval(ctx, pipe, []string{flight}, due[flight], flightLease.Milliseconds())
	}, func(string) {})
}

// Hits are the questions that were answered lately, so that a plain read will do,
// and that read, ready to be sent.
type hits struct {
	slots [4096]atomic.Pointer[hit]
}

type hit struct {
	q       cache.Question
	place   string
	command []any // MGET of the value and its tokens
}

func (h *hits) slot(id [sha256.Size]byte) *atomic.Pointer[hit] {
	return &h.slots[(int(id[0])<<8|int(id[1]))%len(h.slots)]
}

// of returns what is known of a question, nil where that is nothing.
func (h *hits) of(q cache.Question) *hit {
	known := h.slot(q.ID).Load()
	if known == nil || known.q.ID != q.ID || known.q.Server != q.Server || !slices.Equal(known.q.Names, q.Names) {
		return nil
	}
	return known
}

// add takes the keys of a question.
func (h *hits) add(q cache.Question, keys []string) {
	command := []any{"mget", keys[0]}
	for _, token := range keys[2:] {
		command = append(command, token)
	}
	q.Names = slices.Clone(q.Names)
	h.slot(q.ID).Store(&hit{q, keys[0], command})
}

func (h *hits) forget(id [sha256.Size]byte) { h.slot(id).Store(nil) }
