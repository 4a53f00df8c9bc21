package shell

import "strings"

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

// awkWords are names in a program of awk that run, load, or reach what no operand names.
var awkWords = map[string]string{
	"system": "the function system", "getline": "getline, which may run a command", "ENVIRON": "ENVIRON, which holds secrets",
	"SYMTAB": "SYMTAB", "FUNCTAB": "FUNCTAB", "ARGV": "ARGV, which names files",
}

// awkFault returns why a program of awk is more than a read: it runs a command, or print has a pipe or a file behind it.
func awkFault(w word) string {
	if strings.Contains(w.text, unknown) {
		return "a program that is not known"
	}
	p := awkProgram{text: w.text, output: -1}
	for p.at < len(p.text) {
		if why := p.next(); why != "" {
			return why
		}
	}
	return ""
}

// An awkProgram is cut into words, strings, patterns and signs. What is hard is whether a slash divides or begins a
// pattern, since a pattern may hide what is behind it: it divides behind a value.
type awkProgram struct {
	text       string
	at         int
	depth      int    // parentheses and brackets: inside them > compares
	output     int    // the depth of the print whose output a > would redirect, or -1
	value      bool   // what is in front is a value
	condition  bool   // the next parenthesis is that of an if or a loop
	conditions []bool // for each open parenthesis, whether it is one of those: no value follows it
}

// next reads one word, string, pattern or sign.
func (p *awkProgram) next() string {
	switch c := p.text[p.at]; {
	case c == ' ' || c == '\t':
		p.at++
	case c == '#':
		for p.at < len(p.text) && p.text[p.at] != '\n' {
			p.at++
		}
	case c == '"':
		return p.quoted(closing(p.text[p.at+1:], '"'), "a string without its end")
	case c == '/' && !p.value:
		return p.quoted(closingPattern(p.text[p.at+1:]), "a pattern without its end")
	case isWordByte(c):
		return p.word()
	default:
		return p.sign(c)
	}
	return ""
}

func (p *awkProgram) quoted(n int, why string) string {
	if n < 0 {
		return why
	}
	p.at += n + 2
	p.value = true
	return ""
}

func (p *awkProgram) word() string {
	begin := p.at
	for p.at < len(p.text) && isWordByte(p.text[p.at]) {
		p.at++
	}
	name := p.text[begin:p.at]
	p.condition = false
	p.value = true
	switch name {
	case "print", "printf":
		p.output, p.value = p.depth, false
	case "if", "while", "for", "switch":
		p.condition = true
	case "return", "in", "else", "do", "case", "exit", "delete":
		p.value = false
	}
	return awkWords[name]
}

func (p *awkProgram) sign(c byte) string {
	rest := p.text[p.at+1:]
	p.at++
	switch c {
	case '@':
		return "the sign @, which loads or calls"
	case '`':
		return "the sign `"
	case '\\': // a line that goes on
		if !strings.HasPrefix(rest, "\n") {
			return "a backslash"
		}
		p.at++
		return ""
	case '|':
		if !strings.HasPrefix(rest, "|") {
			return "a pipe"
		}
		p.at++
	case '>':
		if p.output >= 0 && p.depth <= p.output {
			return "a file that it writes"
		}
	case '+', '-':
		if strings.HasPrefix(rest, string(c)) { // behind a value it is one still
			p.at++
			return ""
		}
	case '(', '[':
		p.depth++
		p.conditions = append(p.conditions, p.condition && c == '(')
	case ')', ']':
		p.depth--
		p.value = true
		if last := len(p.conditions) - 1; last >= 0 {
			p.value = !p.conditions[last]
			p.conditions = p.conditions[:last]
		}
		p.condition = false
		return ""
	case ';', '}', '{':
		if p.depth <= 0 || c != ';' {
			p.output = -1
		}
	}
	p.value, p.condition = false, false
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
