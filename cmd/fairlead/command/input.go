package command

import (
	"context"
	"io"
)

// until returns a reader that ends with a context, with its cause as the error. A read that is under way then stays
// behind until the process ends, since a read of a terminal cannot be interrupted.
func until(ctx context.Context, in io.Reader) io.Reader { return &interruptible{ctx, in} }

type interruptible struct {
	ctx context.Context
	in  io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	type read struct {
		n   int
		err error
	}
	own := make([]byte, min(len(p), 64<<10)) // p is the caller's again before a late read ends
	done := make(chan read, 1)
	go func() {
		n, err := r.in.Read(own)
		done <- read{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}
