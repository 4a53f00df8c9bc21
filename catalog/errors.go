package catalog

import (
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/middleware"
)

// ErrUnknownTool is in the tree of every error about a tool that is not there.
var ErrUnknownTool = errors.New("catalog: unknown tool")

// An UnknownToolError says that the catalogue has no such tool. Server is "" where
// the name was given without one.
type UnknownToolError struct{ Server, Tool string }

func (e *UnknownToolError) Error() string {
	if e.Server == "" {
		return fmt.Sprintf("catalog: there is no tool %q of any server; list the tools again", e.Tool)
	}
	return fmt.Sprintf("catalog: there is no tool %q of server %q; list the tools again", e.Tool, e.Server)
}

// ForModel tells the model to choose another tool.
func (e *UnknownToolError) ForModel() string {
	return "There is no such tool any more. Choose one from the list of tools."
}

// Is reports whether target is [ErrUnknownTool].
func (e *UnknownToolError) Is(target error) bool { return target == ErrUnknownTool }

// NotSent reports that the call did not leave.
func (e *UnknownToolError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (e *UnknownToolError) Permanent() bool { return true }

// A ChangedError says that the definition that the call was made for is no longer
// the accepted one.
type ChangedError struct{ Tool *middleware.Tool }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("catalog: the definition of %s is not the one that this call was made for; look the tool up again", e.Tool)
}

// ForModel says why the call was turned away.
func (e *ChangedError) ForModel() string {
	return e.Tool.ModelName() + " was not called: what it does or takes has changed since it was listed. Look it up again before you use it."
}

// NotSent reports that the call did not leave.
func (e *ChangedError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (e *ChangedError) Permanent() bool { return true }
