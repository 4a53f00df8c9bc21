// Package enginetest starts a redis-server of its own for a test.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/redis/internal/engine"
)

// Of starts one for a test, and ends it with the test. Without a redis-server the
// test is skipped, loudly.
func Of(tb testing.TB, args ...string) *engine.Engine {
	tb.Helper()
	e, err := engine.New(context.Background(), tb.TempDir(), args...)
	if errors.Is(err, engine.ErrNone) {
		fmt.Fprintf(os.Stderr, "SKIPPED, NOT TESTED: %s: %v\n", tb.Name(), err)
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Kill)
	return e
}
