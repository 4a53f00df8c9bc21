package shell

import (
	"strings"

	"github.com/fairlead-go/fairlead/internal/probes"
)

// sedCommand judges sed by its scripts: those behind -e, or the first operand. -i and -f are not in its row.
func sedCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if p.has("--version", "--help") {
		return ""
	}
	scripts := 0
	for _, o := range p.options {
		if o.name == "-e" || o.name == "--expression" {
			scripts++
			if why := sedFault(o.value); why != "" {
				return why
			}
		}
	}
	if scripts > 0 {
		return ""
	}
	if len(p.operands) == 0 {
		return "no script"
	}
	return sedFault(p.operands[0])
}

// sedFault returns why a script of sed is more than a read: w, W, e, r and R name files or run commands, and so do the
// flags w and e of s.
func sedFault(w word) string {
	if !w.known() && !w.glob || strings.Contains(w.text, unknown) {
		return "a script that is not known"
	}
	rest := w.text
	for {
		rest = strings.TrimLeft(rest, " \t\n;{}")
		if rest == "" {
			return ""
		}
		var ok bool
		if rest, ok = sedAddress(rest); !ok {
			return "an address that is not known"
		}
		if rest == "" {
			return "an address without a command"
		}
		c := rest[0]
		rest = rest[1:]
		switch c {
		case '{', '}', 'p', 'P', 'd', 'D', 'n', 'N', 'g', 'G', 'h', 'H', 'x', '=', 'l', 'z', 'F':
			rest = strings.TrimLeft(rest, " ")
			if rest != "" && !strings.ContainsRune(";\n}#", rune(rest[0])) && c != '{' && c != '}' {
				return "what is behind the command " + probes.Shown(string(c))
			}
		case 'q', 'Q':
			rest = strings.TrimLeft(rest, " 0123456789")
		case '#':
			_, rest, _ = strings.Cut(rest, "\n")
		case ':', 'b', 't', 'T':
			at := strings.IndexAny(rest, ";\n}")
			if at < 0 {
				return ""
			}
			rest = rest[at:]
		case 'a', 'i', 'c': // a text up to the end of the line
			at := strings.IndexByte(rest, '\n')
			if at < 0 {
				return ""
			}
			if at > 0 && rest[at-1] == '\\' {
				return "a text of several lines"
			}
			rest = rest[at:]
		case 's', 'y':
			if rest, ok = sedSubstitution(rest, c == 's'); !ok {
				return "a substitution that writes, runs or is not whole"
			}
		default:
			return "the command " + probes.Shown(string(c))
		}
	}
}

// sedAddress cuts the addresses in front of a command.
func sedAddress(text string) (rest string, ok bool) {
	for first := true; ; first = false {
		text = strings.TrimLeft(text, " ")
		switch {
		case text == "":
			return "", true
		case text[0] >= '0' && text[0] <= '9' || text[0] == '$' || !first && strings.ContainsRune("+~", rune(text[0])):
			text = strings.TrimLeft(text, "0123456789$~+")
		case text[0] == '/':
			n := sedUntil(text[1:], '/')
			if n < 0 {
				return "", false
			}
			text = strings.TrimLeft(text[n+2:], "IM")
		case text[0] == '\\':
			if len(text) < 3 {
				return "", false
			}
			n := sedUntil(text[2:], text[1])
			if n < 0 || text[1] >= 0x80 || text[1] == '\n' || text[1] == '\\' {
				return "", false
			}
			text = strings.TrimLeft(text[n+3:], "IM")
		}
		text = strings.TrimLeft(text, " ")
		if strings.HasPrefix(text, ",") {
			text = text[1:]
			continue
		}
		return strings.TrimLeft(text, "! "), true
	}
}

// sedUntil returns where a part ends at its sign, or -1 where versions of sed disagree.
func sedUntil(text string, sign byte) int {
	bracket := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == sign:
			if bracket {
				return -1 // in brackets it ends the part in some versions only
			}
			return i
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case c == '\n':
			return -1
		}
	}
	return -1
}

// sedSubstitution cuts what is behind s or y, with its flags.
func sedSubstitution(text string, flags bool) (rest string, ok bool) {
	if text == "" {
		return "", false
	}
	sign := text[0]
	if sign >= 0x80 || sign == '\\' || sign == '\n' || sign == ' ' || isWordByte(sign) || sign == '[' {
		return "", false
	}
	text = text[1:]
	n := sedUntil(text, sign)
	if n < 0 {
		return "", false
	}
	text = text[n+1:]
	for i := 0; ; i++ { // the replacement has no brackets
		if i >= len(text) {
			return "", false
		}
		if text[i] == '\\' {
			i++
			continue
		}
		if text[i] == sign {
			text = text[i+1:]
			break
		}
	}
	if flags {
		text = strings.TrimLeft(text, "gpIiMm0123456789")
	}
	text = strings.TrimLeft(text, " ")
	return text, text == "" || strings.ContainsRune(";\n}#", rune(text[0]))
}
