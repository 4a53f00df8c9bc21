// Command fleet makes 1,000 calls of three real MCP servers, two of which stand for
// the same one: orders has a primary and a flaky copy, and archive declares that
// its deletion only reads. It prints who served what, and looks into the servers'
// own books for what must not have happened.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
)

func main() {
	if name := os.Getenv(serverKey); name != "" {
		if err := serve(name); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// calls is how many are made.
const calls = 1000

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "fairlead-fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := assemble(ctx, dir)
	if err != nil {
		return err
	}
	defer f.close()
	f.introduce()
	answers := f.work(ctx)
	books, err := read(dir)
	if err != nil {
		return err
	}
	f.report(answers, books)
	return errors.Join(f.promises(answers, books)...)
}
