package scope

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
)

// CheckArguments refuses a call that preflight found to be more than its tool: of another
// class, or of a higher level, than the scopes cover.
func CheckArguments(ctx context.Context, call middleware.Call, covers func(*middleware.Tool) bool) error {
	found, ok := callstate.Answered(ctx, &call)
	if !ok {
		return nil
	}
	answered := *call.Tool
	answered.Annotations = annotation.Raise(call.Tool.Annotations, found)
	if covers(&answered) {
		return nil
	}
	return &NotCoveredError{Tool: &answered}
}

type refused = fault.Final

// A NotCoveredError refuses a call whose arguments make it more than the scopes of its
// caller cover. The tool is as preflight found it with these arguments.
type NotCoveredError struct {
	refused

	Tool *middleware.Tool
}

func (e *NotCoveredError) Error() string {
	return fmt.Sprintf("catalog: with these arguments %s is %s, which no scope of this caller covers; choose other arguments, or ask for the permission",
		e.Tool, strings.TrimSpace(string(e.Tool.Annotations.SecurityLevel)+" "+e.Tool.Safety().String()))
}

// ForModel tells the model that the arguments are at fault.
func (e *NotCoveredError) ForModel() string {
	return e.Tool.ModelName() + " was not called: with these arguments it is more than this user may do. Choose other arguments, or tell the user that a permission is missing."
}
