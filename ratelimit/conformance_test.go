package ratelimit_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/ratelimit"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("only hints", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, ratelimit.New(ratelimit.Options{}))
	})
	t.Run("with room", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, ratelimit.New(ratelimit.Options{PerMinute: 1e9}))
	})
}
