package main

import "fmt"

// goVersion is what every go.mod states: the first release of the lowest minor version that compiles the module. A
// later patch level, or a toolchain, would raise the go line of each module that requires ours.
const goVersion = "1.26.0"

// versionFaults returns the modules that state another version of Go, or a toolchain.
func versionFaults(modules []*module) (faults []string) {
	for _, m := range modules {
		if m.version != goVersion {
			faults = append(faults, fmt.Sprintf("%s/go.mod states go %s; state go %s", local(m.path), m.version, goVersion))
		}
		if m.toolchain != "" {
			faults = append(faults, fmt.Sprintf("%s/go.mod states toolchain %s; remove the line", local(m.path), m.toolchain))
		}
	}
	return faults
}
