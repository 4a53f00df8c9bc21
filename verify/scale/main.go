// Command scale measures what docs/scale.md says: bytes and operations on a redis-server
// of its own, and the plan for a hundred replicas as a simulation.
//
//	go -C verify run ./scale            # about a minute
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // of go-redis, which has one for the whole process
	flag.Parse()
	if err := measure(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}
