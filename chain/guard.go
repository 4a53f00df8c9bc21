package chain

import (
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
)

// ErrRefused is in the tree of every error of a guard that refused a call.
var ErrRefused = guard.ErrRefused

// Guard returns the executor behind a guard, which a catalog and package mount have already and which
// [Standard.Then] adds if it is missing. It refuses a Dangerous or Unknown call without a person's approval of
// exactly this tool, these arguments and this scope, whatever is outside it. A tool has the class that
// infer.New gave it further out, and otherwise is Unknown.
func Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return guard.Classified(executor)
}

// guarded reports whether something from the executor on describes itself as a guard.
func guarded(executor middleware.ToolCaller) bool {
	for d := range turn.Described(executor) {
		if d.Guards {
			return true
		}
	}
	return false
}
