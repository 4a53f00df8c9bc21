package shell

import (
	"strings"

	"github.com/fairlead-go/fairlead/internal/probes"
)

// awkCommand judges awk by its program: the first operand, unless -f names a file, which is not read.
func awkCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if p.has("--version", "--help", "-V", "-h") || len(p.operands) == 0 && p.has("-W") {
		return ""
	}
	programs := 0
	for _, o := range p.options {
		if o.name == "-e" || o.name == "--source" {
			programs++
			if why := awkFault(o.value); why != "" {
				return why
			}
		}
	}
	if programs > 0 {
		return ""
	}
	if len(p.operands) == 0 {
		return "no program"
	}
	return awkFault(p.operands[0])
}

// awkWords are names in a program of awk that run something, load something or write a file. print with > or | is found
// by its sign.
var awkWords = map[string]string{
	"system": "the function system", "getline": "getline, which may run a command", "close": "", "fflush": "", "printf": "",
	"ENVIRON": "ENVIRON, which holds secrets", "SYMTAB": "SYMTAB", "FUNCTAB": "FUNCTAB", "PROCINFO": "",
}

// awkFault returns why a program of awk is more than a read. It cuts the program into words, strings, patterns and signs.
func awkFault(w word) string {
	if strings.Contains(w.text, unknown) || w.many && w.glob {
		return "a program that is not known"
	}
	text := w.text
	depth := 0     // parentheses: inside them > compares
	print := -1    // the depth of the print whose output a > would redirect, or -1
	value := false // what is before is a value, so that / divides
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
			continue
		case c == '"':
			n := closing(text[i+1:], '"')
			if n < 0 {
				return "a string without its end"
			}
			i += n + 2
			value = true
			continue
		case c == '/' && !value:
			n := closingPattern(text[i+1:])
			if n < 0 {
				return "a pattern without its end"
			}
			i += n + 2
			value = true
			continue
		case isWordByte(c):
			n := i
			for n < len(text) && isWordByte(text[n]) {
				n++
			}
			name := text[i:n]
			if bad := awkWords[name]; bad != "" {
				return bad
			}
			if name == "print" || name == "printf" {
				print = depth
			}
			value = name != "print" && name != "printf" && name != "return" && name != "in" && name != "else" && name != "do" && name != "case"
			i = n
			continue
		case c == '@':
			return "the sign @, which loads or calls"
		case c == '|':
			if i+1 < len(text) && text[i+1] == '|' {
				i += 2
				value = false
				continue
			}
			return "a pipe"
		case c == '>':
			if print >= 0 && depth <= print {
				return "a file that it writes"
			}
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ';' || c == '\n' || c == '}' || c == '{':
			if depth <= 0 || c == '}' || c == '{' {
				print = -1
			}
		case c == '\\' || c == '`':
			if i+1 >= len(text) || text[i+1] != '\n' {
				return "the sign " + probes.Shown(string(c))
			}
		}
		if c != ' ' && c != '\t' {
			value = c == ')' || c == ']' || c == '$' && false
		}
		i++
	}
	return ""
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// closing returns where a quote ends, or -1.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i
		case '\n':
			return -1
		}
	}
	return -1
}

// closingPattern returns where a pattern between slashes ends, or -1. A slash within brackets ends it in some versions
// only.
func closingPattern(text string) int {
	bracket := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case c == '/' && bracket:
			return -1
		case c == '/':
			return i
		case c == '\n':
			return -1
		}
	}
	return -1
}
