package chain

import (
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// Recover returns a middleware that turns a panic further in into a [*PanicError], and neither or both of result
// and error into an error. The outcome of an unsafe call that panicked is unknown. A [Standard] has it already.
func Recover() middleware.Middleware {
	return fault.Recover
}

// A PanicError is a panic further in, see [middleware.PanicError].
type PanicError = middleware.PanicError
