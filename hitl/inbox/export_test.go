package inbox

import (
	"context"
	"net"
)

// Serve serves on a listener of the test's.
func (in *Inbox) Serve(ctx context.Context, l net.Listener) error { return in.serve(ctx, l) }

// Kept is how many questions are known at all.
func (in *Inbox) Kept() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.waiting) + len(in.past)
}

// Limits.
const (
	MaxHistory = maxHistory
	MaxCards   = maxCards
	MaxReason  = maxReason
	MaxBody    = maxBody
)

// Editable is the text of the editor.
var Editable = editable
