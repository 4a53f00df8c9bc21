package probe

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// A shellCommand is what one row of the table of commands means.
type shellCommand struct {
	flags    map[string]byte // each with its mark: = takes a value, ? may have one attached with =, a space takes none
	operands operands
	shape    *regexp.Regexp // what the operands must look like, where operands is matched
}

// operands says what may follow a command beside its flags.
type operands uint8

const (
	anything operands = iota // names of files and the like
	globs                    // anything, and a * may grow into flags, since it has none that write
	nothing                  // an operand would make it write, or is a command of its own
	matched                  // what they look like decides
	urls                     // every one is a URL to get
	group                    // what follows is a command of its own
)

// shellCall says which command it is and what in it is more than a read.
func shellCall(args []*syntax.Word) (name, why string) {
	words, why := shellWords(args)
	if why != "" {
		return "", why
	}
	name = words[0].text
	cmd, known := shellCommands()[name]
	if !known || strings.Contains(name, " ") { // "git log" in quotes is a program of that name
		return name, "the command " + shown(name)
	}
	for rest := words[1:]; ; {
		n, why := shellFlags(cmd, rest)
		if why != "" {
			return name, shown(name) + " with " + why
		}
		if n < len(rest) && !strings.Contains(rest[n].text, " ") {
			if sub, is := shellCommands()[name+" "+rest[n].text]; is {
				name, cmd, rest = name+" "+rest[n].text, sub, rest[n+1:]
				continue
			}
		}
		if why := shellOperands(cmd, rest[n:]); why != "" {
			return name, shown(name) + " with " + why
		}
		return name, ""
	}
}

// shellOperands reads what is left of a command from its first operand on; flags
// may stand between operands.
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
			return shown(found[0])
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
				return "what is no plain URL"
			}
			if why := httpURL("GET", target); why != "" {
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
			return 0, "the flag " + shown(flag)
		}
		if wants {
			if n == len(words) || words[n].many || strings.HasPrefix(words[n].text, "-") && !shellNumber.MatchString(words[n].text) {
				return 0, "no value behind " + shown(flag)
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
	// Short flags in one word. Behind one that takes a value the rest may be the value, or
	// further flags whose values follow, so every letter must be a flag of the list.
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

// shellCommands works the table out, once.
var shellCommands = sync.OnceValue(func() map[string]shellCommand {
	commands := make(map[string]shellCommand, len(shellTable))
	for _, row := range shellTable {
		cmd := shellCommand{make(map[string]byte), row.operands, nil}
		for flag := range strings.FieldsSeq(row.flags) {
			name := strings.TrimRight(flag, "=?")
			cmd.flags[name] = (flag + " ")[len(name)]
		}
		if row.operands == matched {
			cmd.shape = regexp.MustCompile(`^(?:` + row.shape + `)$`)
		}
		for name := range strings.SplitSeq(row.names, ", ") {
			commands[name] = cmd
		}
	}
	return commands
})
