// Package languages states which languages of arguments are judged, and by which probe. It is the one list of them, for
// the library and the program, and what counts if the host sets nothing.
package languages

import (
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/paths"
	"github.com/fairlead-go/fairlead/internal/probes"
	"github.com/fairlead-go/fairlead/internal/shell"
)

// Verb is the language of a text that chooses what a tool does. It is not among Names, since its probe only raises a class: no
// other text may be judged by it, and it may not be judged as another one.
const Verb = "verb"

// A Probe reads a text of one language. One that it does not understand is not a read.
type Probe func(text string) probes.Verdict

// all has the languages by the names that conditions use, see [annotation.Condition].Language.
var all = map[string]Probe{
	"cron":        probes.Cron,
	"cypher":      probes.Cypher,
	"glob":        probes.Glob,
	"graphql":     probes.GraphQL,
	"http":        probes.Request,
	"http-local":  probes.LocalRequest, // of a tool that is meant for addresses inside
	"jq":          probes.JQ,
	"mongodb":     probes.MongoDB,
	"posix-shell": shell.Shell,
	"powershell":  shell.AnyShell, // what reads in any shell
	"promql":      probes.PromQL,
	"regex":       probes.Regex,
	"shell":       shell.AnyShell, // if no shell is named
	"sql":         probes.SQL,
	"template":    probes.Template,
}

// inFolders has the languages whose texts name files, by the probe that judges them with roots.
var inFolders = map[string]func(text string, roots *paths.Roots) probes.Verdict{
	"posix-shell": shell.In,
	"powershell":  shell.AnyIn,
	"shell":       shell.AnyIn,
}

// HasFiles reports whether texts of a language name files.
func HasFiles(language string) bool { return inFolders[language] != nil }

// In judges a text of a language with the roots that a host gave. It returns false for a language whose texts name no files.
func In(language, text string, roots *paths.Roots) (v probes.Verdict, ok bool) {
	probe := inFolders[language]
	if probe == nil {
		return v, false
	}
	return probe(text, roots), true
}

// Names returns the languages that have a probe, sorted.
func Names() []string { return slices.Sorted(maps.Keys(all)) }

// Family returns the language that a language is a kind of: a setting for "shell" is also one for "posix-shell", unless
// that has its own. It is "" for an unknown language.
func Family(language string) string {
	switch language {
	case "posix-shell", "powershell":
		return "shell"
	case "http-local":
		return "http"
	}
	return ""
}

// Of returns the probe of a language, nil if there is none.
func Of(language string) Probe { return all[language] }

// Judge is the [annotation.Judge] of conditions for which the host has set nothing. A text that is not certain to read
// asks, and a language that has no probe is Unknown.
func Judge(language, text string) (class annotation.Safety, why string) {
	if language == Verb {
		return probes.Verb(text)
	}
	probe := all[language]
	if probe == nil {
		return annotation.Unknown, ""
	}
	v := probe(text)
	if v.Annotations.Safety() == annotation.Safe {
		return annotation.Safe, v.Why
	}
	return annotation.Dangerous, v.Why
}
