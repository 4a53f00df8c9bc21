package shell

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/paths"
	"github.com/fairlead-go/fairlead/internal/probes"
	"mvdan.cc/sh/v3/syntax"
)

// In judges a command line as [Shell] does, of a tool that may read and write below some roots: it asks if a file that
// the text names is read outside, and is an addition if all that it writes is inside.
func In(text string, roots *paths.Roots) probes.Verdict { return judged(&reader{roots: roots}, text) }

// AnyIn is [In] for a shell that is not known, as [AnyShell] is.
func AnyIn(text string, roots *paths.Roots) probes.Verdict {
	return anyShell(&reader{roots: roots, windows: true}, text)
}

// SecretPath returns why a file may not be read that is known to hold secrets, by its path; "" for any other.
func SecretPath(path string) string { return secretPath(path, word{text: path}) }

// devices are files that hold nothing.
var devices = []string{"/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"}

// readFault returns why a file that a word may name is not read without a question. A word that is not a path is one below
// the folder.
func (r *reader) readFault(w word, s *scope) string {
	if !r.roots.Bounds() || w.number || w.text == "" || w.text == "-" || isNumber(w.text) {
		return ""
	}
	text := strings.TrimPrefix(w.text, "@")
	if file, ok := strings.CutPrefix(text, "file://"); ok {
		text = file
	} else if strings.Contains(text, "://") {
		return ""
	}
	if why := r.pathFault(text, w, s); why != "" {
		return why
	}
	for at, c := range text { // if=/etc/shadow, HEAD:../x, a list of paths
		if rest := text[at:]; at > 0 && strings.IndexByte("/~.", rest[0]) >= 0 && strings.IndexByte("=:,@<;", text[at-1]) >= 0 && c != 0 {
			if strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "~") || strings.HasPrefix(rest, "..") {
				if why := r.pathFault(rest, w, s); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// pathFault judges one path of a word, in each folder where the command may run.
func (r *reader) pathFault(text string, w word, s *scope) string {
	if slices.Contains(devices, text) || strings.HasPrefix(text, "/dev/fd/") {
		return ""
	}
	const outside = ", which is outside the roots of what is read"
	if w.inside && len(s.folders) == 1 && !s.moved && !r.left {
		return ""
	}
	if strings.Contains(text, unknown) {
		return "the path " + shown(w) + ", which is not all in the text"
	}
	if r.windows && (strings.Contains(text, "%") || len(text) > 1 && text[1] == ':') || w.glob && climbsByPattern(text) {
		return "the path " + shown(w) + outside
	}
	if s.moved && !strings.HasPrefix(text, "/") && slices.Contains(strings.Split(text, "/"), "..") {
		return "the path " + shown(w) + ", which climbs from another folder"
	}
	for _, clean := range r.resolved(text, s) {
		if clean == "" || !r.roots.Reads(clean) {
			return "the path " + shown(w) + outside
		}
		for _, led := range r.roots.Real(clean)[1:] {
			if why := SecretPath(led); why != "" {
				return why
			}
		}
	}
	return ""
}

// resolved returns the paths that a name may stand for, with an empty one if that is not known.
func (r *reader) resolved(name string, s *scope) (all []string) {
	folders := s.folders
	if len(folders) == 0 {
		folders = []string{""}
	}
	for _, folder := range folders {
		clean, ok := r.roots.Resolve(folder, name)
		if !ok {
			clean = ""
		}
		all = append(all, clean)
	}
	return all
}

// climbsByPattern reports whether a part of a pattern may match the step up: some shells replace .* by .. as well.
func climbsByPattern(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if strings.HasPrefix(part, ".") && strings.ContainsAny(part, "*?[") && strings.Trim(part, ".*?[]") == "" {
			return true
		}
	}
	return false
}

// writes reports whether a file may be written that a word names, and notes it. Into is for a folder that something is
// put into.
func (r *reader) writes(w word, s *scope, into bool) bool {
	if r.roots == nil || r.windows || !w.known() || w.text == "" || s.moved {
		return false
	}
	for _, clean := range r.resolved(strings.TrimSuffix(w.text, "/"), s) {
		if clean == "" || !r.roots.Writes(clean, into) || SecretPath(clean) != "" {
			return false
		}
	}
	if r.wrote == "" {
		r.wrote = w.text
	}
	return true
}

// filesFault looks at what the options of a command, and its operands, may name as files.
func (r *reader) filesFault(row *row, p parsed, s *scope, operands bool) string {
	if !r.roots.Bounds() || row.marks["text"] {
		return ""
	}
	at := p.moved(s)
	for _, o := range p.options {
		if listsFiles(row, o.name) {
			return "the files that " + o.name + " lists, which are not in the text"
		}
	}
	for _, o := range p.options {
		if !o.has || row.options[o.name].isText() || isPattern(row, o.name) || o.value.is("/") && separates(row, o.name) {
			continue
		}
		if row.marks["remote"] && !local(o.value) && !strings.Contains(o.name, "file") {
			continue
		}
		in := at
		if moves(o.name) {
			in = s
		}
		if why := r.readFault(o.value, in); why != "" {
			return why
		}
	}
	if !operands || row.marks["command"] {
		return ""
	}
	for _, w := range p.files(row) {
		if row.marks["remote"] && !local(w) {
			continue
		}
		if why := r.readFault(w, at); why != "" {
			return why
		}
	}
	return ""
}

// moved returns the scope of what a command does that was told another folder.
func (p *parsed) moved(s *scope) *scope {
	for _, o := range p.options {
		if moves(o.name) && o.has && !isNumber(o.value.text) { // and not the lines of grep -C
			return s.elsewhere()
		}
	}
	return s
}

// local reports whether a word of a command that names things elsewhere may name a file of this machine.
func local(w word) bool {
	return strings.Contains(w.text, "file://") || strings.Contains(w.text, "fileb://") || strings.Contains(w.text, "@") || strings.HasPrefix(w.text, unknown)
}

// isText reports whether the value of an option is judged as something else than a file.
func (o option) isText() bool {
	switch o.typed {
	case "any", "shell", "sql", "ftp", "setting", "local", "jq", "null", "write":
		return true
	}
	return strings.HasPrefix(o.typed, "in:") || strings.HasPrefix(o.typed, "not:")
}

// isPattern reports whether an option holds the pattern or the program of a command.
func isPattern(row *row, name string) bool {
	return row.marks["pattern"] && (name == "-e" || name == "--regexp" || name == "--expression")
}

// separates reports whether the value of an option is a sign between fields: cut -d /.
func separates(row *row, name string) bool {
	switch row.name {
	case "cut", "gcut", "sort", "gsort", "join", "comm", "paste", "column", "awk", "gawk", "mawk", "nawk", "nl":
		return name == "-d" || name == "-t" || name == "-F" || name == "-s" || strings.HasSuffix(name, "delimiter") || strings.HasSuffix(name, "separator")
	}
	return false
}

// moves reports whether names begin in another folder because of an option.
func moves(name string) bool {
	switch name {
	case "-C", "--directory", "--chdir", "--cwd", "--prefix", "--work-tree", "--git-dir", "-D", "--dir", "--project-directory", "--base-directory", "--manifest-path":
		return true
	}
	return strings.HasPrefix(name, "-chdir")
}

// listsFiles reports whether an option names a file whose lines are the files that are read.
func listsFiles(row *row, name string) bool {
	switch {
	case name == "--files0-from", name == "--files-from":
		return true
	case row.name == "file":
		return name == "-f"
	}
	sums := strings.HasSuffix(row.name, "sum") || row.name == "b2sum" || row.name == "cksum"
	return sums && (name == "-c" || name == "--check")
}

// globsFault looks at the patterns of a command, which show the names of files whatever the command does.
func (r *reader) globsFault(words []word, s *scope) string {
	if !r.roots.Bounds() {
		return ""
	}
	for _, w := range words {
		if w.glob && strings.ContainsAny(w.text, "/~") {
			if why := r.readFault(w, s); why != "" {
				return why
			}
		}
	}
	return ""
}

// discards reports whether a file that tee writes only takes what is thrown away, or shown.
func discards(row *row, w word) bool {
	return row.name == "tee" && (w.is("/dev/null") || w.is("/dev/stdout") || w.is("/dev/stderr"))
}

// written judges the operands of a command that writes files: all of them, or the last, into which or to which the others
// are copied.
func (r *reader) written(row *row, p parsed, s *scope) string {
	target, into := p.value("-t", "--target-directory")
	files := p.operands
	if row.detail == "all" {
		if len(files) == 0 && !row.marks["alone"] {
			return "no file"
		}
		for _, w := range files {
			if !r.writes(w, s, false) && !discards(row, w) {
				return "the file " + shown(w)
			}
		}
		return ""
	}
	if !into {
		if len(files) < 2 {
			return "no target"
		}
		target, files = files[len(files)-1], files[:len(files)-1]
	}
	if len(files) == 0 || !r.writes(target, s, true) {
		return "the target " + shown(target)
	}
	for _, w := range files {
		name := strings.TrimRight(w.text, "/")
		if base := name[strings.LastIndexByte(name, '/')+1:]; paths.Acts(base) || strings.Contains(base, unknown) {
			return "the file " + shown(w) + " under its name"
		}
		if row.detail == "move" && !r.writes(w, s, false) {
			return "the file " + shown(w)
		}
		if why := secretFile(w); why != "" {
			return why
		}
		if why := r.readFault(w, s); why != "" {
			return why
		}
	}
	return ""
}

// changeFolder follows cd and its like. The command may fail, and then the folder stays, unless && is behind it.
func (r *reader) changeFolder(words []word, s *scope) {
	if len(words) > 1 && (words[0].is("cd") || words[0].is("pushd")) {
		r.enter(words[len(words)-1].text)
	}
	if r.roots == nil || len(words) == 0 {
		return
	}
	switch words[0].text {
	case "cd", "pushd", "popd":
		r.left = true
	}
	switch words[0].text {
	case "popd":
		s.folders, s.then = nil, nil
		return
	case "cd", "pushd":
	default:
		return
	}
	to := words[1:]
	for len(to) > 0 && (to[0].is("-L") || to[0].is("-P") || to[0].is("--")) {
		to = to[1:]
	}
	name := "~"
	switch {
	case len(to) == 1 && to[0].known() && !strings.HasPrefix(to[0].text, "-") && !strings.HasPrefix(to[0].text, "+"):
		name = to[0].text
	case len(to) > 0 || words[0].text == "pushd":
		s.folders, s.then = nil, nil
		return
	}
	made := r.resolved(name, s)
	if slices.Contains(made, "") {
		s.folders, s.then = nil, nil
		return
	}
	s.then = made
	s.folders = union(s.folders, made)
}

// mostFolders is how many folders a command may be run in; more are not followed.
const mostFolders = 8

// union returns the folders of both lists, nil for one that is not known.
func union(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	all := slices.Clone(a)
	for _, folder := range b {
		if !slices.Contains(all, folder) {
			all = append(all, folder)
		}
	}
	if len(all) > mostFolders {
		return nil
	}
	return all
}

// leaves reports whether a part of a command line may change the folder.
func leaves(nodes ...syntax.Node) (does bool) {
	for _, node := range nodes {
		syntax.Walk(node, func(n syntax.Node) bool {
			if lit, ok := n.(*syntax.Lit); ok && (lit.Value == "cd" || lit.Value == "pushd" || lit.Value == "popd") {
				does = true
			}
			return !does
		})
	}
	return does
}

// verdict is harmless, or an addition if files are written below a root.
func (r *reader) verdict(harmless string) probes.Verdict {
	if r.wrote != "" {
		return probes.Verdict{Annotations: annotation.Write(), Why: harmless + ", which writes " + probes.Shown(r.wrote)}
	}
	return probes.Harmless(harmless)
}
