//go:build unix

// Package fleet runs a host of several replicas, each a process of its own, on one Redis and one
// server with a ledger, and reports which promises were broken.
package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
)

// Options are what a fleet does.
type Options struct {
	Calls     int           // of all replicas
	Cold      int           // keys that each worker asks for first
	PerMinute float64       // the quota of all replicas
	Trouble   Trouble       `json:"-"` // happens to the engine while calls are under way
	Patience  time.Duration // of the replicas with Redis; 0 is what they have by themselves
}

const (
	replicas = 4
	burst    = 100 // of the quota
	// inTheMiddle is when a trouble begins, so that there are calls before and after it.
	inTheMiddle = 800 * time.Millisecond
	items       = 300
	workers     = 8 // of each replica, and so many calls may be on their way
	deadline    = 10 * time.Second
	// slack is what a machine with much else to do may add to a deadline.
	slack = 20 * time.Second
)

// A Result is how the fleet's run went.
type Result struct {
	Calls, Server, Failed, Denied int
	P50, P99, Max                 time.Duration
	Took                          time.Duration
	Over                          float64  // by how many calls the quota was exceeded at most
	Twice                         int      // cold keys that were fetched more than once
	Broken                        []string // promises, in words
	// Stood is the longest time without progress of a process. Excused is how many of the broken
	// promises assume processes that run.
	Stood   time.Duration
	Excused int
	Log     string // what the replicas logged
}

// Run plays a fleet on the engine.
func Run(ctx context.Context, e *redistest.Server, o Options) (*Result, error) {
	s, err := NewServer()
	if err != nil {
		return nil, err
	}
	begin := time.Now().Add(700 * time.Millisecond)
	type child struct {
		cmd      *exec.Cmd
		out, log bytes.Buffer
	}
	children := make([]*child, replicas)
	for i := range children {
		cmd, err := (&Replica{Redis: e.URL(), Server: s.Address, Options: o, Number: i, Begin: begin}).Command(ctx)
		if err != nil {
			return nil, err
		}
		c := &child{cmd: cmd}
		c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.log
		if err := c.cmd.Start(); err != nil {
			return nil, err
		}
		children[i] = c
	}
	stood := still() // the server is in this process
	var trouble error
	if o.Trouble.Do != nil {
		time.Sleep(time.Until(begin.Add(inTheMiddle)))
		trouble = o.Trouble.Do(e)
	}
	r := &Result{}
	var events []world.Event
	for i, c := range children {
		if err := c.cmd.Wait(); err != nil {
			return nil, fmt.Errorf("replica %d: %w\n%s", i, err, c.log.String())
		}
		r.Log += c.log.String()
		for lines := json.NewDecoder(&c.out); lines.More(); {
			var e line
			if err := lines.Decode(&e); err != nil {
				return nil, fmt.Errorf("replica %d: %w", i, err)
			}
			if r.Stood = max(r.Stood, e.Stood); e.Stood == 0 {
				events = append(events, e.Event)
			}
		}
	}
	r.Stood = max(r.Stood, stood())
	r.Took = time.Since(begin)
	r.judge(o, events, s.Ledger.All())
	return r, trouble
}

func (r *Result) judge(o Options, events []world.Event, ledger []world.Execution) {
	r.Calls, r.Server = len(events), len(ledger)
	var late []string // broken promises that a stopped process may cause
	var took []time.Duration
	for _, e := range events {
		took = append(took, e.Ended.Sub(e.Began))
		if e.Err != "" {
			r.Failed++
		}
		if e.Denied {
			r.Denied++
		}
		if took := e.Ended.Sub(e.Began); took > deadline+slack {
			late = append(late, fmt.Sprintf("the call %s took %v, and had %v", e.Call, took, deadline))
		}
	}
	if slices.Sort(took); len(took) > 0 {
		r.P50, r.P99, r.Max = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	}
	r.Twice = world.Again(ledger, cold)
	r.Over = world.Peak(ledger, o.PerMinute) - burst
	// Calls that were admitted one after the other may arrive at once: the server lags by those in flight.
	if most := float64(replicas*workers + o.Trouble.Bursts*burst); r.Over > most {
		late = append(late, fmt.Sprintf("the quota was exceeded by %.0f calls; what was done to the engine may cost %d bursts of %d, and %d calls were on their way", r.Over, o.Trouble.Bursts, burst, replicas*workers))
	}
	late = append(late, world.Reads(events)...)
	r.Excused = len(late)
	r.Broken = append(world.Writes(events, ledger), late...)
}

