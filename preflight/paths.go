package preflight

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/languages"
	"github.com/fairlead-go/fairlead/internal/paths"
	"github.com/fairlead-go/fairlead/internal/shell"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/middleware"
)

// Paths are the folders where a tool may read and write without a question; see [Options].Paths.
//
// A path of a call counts as it is written: `..` is followed, ~ and $HOME are Home, and a relative path begins in Folder,
// or in the folder that an argument such as cwd names. A path that is not all in the text, such as one in a variable or
// in a list that a program reads, is outside. So is one on Windows. What a program reads by itself, such as its
// configuration, cannot be seen, and neither can links, unless Local is set.
type Paths struct {
	// Folder is the working directory of the tool, an absolute path. It is required, and may be read.
	Folder string
	// Home is what ~ stands for, an absolute path; "" means that it is outside.
	Home string
	// Read are the roots below which files are read without a question, each absolute, relative to Folder, or below ~. The
	// folders of Write are among them. Nil means that files may be read anywhere. Of files that are known to hold secrets
	// a read asks in any case: keys, credentials, .env, the profiles of browsers.
	Read []string
	// Write are the roots below which a write is Moderate. A write asks if it deletes, or if its path is hidden below
	// the root (.git) or is one that programs act on (Makefile, package.json). Nil means none.
	Write []string
	// Local has the links of paths followed in the file system of this machine, so a path counts as where it leads. False
	// means that paths count as they are written.
	Local bool
}

// Check returns what is wrong with the paths.
func (p Paths) Check() error {
	_, err := paths.Roots(p).Clean()
	return err
}

// Shell judges a command line as probe.Shell does, for the folders that the paths name: a read outside asks, and a write
// below a root of Write is Moderate.
func (p Paths) Shell(text string) Verdict { return p.judge("posix-shell", text) }

// AnyShell is [Paths.Shell] for a shell that is not known, as probe.AnyShell is. It lets no writes pass.
func (p Paths) AnyShell(text string) Verdict { return p.judge("shell", text) }

func (p Paths) judge(language, text string) Verdict {
	roots, err := paths.Roots(p).Clean()
	if err != nil {
		return Verdict{Annotations: annotation.Destructive(), Why: err.Error()}
	}
	v, _ := languages.In(language, text, &roots)
	return Verdict(v)
}

// Reads returns a rule for a tool that reads the files or folders which arguments name, each a string or a list of strings.
// A call is Safe if all are below a root of Read and none is known to hold secrets, and dangerous otherwise. The rule
// does not apply to a call with none of the arguments.
func (p Paths) Reads(arguments ...string) Rule {
	return p.rule(arguments, annotation.ReadOnly(), false)
}

// Writes returns a rule for a tool that writes the files which arguments name: a call is Moderate if all are below a root
// of Write, and dangerous otherwise. Use it for tools that make or change files, and not for those that delete.
func (p Paths) Writes(arguments ...string) Rule { return p.rule(arguments, annotation.Write(), true) }

func (p Paths) rule(arguments []string, inside annotation.Annotations, writes bool) Rule {
	roots, err := paths.Roots(p).Clean()
	if err != nil {
		panic("preflight: Paths: " + err.Error())
	}
	if len(arguments) == 0 {
		panic("preflight: Paths: a rule needs the name of an argument")
	}
	arguments = slices.Clone(arguments)
	return func(a Arguments) (Verdict, bool) {
		given := false
		for _, name := range arguments {
			raw, ok := a.Raw(name)
			switch {
			case a.absent(name):
				continue
			case !ok:
				return Verdict{Annotations: annotation.Destructive(), Why: name + " in another case"}, true
			}
			given = true
			if why := fileFault(&roots, name, raw, writes); why != "" {
				return Verdict{Annotations: annotation.Destructive(), Why: why}, true
			}
		}
		return Verdict{Annotations: inside, Why: strings.Join(arguments, ", ") + " inside the roots"}, given
	}
}

// fileFault returns why the files that an argument names may not be read or written: one text or a list of them.
func fileFault(roots *paths.Roots, name string, raw json.RawMessage, writes bool) string {
	var one string
	if json.Unmarshal(raw, &one) == nil && string(raw) != "null" {
		return pathFault(roots, name, one, writes)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return name + " names no file"
	}
	for _, element := range list {
		if json.Unmarshal(element, &one) != nil || string(element) == "null" {
			return name + " names no file"
		}
		if why := pathFault(roots, name, one, writes); why != "" {
			return why
		}
	}
	return ""
}

