//go:build unix

package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/rpc"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Replica is a process of this program that makes calls.
type Replica struct {
	Redis, Server string // their addresses
	Options

	// Asks makes dangerous calls wait for a person. The replica prints the link to its page, and then
	// makes the call that each line of input names and prints "done …" or "denied …".
	Asks bool

	Number int // of this one

	caller middleware.ToolCaller
	mu     sync.Mutex
	out    *json.Encoder
}

// A line is a replica's output: about a call, and at its end how long it did not run.
type line struct {
	world.Event

	Stood time.Duration `json:",omitempty"`
}

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
	begin, err := begins(os.Stdin)
	if err != nil {
		return err
	}
	time.Sleep(time.Until(begin))
	stood := still()
	r.work(ctx)
	return r.out.Encode(line{Stood: max(stood(), 1)})
}

// begins reports to the process that has started this one that it is ready, and returns when all replicas begin.
func begins(in io.Reader) (time.Time, error) {
	if err := os.NewFile(3, "ready").Close(); err != nil {
		return time.Time{}, err
	}
	var at string
	if _, err := fmt.Fscanln(in, &at); err != nil {
		return time.Time{}, fmt.Errorf("when to begin: %w", err)
	}
	return time.Parse(time.RFC3339Nano, at)
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

const variable = "FAIRLEAD_FLEET_REPLICA"