// cold is the prefix of the items that all replicas ask for at once.
const cold = "cold "

// A Trouble is something that happens to an engine in the middle.
type Trouble struct {
	Name   string
	Do     func(*redistest.Server) error
	Bursts int // beyond the quota that are allowed: one for each loss of data that no replica can notice
}

// Troubles are all troubles.
var Troubles = []Trouble{
	{Name: "nothing"},
	{Name: "killed, back after 1.5 s", Do: func(e *redistest.Server) error {
		e.Kill()
		time.Sleep(1500 * time.Millisecond)
		return e.Start()
	}},
	{Name: "paused for 0.4 s", Do: func(e *redistest.Server) error { return pause(e, 400*time.Millisecond) }},
	{Name: "paused for 2 s", Do: func(e *redistest.Server) error { return pause(e, 2*time.Second) }},
	{Name: "flushed, three times", Do: func(e *redistest.Server) error {
		for range 3 {
			if err := tell(e, "FLUSHALL"); err != nil {
				return err
			}
			time.Sleep(200 * time.Millisecond)
		}
		return nil
	}, Bursts: 3},
	{Name: "full for 1.5 s", Do: func(e *redistest.Server) error {
		if err := tell(e, "CONFIG", "SET", "maxmemory", "1"); err != nil {
			return err
		}
		time.Sleep(1500 * time.Millisecond)
		return tell(e, "CONFIG", "SET", "maxmemory", "0")
	}},
	{Name: "restarted with what it knew 0.5 s before", Do: func(e *redistest.Server) error {
		if err := tell(e, "SAVE"); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond)
		e.Kill()
		return e.Start()
	}},
}

func pause(e *redistest.Server, d time.Duration) error {
	if err := e.Pause(); err != nil {
		return err
	}
	time.Sleep(d)
	return e.Resume()
}

func tell(e *redistest.Server, command ...any) error {
	o, err := goredis.ParseURL(e.URL())
	if err != nil {
		return err
	}
	c := goredis.NewClient(o)
	return errors.Join(c.Do(context.Background(), command...).Err(), c.Close())
}

// A Replica is a process of this program that makes calls.
type Replica struct {
	Redis, Server string // their addresses
	Options

	// Asks makes dangerous calls wait for a person. The replica prints the link to its page, and then
	// makes the call that each line of input names and prints "done …" or "denied …".
	Asks bool

	Number int       // of this one
	Begin  time.Time // when all replicas begin

	caller middleware.ToolCaller
	mu     sync.Mutex
	out    *json.Encoder
}

// A line is a replica's output: about a call, and at its end how long it did not run.
type line struct {
	world.Event

	Stood time.Duration `json:",omitempty"`
}

const variable = "FAIRLEAD_FLEET_REPLICA"

// Command returns a command that runs the replica.
func (r *Replica) Command(ctx context.Context) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	return cmd, nil
}