func pathFault(roots *paths.Roots, name, path string, writes bool) string {
	if file, ok := strings.CutPrefix(path, "file://"); ok {
		path = file
		if strings.Contains(path, "%") {
			return name + ": a path in disguise"
		}
	}
	windows := strings.Contains(path, `\`) || len(path) > 1 && path[1] == ':'
	clean, ok := roots.Resolve(roots.Folder, path)
	if !ok || windows || strings.ContainsAny(path, "$") {
		return name + ": a path that is not known"
	}
	for _, led := range roots.Real(clean) {
		if why := shell.SecretPath(led); why != "" {
			return name + ": " + why
		}
	}
	switch {
	case writes && !roots.Writes(clean, false):
		return name + ": a path that is outside the roots of what is written"
	case !roots.Reads(clean):
		return name + ": a path that is outside the roots of what is read"
	}
	return ""
}

// rootsOf returns the roots of a call, nil if its tool has none, and why the call asks whatever else it does.
func (j *judge) rootsOf(tool *middleware.Tool, a Arguments) (roots *paths.Roots, outside string) {
	if !j.hasPaths(tool) {
		return nil, ""
	}
	clean, err := paths.Roots(*j.Paths(tool)).Clean()
	if err != nil {
		return nil, err.Error()
	}
	return located(tool, clean, a)
}

func (j *judge) hasPaths(tool *middleware.Tool) bool {
	return j.Paths != nil && tool != nil && j.Paths(tool) != nil
}

// located returns the roots of a call: the folder is that of the argument that names one, if the tool runs commands.
func located(tool *middleware.Tool, roots paths.Roots, a Arguments) (*paths.Roots, string) {
	if !runsCommands(tool) {
		return &roots, ""
	}
	found := ""
	for name, raw := range a.members {
		if !namesFolder(name) || string(raw) == "null" || string(raw) == `""` {
			continue
		}
		if found != "" {
			return nil, "the folder is given twice, by " + found + " and " + name
		}
		found = name
		if why := fileFault(&roots, name, raw, false); why != "" {
			return nil, why
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil, name + " names no folder"
		}
		roots.Folder, _ = roots.Resolve(roots.Folder, text)
	}
	return &roots, ""
}

func runsCommands(tool *middleware.Tool) bool {
	return slices.ContainsFunc(tool.Annotations.Conditions, func(c annotation.Condition) bool { return languages.HasFiles(c.Language) })
}

// namesFolder reports whether an argument of a tool that runs commands names the folder where it does.
func namesFolder(name string) bool {
	switch strings.Join(wordsOf(name), "") {
	case "cwd", "workdir", "workingdir", "workingdirectory", "workdirectory", "currentdirectory", "currentdir", "dir", "directory", "folder", "chdir", "root", "path", "projectpath", "projectroot":
		return true
	}
	return false
}

// namesFile reports whether an argument names a file or a folder, by its last word.
func namesFile(name string) bool {
	words := wordsOf(name)
	if len(words) == 0 {
		return false
	}
	switch strings.TrimSuffix(words[len(words)-1], "s") {
	case "path", "file", "filename", "filepath", "dir", "directory", "directorie", "folder", "root", "cwd", "workdir", "source", "src",
		"destination", "dest", "dst", "target", "uri", "url":
		return true
	}
	return false
}

// wordsOf returns the words of a name, in small letters.
func wordsOf(name string) (words []string) {
	word := ""
	flush := func() {
		if word != "" {
			words, word = append(words, strings.ToLower(word)), ""
		}
	}
	before := 'A'
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r):
			flush()
		case unicode.IsUpper(r) && !unicode.IsUpper(before):
			flush()
			word = string(r)
		default:
			word += string(r)
		}
		before = r
	}
	flush()
	return words
}

// filesFault returns why the files that arguments name may not be used without a question, at any depth. Of a tool that
// writes they have to be below a root for writes, if there are some.
func filesFault(roots *paths.Roots, a Arguments, texts map[string]bool, writes bool) string {
	writes = writes && roots.Write != nil
	for name, raw := range a.members {
		if texts[name] {
			continue
		}
		if why := nestedFault(roots, name, raw, writes, 0); why != "" {
			return why
		}
	}
	return ""
}

// mostNested is how deeply arguments are searched for paths; what is deeper asks.
const mostNested = 8

func nestedFault(roots *paths.Roots, name string, raw json.RawMessage, writes bool, depth int) string {
	if depth > mostNested {
		return name + " is nested too deeply"
	}
	switch raw[0] {
	case '"':
		var text string
		if json.Unmarshal(raw, &text) != nil || text == "" {
			return ""
		}
		if strings.Contains(text, "://") && !strings.HasPrefix(text, "file://") || !namesFile(name) && !strings.HasPrefix(text, "file://") {
			return ""
		}
		return pathFault(roots, name, text, writes)
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list) // it is canonical
		for _, element := range list {
			if why := nestedFault(roots, name, element, writes, depth+1); why != "" {
				return why
			}
		}
	case '{':
		members, _ := strictjson.Members(raw)
		for _, m := range members {
			if why := nestedFault(roots, m.Name, m.Value, writes, depth+1); why != "" {
				return why
			}
		}
	}
	return ""
}
