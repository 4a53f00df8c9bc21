package timeout_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/timeout"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, timeout.New(timeout.Options{}))
}
