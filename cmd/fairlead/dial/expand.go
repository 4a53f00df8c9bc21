package dial

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/childenv"
)

// An expander replaces what a configuration only names. The first that is missing is its fault,
// since a server with an empty key fails later and elsewhere.
type expander struct {
	dir   string
	fault error

	client kind
	env    func() map[string]string // of a file that the client reads, beside those of the process; nil for none
}

// values returns the values of several objects expanded; of a name that several have, the last counts.
func (x *expander) values(all ...map[string]scalar) map[string]string {
	out := make(map[string]string)
	for _, some := range all {
		for name, value := range some {
			out[name] = x.value(string(value))
		}
	}
	return out
}

// named matches ${env:X}, ${X} and ${X:-default}, the folders of editors, and opencode's {env:X} and {file:X}.
var named = regexp.MustCompile(`\$\{[^}]*\}|\{(?:env|file):[^}]*\}`)

// text returns a string with each variable in it replaced.
func (x *expander) text(s string) string {
	form := named
	if x.client == gemini || x.client == copilot {
		form = dollar
	}
	return form.ReplaceAllStringFunc(s, func(written string) string {
		return x.variable(strings.TrimSuffix(strings.TrimLeft(written, "${"), "}"), written)
	})
}

// dollar matches $X as well.
var dollar = regexp.MustCompile(`\$\{[^}]*\}|\{(?:env|file):[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)

// bare matches $X as people write the names of variables.
var bare = regexp.MustCompile(`\$[A-Z_][A-Z0-9_]+\b`)

// value returns a text that is sent or set, with each variable in it replaced. Whether $X is a variable is known of known
// clients alone.
func (x *expander) value(s string) string {
	if written := bare.FindString(s); written != "" && x.client == anyClient {
		x.failed(fmt.Errorf("has %.100q, which some clients replace and others send as it is; write ${%s}", written, written[1:]))
	}
	if written := substitution.FindString(s); written != "" && x.client == anyClient {
		x.failed(fmt.Errorf("has %.100q, which some clients run as a command and others send as it is; write the value, or a variable", written))
	}
	return x.text(s)
}

// substitution matches a command as shells, and Crush, write it.
var substitution = regexp.MustCompile(`\$\([^()]+\)`)

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
	case name == "extensionPath" && x.client == gemini:
		return x.dir
	case qualified && kind == "file" && (x.client == opencode || x.client == windsurf):
		return x.file(rest, written)
	case qualified && kind != "env":
		x.failed(fmt.Errorf("needs %.100q, which its client asks for or knows; write the value in its place, or the name of a variable that is set", written))
		return ""
	case qualified:
		name = rest
	}
	if childenv.Own(name) {
		x.failed(fmt.Errorf("needs the variable %.100q, which is Fairlead's own and is given to no server", name))
		return ""
	}
	value, set := os.LookupEnv(name)
	if !set && x.env != nil {
		value, set = x.env()[name]
	}
	switch {
	case hasFallback && value == "":
		return fallback
	case !set:
		x.failed(fmt.Errorf("needs the variable %.100q, which is not set", name))
	}
	return value
}

// file returns the text of a file, whose name is relative to the folder of the configuration or to the home folder.
func (x *expander) file(name, written string) string {
	if rest, atHome := strings.CutPrefix(name, "~/"); atHome {
		name = filepath.Join(homeDir(), rest)
	} else if !filepath.IsAbs(name) {
		name = filepath.Join(x.dir, name)
	}
	text, err := read(name)
	if err != nil {
		x.failed(fmt.Errorf("needs %.200q: %w", written, err))
	}
	return strings.TrimSpace(string(text))
}

func (x *expander) failed(err error) {
	if x.fault == nil {
		x.fault = err
	}
}

// path returns the name of a file that is relative to the project's folder.
func (x *expander) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(x.workspace(), name)
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
