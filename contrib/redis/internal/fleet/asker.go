package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
)

// An Asker is a replica whose dangerous calls wait for a person: its page is at the
// link that it prints first, and it makes one call for each line that it reads.
type Asker struct {
	Redis, Server string
	Key           []byte
	Timeout       time.Duration // of a question
	Patience      time.Duration // with Redis, for redis.Options.Timeout
}

const askerVariable = "FAIRLEAD_FLEET_ASKER"

// Environment is what makes a process of this program such a replica.
func (a Asker) Environment() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts and bytes only
	}
	return askerVariable + "=" + string(text)
}

// run prints "link …", and for each call "asked", and "done" or "denied …".
func (a Asker) run() error {
	ctx := context.Background()
	store, err := open(ctx, a.Redis, redis.Options{Key: a.Key, Timeout: a.Patience, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer store.Close()
	in := inbox.New(inbox.Options{Board: store.Board()})
	served := make(chan error, 1)
	go func() {
		served <- in.ListenAndServe(ctx, "127.0.0.1:0", func(origin string) { fmt.Println("link", in.Link(origin, "ada")) })
	}()
	tools, err := newTools()
	if err != nil {
		return err
	}
	r := &runner{orders: orders{Server: a.Server}, tools: tools}
	caller := chain.Standard{Confirm: hitl.New(in, hitl.Options{Store: store.Approvals(), Timeout: a.Timeout})}.
		Then(guard.New(middleware.ToolCallerFunc(r.execute), func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil }))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		id := lines.Text()
		form, _ := json.Marshal(map[string]string{"id": id})
		_, err := caller.CallTool(ctx, middleware.Call{ID: id, Tool: tools["delete_item"], Arguments: form})
		switch {
		case errors.Is(err, hitl.ErrDenied):
			fmt.Println("denied", id, err)
		default:
			fmt.Println("done", id, err)
		}
	}
	select {
	case err := <-served:
		return err
	default:
		return nil
	}
}

// A Ledger is the server, for tests.
type Ledger struct{ *server }

// NewLedger starts a server; it ends with its process.
func NewLedger() (Ledger, error) {
	s, err := newServer()
	return Ledger{s}, err
}

// URL is where it is.
func (l Ledger) URL() string { return l.url }

// Executed returns how often a call was.
func (l Ledger) Executed(call string) (n int) {
	for _, x := range l.executions() {
		if x.Call == call {
			n++
		}
	}
	return n
}
