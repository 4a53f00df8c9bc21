// Package shell reads command lines. Package preflight/probe offers its readers to hosts.
package shell

// The command line is parsed by mvdan.cc/sh as bash, and refused if it has any construct in which shells differ. What
// remains are plain commands. Each must be in the table of shell.txt, with flags of the table only, since one flag
// (find -delete, sort -o) makes a command that reads into one that writes.

import (
	"cmp"
	_ "embed" // for shell.txt
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/probes"
	"mvdan.cc/sh/v3/syntax"
)

// Shell judges a command line, as package preflight/probe documents.
func Shell(text string) probes.Verdict {
	if why := probes.Plain(text); why != "" {
		return harmful(why)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	switch {
	case err != nil:
		return harmful("a malformed command line")
	case len(file.Stmts) == 0:
		return harmful("there is no command")
	case len(file.Last) > 0:
		return harmful("a comment, which shells do not all know")
	}
	var names []string
	for _, stmt := range file.Stmts {
		if why := shellStmt(stmt, &names); why != "" {
			return harmful(why)
		}
	}
	return harmless(strings.Join(names, ", "))
}

// AnyShell judges a command line for a shell that is not known, as package preflight/probe documents.
func AnyShell(text string) probes.Verdict {
	v := Shell(text)
	if v.Annotations.Safety() != annotation.Safe {
		return v
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return harmful("a malformed command line")
	}
	why := ""
	syntax.Walk(file, func(node syntax.Node) bool {
		why = cmp.Or(why, shellDiffers(node))
		return why == ""
	})
	if why != "" {
		return harmful(why)
	}
	return v
}

var (
	// everyWord has no meaning of its own in single quotes, which some shells of Windows do not know as quotes.
	everyWord = regexp.MustCompile(`^[\pL\pM\pN_./:,@+=*?~-]*$`)
	// everyText has none in double quotes, which all shells know.
	everyText = regexp.MustCompile(`^[\pL\pM\pN_./:,@+=*?~ -]*$`)
)

// shellDiffers returns what of a part of a command line only some shells read as Shell does, or what reaches an address.
func shellDiffers(node syntax.Node) string {
	const quote = "a quote that ends elsewhere in some shells"
	switch n := node.(type) {
	case *syntax.SglQuoted:
		if !everyWord.MatchString(n.Value) {
			return quote
		}
	case *syntax.DblQuoted:
		for _, part := range n.Parts {
			if lit, ok := part.(*syntax.Lit); !ok || !everyText.MatchString(lit.Value) {
				return quote
			}
		}
	case *syntax.CallExpr:
		words, _ := shellWords(n.Args)
		if len(words) > 0 && shellCommands()[words[0].text].operands == urls {
			return "the command " + probes.Shown(words[0].text) + ", which reaches any address"
		}
	}
	return ""
}

func shellStmt(stmt *syntax.Stmt, names *[]string) string {
	switch {
	case len(stmt.Comments) > 0:
		return "a comment, which shells do not all know"
	case stmt.Background || stmt.Coprocess || stmt.Disown:
		return "a command in the background"
	case stmt.Negated:
		return "the sign !"
	}
	for _, r := range stmt.Redirs {
		if !shellSilences(r) {
			return "the redirection " + probes.Shown(r.Op.String())
		}
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt && cmd.Op != syntax.Pipe {
			return "the sign " + probes.Shown(cmd.Op.String())
		}
		if why := shellStmt(cmd.X, names); why != "" {
			return why
		}
		return shellStmt(cmd.Y, names)
	case *syntax.CallExpr:
		if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 {
			return "an assignment"
		}
		name, why := shellCall(cmd.Args)
		if len(*names) < 8 && !slices.Contains(*names, name) { // the rest of a long line adds nothing
			*names = append(*names, name)
		}
		return why
	}
	return "more than plain commands"
}

// shellSilences reports whether a redirection only joins the two outputs or throws one away.
func shellSilences(r *syntax.Redirect) bool {
	from := ""
	if r.N != nil {
		from = r.N.Value
	}
	if from != "" && from != "1" && from != "2" || r.Hdoc != nil {
		return false
	}
	switch to := r.Word.Lit(); r.Op {
	case syntax.RdrOut:
		return to == "/dev/null"
	case syntax.DplOut:
		return to == "1" || to == "2"
	}
	return false
}

// shellWord is one word of a command as the program gets it.
type shellWord struct {
	text string
	glob bool // it begins with what the shell replaces by names of files, which may look like flags
	many bool // it holds such a thing, and may become several words
}

var (
	// shellPlain has no meaning of its own outside quotes in any shell that we read.
	shellPlain = regexp.MustCompile(`^[\pL\pM\pN_./:,@%+=*?\[\]~-]*$`)
	// shellEscape is what a backslash or a ! makes of double quotes in some shells.
	shellEscape = regexp.MustCompile("[$`!]|\\\\[\\\\\"\n]|\\\\$")
)

// shellWords returns the words of a command, or which one is not plain text.
func shellWords(args []*syntax.Word) (words []shellWord, why string) {
	for _, arg := range args {
		var w shellWord
		for _, part := range arg.Parts {
			text, ok := shellPart(part)
			if !ok {
				return nil, "a word that the shell makes something else of"
			}
			if _, bare := part.(*syntax.Lit); bare {
				at := strings.IndexAny(text, "*?[")
				w.glob = w.glob || w.text == "" && at == 0
				w.many = w.many || at >= 0
			}
			w.text += text
		}
		words = append(words, w)
	}
	return words, ""
}

func shellPart(part syntax.WordPart) (text string, ok bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		return p.Value, shellPlain.MatchString(p.Value)
	case *syntax.SglQuoted:
		// fish lets a backslash escape the closing quote.
		return p.Value, !p.Dollar && !strings.HasSuffix(p.Value, `\`)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			lit, is := inner.(*syntax.Lit)
			if !is || shellEscape.MatchString(lit.Value) {
				return "", false
			}
			text += lit.Value
		}
		return text, !p.Dollar
	}
	return "", false
}

type shellCommand struct {
	flags    map[string]byte // each with its mark: = takes a value, ? may have one attached with =, a space takes none
	operands operands
	shape    *regexp.Regexp // what the operands must look like, where operands is matched
}

// operands are what may follow a command beside its flags, as shell.txt names them.
type operands string

const (
	anything operands = "anything" // names of files and the like
	globs    operands = "globs"    // anything, and a * may grow into flags, since it has none that write
	nothing  operands = "nothing"  // an operand would make it write, or is a command of its own
	matched  operands = "matched"  // their text decides
	urls     operands = "urls"     // every one is a URL to get
	group    operands = "group"    // what follows is a command of its own
)

// shellCall returns the name of the command and what in it is more than a read.
func shellCall(args []*syntax.Word) (name, why string) {
	words, why := shellWords(args)
	if why != "" {
		return "", why
	}
	name = words[0].text
	cmd, known := shellCommands()[name]
	if !known || strings.Contains(name, " ") { // "git log" in quotes is a program of that name
		return name, "the command " + probes.Shown(name)
	}
	for rest := words[1:]; ; {
		n, why := shellFlags(cmd, rest)
		if why != "" {
			return name, probes.Shown(name) + " with " + why
		}
		if n < len(rest) && !strings.Contains(rest[n].text, " ") {
			if sub, is := shellCommands()[name+" "+rest[n].text]; is {
				name, cmd, rest = name+" "+rest[n].text, sub, rest[n+1:]
				continue
			}
		}
		if why := shellOperands(cmd, rest[n:]); why != "" {
			return name, probes.Shown(name) + " with " + why
		}
		return name, ""
	}
}

// shellOperands reads a command from its first operand on; flags may be between operands.
func shellOperands(cmd shellCommand, rest []shellWord) string {
	var found []string
	for len(rest) > 0 {
		word := rest[0]
		if word.glob && cmd.operands != globs {
			return "a pattern that may become a flag: write ./* for *"
		}
		found = append(found, word.text)
		n, why := shellFlags(cmd, rest[1:])
		if why != "" {
			return why
		}
		rest = rest[1+n:]
	}
	switch cmd.operands {
	case nothing, group:
		if len(found) > 0 {
			return probes.Shown(found[0])
		}
		if cmd.operands == group {
			return "nothing behind it"
		}
	case matched:
		if !cmd.shape.MatchString(strings.Join(found, "\x00")) {
			return "an operand that may do more than read"
		}
	case urls:
		for _, target := range found {
			if !strings.Contains(target, "://") || strings.ContainsAny(target, "{}[]") {
				return "something other than a plain URL"
			}
			if why := probes.URLFault("GET", target); why != "" {
				return why
			}
		}
	}
	return ""
}

// shellFlags returns how many words from the first are flags and their values.
func shellFlags(cmd shellCommand, words []shellWord) (n int, why string) {
	for n < len(words) && strings.HasPrefix(words[n].text, "-") && words[n].text != "-" {
		flag := words[n].text
		n++
		if flag == "--" {
			// Not every program stops looking for flags here.
			if slices.ContainsFunc(words[n:], func(w shellWord) bool { return strings.HasPrefix(w.text, "-") || w.glob }) {
				return 0, "a flag behind --"
			}
			return n, ""
		}
		known, wants := shellFlag(cmd.flags, flag)
		if !known {
			return 0, "the flag " + probes.Shown(flag)
		}
		if wants {
			if n == len(words) || words[n].many || strings.HasPrefix(words[n].text, "-") && !shellNumber.MatchString(words[n].text) {
				return 0, "no value behind " + probes.Shown(flag)
			}
			n++
		}
	}
	return n, ""
}

// shellNumber is the one kind of value that may begin with a dash: find -mtime -7.
var shellNumber = regexp.MustCompile(`^-\d+[kMG]?$`)

// shellFlag reports whether a flag is in the list, and whether the next word is its value.
func shellFlag(flags map[string]byte, flag string) (known, wants bool) {
	name, _, attached := strings.Cut(flag, "=")
	switch kind, is := flags[name]; {
	case is && kind == '=':
		return true, !attached
	case is && (kind == '?' || !attached):
		return true, false
	case strings.HasPrefix(flag, "--"):
		return false, false
	}
	if _, is := flags["-#"]; is && strings.Trim(flag[1:], "0123456789") == "" {
		return true, false
	}
	// Short flags in one word. After one that takes a value, every letter must still be a flag of the list.
	valued := false
	for i, letter := range flag[1:] {
		kind, is := flags["-"+string(letter)]
		switch {
		case is && kind == '=':
			valued, wants = true, i+2 == len(flag)
		case !is && (!valued || unicode.IsLetter(letter)):
			return false, false
		}
	}
	return true, wants
}

//go:embed shell.txt
var shellFile string

// shellCommands returns the commands of shell.txt, which explains its form.
var shellCommands = sync.OnceValue(func() map[string]shellCommand {
	commands := make(map[string]shellCommand)
	var sets []string
	for line := range strings.Lines(strings.ReplaceAll(shellFile, "\n\t", " ")) {
		names, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(names, "$") {
			sets = append(sets, names, rest)
			continue
		}
		kind, flags, _ := strings.Cut(rest, " ")
		kind, shape, _ := strings.Cut(kind, "=")
		cmd := shellCommand{flags: make(map[string]byte), operands: operands(kind)}
		if shape != "" {
			cmd.shape = regexp.MustCompile(`^(?:` + shape + `)$`)
		}
		for flag := range strings.FieldsSeq(strings.NewReplacer(sets...).Replace(flags)) {
			name := strings.TrimRight(flag, "=?")
			cmd.flags[name] = (flag + " ")[len(name)]
		}
		for name := range strings.SplitSeq(names, ", ") {
			commands[name] = cmd
		}
	}
	return commands
})

func harmless(why string) probes.Verdict { return probes.Harmless(why) }
func harmful(why string) probes.Verdict  { return probes.Harmful(why) }
