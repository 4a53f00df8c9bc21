package probe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ShellTableFaults says what is wrong with the table itself.
func ShellTableFaults() (faults []string) {
	seen := make(map[string]bool)
	for _, row := range shellTable() {
		for name := range strings.SplitSeq(row.names, ", ") {
			if seen[name] {
				faults = append(faults, name+" stands twice")
			}
			seen[name] = true
		}
		for flag := range strings.FieldsSeq(row.flags) {
			if !strings.HasPrefix(flag, "-") || len(flag) < 2 {
				faults = append(faults, fmt.Sprintf("%s: %q is no flag", row.names, flag))
			}
		}
		if (row.operands == matched) != (row.shape != "") {
			faults = append(faults, row.names+": a shape goes with matched operands, and only with them")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if at := strings.LastIndex(name, " "); at >= 0 && !seen[name[:at]] {
			faults = append(faults, name+" has no row above it")
		}
	}
	return faults
}

// ShellCommands returns the names of the table.
func ShellCommands() []string { return slices.Sorted(maps.Keys(shellCommands())) }
