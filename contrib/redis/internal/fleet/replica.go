package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// childVariable holds the orders of a process that is a replica.
const childVariable = "FAIRLEAD_FLEET_REPLICA"

// orders are what a replica does.
type orders struct {
	Redis, Server, Prefix string
	Key                   []byte
	Replica, Replicas     int
	Calls, Workers        int
	Cold                  int       // keys that all replicas ask for at once, first
	Begin                 time.Time // when all replicas begin
	Items                 int
	PerMinute             float64
	Burst                 int
	Deadline              time.Duration // of a call
	Patience              time.Duration // with Redis, for redis.Options.Timeout
}

// An event is one call as its replica saw it.
type event struct {
	Call, Tool, Item string
	Seq              int64
	Began, Ended     int64
	Denied           bool `json:",omitempty"`
	NotSent          bool `json:",omitempty"`
	Err              string
	Stood            time.Duration `json:",omitempty"` // of the last line alone, which is no call: see still
}

// Main makes this process a replica where it was started as one, and does not
// return then.
func Main() {
	asker, text := os.Getenv(askerVariable), os.Getenv(childVariable)
	if text == "" && asker == "" {
		return
	}
	var err error
	if asker != "" {
		var a Asker
		if err = json.Unmarshal([]byte(asker), &a); err == nil {
			err = a.run()
		}
	} else {
		var o orders
		if err = json.Unmarshal([]byte(text), &o); err == nil {
			err = replica(o)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replica:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func replica(o orders) error {
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	store, err := open(ctx, o.Redis, redis.Options{Key: o.Key, Prefix: o.Prefix, Timeout: o.Patience, Logger: log})
	if err != nil {
		return err
	}
	defer store.Close()
	tools, err := newTools()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	r := &runner{orders: o, tools: tools, out: json.NewEncoder(out)}
	r.caller = chain.Standard{
		Confirm: hitl.New(hitl.ConfirmerFunc(decide), hitl.Options{Store: store.Approvals(), MaxPending: 10_000}),
		Cache: cache.New(cache.Options{Remote: store.Cache(), Entities: map[string][]string{
			"ledger/get_item": {"id"}, "ledger/put_item": {"id"}, "ledger/delete_item": {"id"},
		}}),
		Retry: retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{
			PerMinute: o.PerMinute, Burst: o.Burst, Shared: store.Limiter(), Replicas: o.Replicas,
		}),
		Timeout: timeout.New(timeout.Options{}),
	}.Then(guard.New(middleware.ToolCallerFunc(r.execute), func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil }))
	time.Sleep(time.Until(o.Begin))
	stood := still()
	r.run(ctx)
	return r.out.Encode(event{Stood: max(stood(), 1)})
}

// still measures from now on for how long this process does not come to run, and
// returns what says how long that was at most.
func still() (longest func() time.Duration) {
	const every = 5 * time.Millisecond
	over, most := make(chan struct{}), make(chan time.Duration)
	go func() {
		found := time.Duration(0)
		for last := time.Now(); ; {
			select {
			case <-time.After(every):
				now := time.Now()
				found, last = max(found, now.Sub(last)-every), now
			case <-over:
				most <- max(found, time.Since(last)-every)
				return
			}
		}
	}()
	return func() time.Duration { close(over); return <-most }
}

// open tries again where an answer was late, on a machine that does much else.
func open(ctx context.Context, url string, o redis.Options) (store *redis.Store, err error) {
	for range 20 {
		if store, err = redis.Open(ctx, url, o); err == nil {
			break
		}
	}
	return store, err
}

func newTools() (map[string]*middleware.Tool, error) {
	tools := make(map[string]*middleware.Tool)
	for name, known := range map[string]annotation.Annotations{
		"get_item": annotation.ReadOnly(), "list_items": annotation.ReadOnly(), "put_item": annotation.Write(), "delete_item": annotation.Destructive(),
	} {
		tool, err := middleware.NewTool("ledger", &mcp.Tool{Name: name}, known)
		if err != nil {
			return nil, err
		}
		tools[name] = tool
	}
	return tools, nil
}

// decide says no to what is named so: every third deletion.
func decide(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	if strings.HasSuffix(r.CallID, "-no") {
		return hitl.Decision{}, nil
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "fleet"}, nil
}

type runner struct {
	orders

	tools  map[string]*middleware.Tool
	caller middleware.ToolCaller
	mu     sync.Mutex
	out    *json.Encoder
}

// run asks for the cold keys, as all others do, and then for whatever comes.
func (r *runner) run(ctx context.Context) {
	var workers sync.WaitGroup
	for w := range r.Workers {
		workers.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(r.Replica), uint64(w)))
			for i := range r.Cold {
				r.call(ctx, fmt.Sprintf("%d-%d-cold-%d", r.Replica, w, i), "get_item", "cold "+strconv.Itoa(i))
			}
			for i := range r.Calls/r.Workers - r.Cold {
				id, item := fmt.Sprintf("%d-%d-%d", r.Replica, w, i), strconv.Itoa(dice.IntN(r.Items))
				switch at := dice.IntN(100); {
				case at < 82:
					r.call(ctx, id, "get_item", item)
				case at < 90:
					r.call(ctx, id, "list_items", "")
				case at < 97:
					r.call(ctx, id, "put_item", item)
				case at < 99:
					r.call(ctx, id+"-yes", "delete_item", item)
				default:
					r.call(ctx, id+"-no", "delete_item", item)
				}
			}
		})
	}
	workers.Wait()
}

// call makes a call and writes down what came of it.
func (r *runner) call(ctx context.Context, id, tool, item string) {
	ctx, cancel := context.WithTimeout(ctx, r.Deadline)
	defer cancel()
	arguments := map[string]string{}
	if item != "" {
		arguments["id"] = item
	}
	if tool != "get_item" && tool != "list_items" {
		arguments["note"] = id
	}
	form, _ := json.Marshal(arguments)
	e := event{Call: id, Tool: tool, Item: item, Began: time.Now().UnixNano()}
	res, err := r.caller.CallTool(ctx, middleware.Call{ID: id, Tool: r.tools[tool], Arguments: form})
	e.Ended = time.Now().UnixNano()
	if err != nil {
		e.Err, e.Denied, e.NotSent = err.Error(), errors.Is(err, hitl.ErrDenied), middleware.NotSent(err)
	} else {
		e.Seq, _ = strconv.ParseInt(res.Content[0].(*mcp.TextContent).Text, 10, 64)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Encode(e)
}

// execute sends the call to the server.
func (r *runner) execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	var arguments struct{ ID, Note string }
	if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
		return nil, err
	}
	form, _ := json.Marshal(request{call.ID, call.Tool.Name(), arguments.ID})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Server, bytes.NewReader(form))
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server: %s", text)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.TrimSpace(string(text))}}}, nil
}
