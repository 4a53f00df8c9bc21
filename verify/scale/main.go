// Command scale measures what docs/scale.md says: bytes and operations on a
// redis-server of its own, and the plan for a hundred replicas as a simulation.
//
//	go -C verify run ./scale            # all of it, about a minute
//	go -C verify run ./scale -troubles  # four replicas, and what happens to Redis
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/verify/fleet"
	"github.com/redis/go-redis/v9/logging"
)

func main() {
	fleet.Main()
	logging.Disable() // of go-redis, which has one for the whole process
	troubles := flag.Bool("troubles", false, "play four replicas, and what may happen to Redis")
	flag.Parse()
	ctx := context.Background()
	run := measure
	if *troubles {
		run = play
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// start starts a redis-server in a folder that end removes.
func start(ctx context.Context) (e *redistest.Server, end func(), err error) {
	dir, err := os.MkdirTemp("", "fairlead-scale-")
	if err != nil {
		return nil, nil, err
	}
	e, err = redistest.Run(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	return e, func() {
		e.Kill()
		_ = os.RemoveAll(dir) // what is left is the system's to clean
	}, nil
}

// play plays the fleet with each of the troubles.
func play(ctx context.Context) error {
	fmt.Printf("%-42s %6s %9s %7s %7s %9s %9s %9s %10s %s\n", "Redis was", "calls", "at server", "denied", "failed", "p50", "p99", "max", "over quota", "broken promises")
	for _, trouble := range fleet.Troubles {
		e, end, err := start(ctx)
		if err != nil {
			return err
		}
		r, err := fleet.Run(ctx, e, fleet.Options{Calls: 12_000, Cold: 1, PerMinute: 90_000, Burst: 100, Trouble: trouble, After: fleet.InTheMiddle})
		end()
		if err != nil {
			return err
		}
		fmt.Printf("%-42s %6d %9d %7d %7d %9s %9s %9s %10.0f %d\n", trouble.Name, r.Calls, r.Server, r.Denied, r.Failed-r.Denied,
			short(r.P50), short(r.P99), short(r.Max), max(r.Over, 0), len(r.Broken))
		for _, broken := range r.Broken {
			fmt.Println("  ", broken)
		}
	}
	return nil
}
