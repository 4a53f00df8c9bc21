package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
)

// ErrUnknownTool is in the tree of every error about a tool that is not there.
var ErrUnknownTool = errors.New("catalog: unknown tool")

// An UnknownToolError reports that the catalog has no such tool. Server is "" if the name was given without one.
type UnknownToolError struct {
	Server, Tool string
}

func (e *UnknownToolError) Error() string {
	if e.Server == "" {
		return fmt.Sprintf("catalog: there is no tool %q of any server; list the tools again", e.Tool)
	}
	return fmt.Sprintf("catalog: there is no tool %q of server %q; list the tools again", e.Tool, e.Server)
}

// NotSent reports that the call was not sent.
func (*UnknownToolError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*UnknownToolError) Permanent() bool { return true }

func (e *UnknownToolError) ForModel() string {
	return "There is no such tool any more. Choose one from the list of tools."
}

func (e *UnknownToolError) Is(target error) bool { return target == ErrUnknownTool }

// An AmbiguousError reports that several servers have a tool of this name.
type AmbiguousError struct {
	Name  string
	Tools []*middleware.Tool
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("catalog: %q is a tool of several servers: write %s", e.Name, e.join((*middleware.Tool).String, " or "))
}

// NotSent reports that the call was not sent.
func (*AmbiguousError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*AmbiguousError) Permanent() bool { return true }

func (e *AmbiguousError) ForModel() string {
	return "Several tools have that name. Nothing was called. Call one of them by its full name: " + e.join((*middleware.Tool).ModelName, ", ") + "."
}

func (e *AmbiguousError) join(name func(*middleware.Tool) string, separator string) string {
	names := make([]string, len(e.Tools))
	for i, tool := range e.Tools {
		names[i] = name(tool)
	}
	return strings.Join(names, separator)
}

// A ChangedError reports that the accepted definition is not the one of the call.
type ChangedError struct {
	Tool *middleware.Tool
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("catalog: the definition of %s is not the one that this call was made for; look the tool up again", e.Tool)
}

// NotSent reports that the call was not sent.
func (*ChangedError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*ChangedError) Permanent() bool { return true }

func (e *ChangedError) ForModel() string {
	return e.Tool.ModelName() + " was not called: what it does or takes has changed since it was listed. Look it up again before you use it."
}

// A NotCoveredError refuses a call whose arguments make it more than the scopes of its caller cover. Tool has the class
// of the call with these arguments.
type NotCoveredError struct{ Tool *middleware.Tool }

func (e *NotCoveredError) Error() string {
	return fmt.Sprintf("catalog: with these arguments %s is %s, which no scope of this caller covers; choose other arguments, or ask for the permission",
		e.Tool, strings.TrimSpace(string(e.Tool.Annotations.SecurityLevel)+" "+e.Tool.Safety().String()))
}

// NotSent reports that the call was not sent.
func (*NotCoveredError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*NotCoveredError) Permanent() bool { return true }

func (e *NotCoveredError) ForModel() string {
	return e.Tool.ModelName() + " was not called: with these arguments it is more than this user may do. Choose other arguments, or tell the user that a permission is missing."
}

// A ReplicaError reports that a replica does not have the tool in the accepted definition. Nothing was sent.
type ReplicaError struct {
	Tool    *middleware.Tool
	Replica string
}

func (e *ReplicaError) Error() string {
	return fmt.Sprintf("catalog: the replica %s does not have %s in the accepted definition; bring it up to date, or call another", e.Replica, e.Tool)
}

// NotSent reports that the call was not sent.
func (*ReplicaError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*ReplicaError) Permanent() bool { return true }

// NotOffered reports to package route that another replica may have the tool.
func (e *ReplicaError) NotOffered() bool { return true }

func (e *ReplicaError) ForModel() string {
	return fmt.Sprintf("%s was not called: the server that was asked has another version of it. Try again later.", e.Tool.ModelName())
}
