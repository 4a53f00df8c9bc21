package doubt

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrHeld is in the tree of every error that holds a call in this package.
var ErrHeld = errors.New("doubt: held")

// A HeldError reports that a call was not made, since an earlier one with the same effect
// may have happened, or has.
type HeldError struct {
	Tool     *middleware.Tool
	Since    time.Time // when the earlier call was made
	Read     string    // the tool that shows whether it happened, as "server/tool"; "" if none is known
	Happened bool      // the earlier call has happened
}

func (e *HeldError) Error() string {
	may := "may have happened; look whether it did"
	if e.Happened {
		may = "has happened"
	}
	return fmt.Sprintf("doubt: %s was held: a call with the same effect, made at %s, %s", e.Tool, e.Since.UTC().Format(time.RFC3339), may)
}

// NotSent reports that the call was not sent.
func (*HeldError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*HeldError) Permanent() bool { return true }

func (e *HeldError) ForModel() string {
	tool := e.Tool.ModelName()
	earlier := fmt.Sprintf("%s was not called: an earlier call with the same effect, %s ago, ", tool, time.Since(e.Since).Round(time.Second))
	if e.Happened {
		return earlier + "has happened. Call it again only if it is to happen once more."
	}
	look := "First check with a tool that only reads whether it did."
	if server, name, ok := strings.Cut(e.Read, "/"); ok {
		read := middleware.Tool{Server: server, Definition: &mcp.Tool{Name: name}}
		if before, ok := strings.CutSuffix(e.Tool.Called, e.Tool.Name()); ok && server == e.Tool.Server {
			read.Called = before + name // as the model calls the other one
		}
		look = "First check with " + read.ModelName() + " whether it did."
	}
	return earlier + "may have happened. " + look + " If it did not, call it again, which needs the user's agreement."
}

func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// An UnavailableError reports that a call was not made, since it could not be checked whether it repeats one that may
// have happened, or could not be entered as one that other replicas hold.
type UnavailableError struct {
	Tool *middleware.Tool
	Err  error // of the store
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("doubt: %s was not called, since the store of calls in doubt does not answer: %v", e.Tool, e.Err)
}

// Unwrap returns the error of the store.
func (e *UnavailableError) Unwrap() error { return e.Err }

// NotSent reports that the call was not sent.
func (*UnavailableError) NotSent() bool { return true }

// Unavailable reports that nothing about the call itself was at fault.
func (*UnavailableError) Unavailable() bool { return true }

func (e *UnavailableError) ForModel() string {
	return e.Tool.ModelName() + " was not called: a store that prevents a repeated call does not answer now. The call was not denied; try it again later."
}
