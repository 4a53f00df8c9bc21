package shell

import (
	"path"
	"strings"

	"github.com/fairlead-go/fairlead/internal/probes"
)

// gitSettings are the settings that git -c may be given: what is shown, and no program that a command that reads runs.
var gitSettings = strings.Fields(`color.* core.quotepath core.abbrev core.ignorecase core.precomposeunicode core.autocrlf core.eol core.whitespace core.symlinks core.longpaths core.editor sequence.editor
	log.* advice.* diff.renames diff.renamelimit diff.algorithm diff.context diff.nopre* diff.mnemonicprefix diff.wordregex diff.colormoved* diff.statgraphwidth status.* column.* grep.linenumber grep.patterntype
	grep.extendedregexp grep.column grep.fullname blame.* format.pretty i18n.* branch.sort tag.sort versionsort.* pager.* user.name user.email init.defaultbranch rerere.enabled merge.renamelimit
	submodule.recurse fetch.prune pull.rebase`)

// settingFault judges the value of git -c.
func settingFault(w word) string {
	name, text, _ := strings.Cut(w.text, "=")
	lower := strings.ToLower(name)
	if strings.Contains(name, unknown) {
		return "a setting that is not known"
	}
	if lower == "core.pager" || lower == "core.fsmonitor" || strings.HasPrefix(lower, "pager.") {
		switch text {
		case "", "cat", "false", "0", "no":
			return ""
		}
		return "the setting " + probes.Shown(w.text)
	}
	if matches(gitSettings, lower) {
		return ""
	}
	return "the setting " + probes.Shown(name)
}

// gitCommand judges the options in front of a subcommand: a repository elsewhere is one with settings of its own.
func gitCommand(r *reader, _ *row, p parsed, _ *scope) string {
	if v, ok := p.value("--git-dir", "--work-tree"); ok && v.dash {
		return "a folder that is not known"
	}
	folder := r.folder
	for _, o := range p.options {
		switch o.name {
		case "-C": // one counts from the one before it
			folder = joined(folder, o.value.text)
			if forEveryone(folder) {
				return openFault(folder)
			}
		case "--git-dir", "--work-tree":
			if forEveryone(joined(folder, o.value.text)) {
				return openFault(o.value.text)
			}
		}
	}
	return ""
}

// openFault returns why git may not run in a folder that everyone may write to.
func openFault(folder string) string {
	return "the folder " + probes.Shown(folder) + " can be written by everyone: the settings of a repository there can name a program"
}

// enter notes the folder to which a text changes.
func (r *reader) enter(name string) {
	r.folder = joined(r.folder, name)
	if r.open == "" && forEveryone(r.folder) {
		r.open = r.folder
	}
}

// joined returns the folder that a name leads to from another, "" for one that is not known.
func joined(from, name string) string {
	if from == "" || path.IsAbs(name) || strings.HasPrefix(name, "~") {
		return name
	}
	return path.Join(from, name)
}

// forEveryone reports whether a path is, or may be, below a folder that each user of the machine may write to. One that
// leads up from a folder which is not known may end at the root.
func forEveryone(name string) bool {
	name = path.Clean(name) + "/"
	if up := strings.TrimLeft(name, "./"); strings.HasPrefix(name, "../") {
		name = "/" + up
	}
	for _, root := range []string{"/tmp/", "/private/tmp/", "/var/tmp/", "/private/var/tmp/", "/dev/shm/"} {
		if strings.HasPrefix(name, root) {
			return true
		}
	}
	return false
}

// gitList judges branch and tag: with an operand they make one, unless they list by a pattern.
func gitList(_ *reader, row *row, p parsed, _ *scope) string {
	for _, o := range p.options {
		if row.options[o.name].typed == "reads" {
			return ""
		}
	}
	for _, o := range p.options {
		switch o.name {
		case "--contains", "--no-contains", "--merged", "--no-merged", "--points-at":
			return ""
		}
	}
	if len(p.operands) > 0 {
		return shown(p.operands[0]) + ", which it makes"
	}
	return ""
}

// gitSecrets are parts of the names of settings that hold a password or a token.
var gitSecrets = strings.Fields("extraheader token password passwd secret smtppass proxy apikey cookie")

// settingSecret returns why a setting may not be shown.
func settingSecret(p parsed) string {
	for _, w := range p.operands {
		for _, part := range gitSecrets {
			if strings.Contains(strings.ToLower(w.text), part) {
				return "the setting " + shown(w) + ", which may hold a secret"
			}
		}
	}
	return ""
}

// gitConfigGet judges git config get.
func gitConfigGet(_ *reader, _ *row, p parsed, _ *scope) string { return settingSecret(p) }

// gitConfig judges git config in its old form: one operand is read, two are written.
func gitConfig(_ *reader, row *row, p parsed, _ *scope) string {
	if why := settingSecret(p); why != "" {
		return why
	}
	gets := false
	for _, o := range p.options {
		gets = gets || row.options[o.name].typed == "reads"
	}
	if gets {
		return ""
	}
	if len(p.operands) == 1 && !p.operands[0].many && p.operands[0].known() && strings.Contains(p.operands[0].text, ".") {
		return ""
	}
	return "what it may set"
}
