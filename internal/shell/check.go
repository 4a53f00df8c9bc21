package shell

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TableFaults returns what is wrong with the table itself.
func TableFaults() (faults []string) {
	kinds := []operands{anything, globs, nothing, matched, urls, group}
	named := 0
	for line := range strings.Lines(strings.ReplaceAll(shellFile, "\n\t", " ")) {
		if names, _, ok := strings.Cut(line, ": "); ok && !strings.ContainsAny(line[:1], "#$\t") {
			named += 1 + strings.Count(names, ", ")
		}
	}
	if commands := len(shellCommands()); named != commands {
		faults = append(faults, fmt.Sprintf("%d names for %d commands: one is there twice", named, commands))
	}
	for name, cmd := range shellCommands() {
		for flag := range cmd.flags {
			if !strings.HasPrefix(flag, "-") || len(flag) < 2 {
				faults = append(faults, fmt.Sprintf("%s: %q is no flag", name, flag))
			}
		}
		if !slices.Contains(kinds, cmd.operands) || (cmd.operands == matched) != (cmd.shape != nil) {
			faults = append(faults, name+": a shape goes with matched operands, and only with them: "+string(cmd.operands))
		}
		if at := strings.LastIndex(name, " "); at >= 0 {
			if _, above := shellCommands()[name[:at]]; !above {
				faults = append(faults, name+" has no row above it")
			}
		}
	}
	return faults
}

// Commands returns the names of the table.
func Commands() []string { return slices.Sorted(maps.Keys(shellCommands())) }