// Main makes this process a replica if it was started as one, and does not return then.
func Main() {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	var r Replica
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replica:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (r *Replica) run(ctx context.Context) error {
	store, err := open(ctx, r.Redis, redis.Options{
		Key: bytes.Repeat([]byte("k"), 32), Prefix: "fleet", Timeout: r.Patience, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	defer store.Close()
	server, err := remote(r.Server)
	if err != nil {
		return err
	}
	if r.Asks {
		return r.ask(ctx, store, server)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	r.out = json.NewEncoder(out)
	r.caller = chain.Standard{
		Confirm: hitl.New(hitl.ConfirmerFunc(world.Decide), hitl.Options{Store: store.Approvals(), MaxPending: 10_000}),
		Cache:   cache.New(cache.Options{Remote: store.Cache(), Entities: world.ItemEntities}),
		Retry:   retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{
			PerMinute: r.PerMinute, Burst: burst, Shared: store.Limiter(), Replicas: replicas,
		}),
		Timeout: timeout.New(timeout.Options{}),
	}.Then(world.Guard(server))
	time.Sleep(time.Until(r.Begin))
	stood := still()
	r.work(ctx)
	return r.out.Encode(line{Stood: max(stood(), 1)})
}

func (r *Replica) ask(ctx context.Context, store *redis.Store, server middleware.ToolCaller) error {
	in := inbox.New(inbox.Options{Board: store.Board()})
	served := make(chan error, 1)
	go func() {
		served <- in.ListenAndServe(ctx, "127.0.0.1:0", func(origin string) { fmt.Println("link", in.Link(origin, "ada")) })
	}()
	caller := chain.Standard{Confirm: hitl.New(in, hitl.Options{Store: store.Approvals(), Timeout: 5 * time.Minute})}.
		Then(world.Guard(server))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		e, said := world.CallItem(ctx, caller, lines.Text(), "delete", lines.Text(), "", time.Hour), "done"
		if e.Denied {
			said = "denied"
		}
		fmt.Println(said, e.Call, e.Err)
	}
	select {
	case err := <-served:
		return err
	default:
		return nil
	}
}

// still measures for how long this process does not run, and returns a func that reports the longest time.
func still() (longest func() time.Duration) {
	const every = 5 * time.Millisecond
	ctx, stop := context.WithCancel(context.Background())
	most := make(chan time.Duration)
	go func() {
		found := time.Duration(0)
		for last := time.Now(); ctx.Err() == nil; {
			_ = world.Wait(ctx, every)
			now := time.Now()
			found, last = max(found, now.Sub(last)-every), now
		}
		most <- found
	}()
	return func() time.Duration { stop(); return <-most }
}

// open tries again if an answer was late, as on a busy machine.
func open(ctx context.Context, url string, o redis.Options) (store *redis.Store, err error) {
	for range 20 {
		if store, err = redis.Open(ctx, url, o); err == nil {
			break
		}
	}
	return store, err
}

func (r *Replica) work(ctx context.Context) {
	var working sync.WaitGroup
	for w := range workers {
		working.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(r.Number), uint64(w)))
			for i := range r.Cold {
				r.call(ctx, fmt.Sprintf("%d-%d-cold-%d", r.Number, w, i), "get", cold+strconv.Itoa(i))
			}
			for i := range r.Calls/replicas/workers - r.Cold {
				id, item := fmt.Sprintf("%d-%d-%d", r.Number, w, i), strconv.Itoa(dice.IntN(items))
				switch at := dice.IntN(100); {
				case at < 82:
					r.call(ctx, id, "get", item)
				case at < 90:
					r.call(ctx, id, "list", "")
				case at < 97:
					r.call(ctx, id, "put", item)
				case at < 99:
					r.call(ctx, id+"-yes", "delete", item)
				default:
					r.call(ctx, id+world.Deny, "delete", item)
				}
			}
		})
	}
	working.Wait()
}

func (r *Replica) call(ctx context.Context, id, tool, item string) {
	note := ""
	if tool == "put" || tool == "delete" {
		note = id
	}
	e := world.CallItem(ctx, r.caller, id, tool, item, note, deadline)
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Encode(line{Event: e})
}

// remote sends calls to the server at an address.
func remote(address string) (middleware.ToolCaller, error) {
	client, err := rpc.Dial("tcp", address)
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		q, err := world.RequestOf(call)
		if err != nil {
			return nil, err
		}
		var version int64
		made := client.Go("Server.Execute", q, &version, make(chan *rpc.Call, 1))
		select {
		case <-made.Done:
			if made.Error != nil {
				return nil, made.Error
			}
			return world.Result(version), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}), err
}

// A Server is a server of the world over net/rpc. It ends with its process.
type Server struct {
	Address string
	Ledger  world.Ledger

	things world.Server
}

// NewServer starts a server.
func NewServer() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Address: listener.Addr().String()}
	s.things.Ledger = &s.Ledger
	served := rpc.NewServer()
	if err := served.Register(s); err != nil {
		return nil, err
	}
	go served.Accept(listener)
	return s, nil
}

// Execute executes a call. One in a hundred loses its answer after the effect.
func (s *Server) Execute(q world.Request, version *int64) error {
	*version = s.things.Execute(q.Call, q.Kind, func() { time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond) }, q.Things...)
	if isCold := len(q.Things) == 1 && strings.HasPrefix(q.Things[0], cold); !isCold && rand.IntN(100) == 0 { // a lost answer is asked for again
		return errors.New("the answer was lost")
	}
	return nil
}
