package dial

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// An expander replaces what a configuration only names. The first that is missing is its fault,
// since a server with an empty key fails later and elsewhere.
type expander struct {
	dir   string
	fault error
}

// values returns the values of several objects expanded; of a name that several have, the last counts.
func (x *expander) values(all ...map[string]scalar) map[string]string {
	out := make(map[string]string)
	for _, some := range all {
		for name, value := range some {
			out[name] = x.text(string(value))
		}
	}
	return out
}

// named matches ${env:X}, ${X} and ${X:-default}, the folders of editors, and opencode's {env:X} and {file:X}.
var named = regexp.MustCompile(`\$\{[^}]*\}|\{(?:env|file):[^}]*\}`)

// text returns a text with each variable in it replaced.
func (x *expander) text(s string) string {
	return named.ReplaceAllStringFunc(s, func(written string) string {
		return x.variable(strings.TrimSuffix(strings.TrimLeft(written, "${"), "}"), written)
	})
}

// variable returns what the name stands for, which a fault shows as it was written.
func (x *expander) variable(name, written string) string {
	name, fallback, hasFallback := strings.Cut(name, ":-")
	kind, rest, qualified := strings.Cut(name, ":")
	switch {
	case name == "workspaceFolder":
		return x.workspace()
	case name == "workspaceFolderBasename":
		return filepath.Base(x.workspace())
	case name == "userHome":
		home, err := os.UserHomeDir()
		x.failed(err)
		return home
	case name == "pathSeparator" || name == "/":
		return string(filepath.Separator)
	case qualified && kind != "env":
		x.failed(fmt.Errorf("needs %.100q, which its client asks for or knows; write the value in its place, or the name of a variable that is set", written))
		return ""
	case qualified:
		name = rest
	}
	value, set := os.LookupEnv(name)
	switch {
	case hasFallback && value == "":
		return fallback
	case !set:
		x.failed(fmt.Errorf("needs the variable %.100q, which is not set", name))
	}
	return value
}

func (x *expander) failed(err error) {
	if x.fault == nil {
		x.fault = err
	}
}

// workspace returns the folder of a project's configuration file, or its parent if that is hidden.
func (x *expander) workspace() string {
	dir, err := filepath.Abs(x.dir)
	x.failed(err)
	if strings.HasPrefix(filepath.Base(dir), ".") {
		return filepath.Dir(dir)
	}
	return dir
}
