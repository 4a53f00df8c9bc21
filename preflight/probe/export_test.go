package probe

import "github.com/fairlead-go/fairlead/internal/shell"

var (
	ShellTableFaults = shell.TableFaults
	ShellCommands    = shell.Commands
)
