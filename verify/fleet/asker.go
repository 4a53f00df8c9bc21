package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/verify/world"
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
	tools, err := world.NewItems()
	if err != nil {
		return err
	}
	caller := chain.Standard{Confirm: hitl.New(in, hitl.Options{Store: store.Approvals(), Timeout: a.Timeout})}.
		Then(world.Guard(remote(a.Server)))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch e := tools.Call(ctx, caller, lines.Text(), "delete", lines.Text(), "", time.Hour); {
		case e.Denied:
			fmt.Println("denied", e.Call, e.Err)
		default:
			fmt.Println("done", e.Call, e.Err)
		}
	}
	select {
	case err := <-served:
		return err
	default:
		return nil
	}
}
