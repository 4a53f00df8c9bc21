package shell

import (
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/internal/probes"
	"mvdan.cc/sh/v3/syntax"
)

// unknown stands in a word for text that is not in the command line. [probes.Plain] refuses it in what is read.
const unknown = "\x00"

// A word is one word of a command, as the program gets it.
type word struct {
	text   string // with unknown for each part that is not known
	quoted bool   // some of it is in quotes
	many   bool   // it may become several words, or none
	dash   bool   // it, or one of the words that it becomes, may begin with a dash that is not in text
	glob   bool   // it has a pattern, which the shell replaces by names of files
	number bool   // it is a number, known or not
	inside bool   // it is a path below the roots of what is read
}

// wild reports whether a word may become an option that is not in its text.
func (w word) wild() bool { return w.dash }

// known reports whether the program gets exactly the text.
func (w word) known() bool { return !w.many && !w.glob && !strings.Contains(w.text, unknown) }

// is reports whether a word is exactly a text.
func (w word) is(text string) bool { return w.known() && w.text == text }

// abbreviates reports whether a word is the beginning of a full name, which some commands read as that name.
func abbreviates(word, full string) bool { return strings.HasPrefix(full, word) }

// with returns a part of a word.
func (w word) with(text string) word {
	w.text = text
	return w
}

// anyWords stands for any words at all.
var anyWords = word{text: unknown, many: true, dash: true}

func shown(w word) string { return probes.Shown(strings.ReplaceAll(w.text, unknown, "…")) }

// mostKnown is how long the known text of a variable may be: what is longer may grow without a bound, and is unknown.
const mostKnown = 1 << 10

// most is how many words the braces of one word may make.
const most = 64

// words expands the words of a command.
func (r *reader) words(args []*syntax.Word, s *scope) (words []word, why string) {
	for _, arg := range args {
		made, why := r.expand(arg, s)
		if why != "" {
			return nil, why
		}
		words = append(words, made...)
		if len(words) > maxWords {
			return nil, "more words than are read"
		}
	}
	return words, ""
}

// expand returns what one word becomes.
func (r *reader) expand(arg *syntax.Word, s *scope) (words []word, why string) {
	alternatives := []*syntax.Word{arg}
	if slices.ContainsFunc(arg.Parts, hasBrace) {
		split := &syntax.Word{Parts: slices.Clone(arg.Parts)}
		if syntax.SplitBraces(split) {
			if alternatives = braces(split.Parts); alternatives == nil {
				return nil, "braces that make many words"
			}
		}
	}
	for _, one := range alternatives {
		made, why := r.one(one, s)
		if why != "" {
			return nil, why
		}
		words = append(words, made...)
	}
	return words, ""
}

func hasBrace(part syntax.WordPart) bool {
	lit, ok := part.(*syntax.Lit)
	return ok && strings.Contains(lit.Value, "{")
}

// braces returns the words that a word with braces becomes, or nil if they are too many. Of a sequence the first and the
// last word stand for all.
func braces(parts []syntax.WordPart) []*syntax.Word {
	words := []*syntax.Word{{}}
	for _, part := range parts {
		brace, ok := part.(*syntax.BraceExp)
		if !ok {
			for _, w := range words {
				w.Parts = append(w.Parts, part)
			}
			continue
		}
		elems := brace.Elems
		if brace.Sequence && len(elems) > 2 {
			elems = elems[:2] // the third is the step
		}
		var made []*syntax.Word
		for _, elem := range elems {
			inner := braces(elem.Parts)
			if inner == nil || len(words)*len(inner)+len(made) > most {
				return nil
			}
			for _, w := range words {
				for _, in := range inner {
					made = append(made, &syntax.Word{Parts: slices.Concat(w.Parts, in.Parts)})
				}
			}
		}
		words = made
	}
	return words
}

// one returns the words that a word without braces becomes: one, unless a variable that is known has blanks.
func (r *reader) one(arg *syntax.Word, s *scope) (words []word, why string) {
	b := builder{r: r, s: s, parts: len(arg.Parts)}
	if len(arg.Parts) == 1 {
		v, why, is := b.alone(arg.Parts[0])
		if is {
			if why != "" {
				return nil, why
			}
			if v.isKnown() && len(v.text) <= mostKnown {
				return fields(v.text), ""
			}
			b.add(v, false)
			return []word{b.w}, ""
		}
	}
	for _, part := range arg.Parts {
		if why := b.part(part, false); why != "" {
			return nil, why
		}
	}
	return []word{b.w}, ""
}

// alone returns what a variable or a substitution gives that is a word of its own.
func (b *builder) alone(part syntax.WordPart) (v value, why string, is bool) {
	switch p := part.(type) {
	case *syntax.ParamExp:
		v, why = b.r.param(p, b.s)
	case *syntax.CmdSubst:
		v, why = b.r.substitution(p, b.s)
	default:
		return v, "", false
	}
	return v, why, true
}

// fields cuts the known text of a variable without quotes into words, as the shell does.
func fields(text string) (words []word) {
	for field := range strings.FieldsSeq(text) {
		at := strings.IndexAny(field, "*?[")
		words = append(words, word{text: field, glob: at >= 0, many: at >= 0, dash: at == 0})
	}
	return words
}

// text returns a word that is not cut into several: a value, an input.
func (r *reader) text(arg *syntax.Word, s *scope) (v value, why string) {
	if arg == nil {
		return value{}, ""
	}
	b := builder{r: r, s: s, whole: true}
	for _, part := range arg.Parts {
		if why := b.part(part, false); why != "" {
			return value{}, why
		}
	}
	return value{text: b.w.text, dash: b.w.dash, number: b.w.number || isNumber(b.w.text)}, ""
}

// A builder makes one word from its parts.
type builder struct {
	r      *reader
	s      *scope
	w      word
	whole  bool // the shell does not cut the word, nor look for files
	begun  bool
	parts  int // of the word
	quotes int // parts of the quoted text that is the whole word
}

// add appends what a variable or substitution gives.
func (b *builder) add(v value, quoted bool) {
	first := !b.begun
	if len(v.text) > mostKnown {
		v = value{text: unknown, dash: true, list: v.list}
	}
	if v.isKnown() {
		if !quoted && !b.whole && strings.ContainsAny(v.text, " \t\n*?[\\") {
			v = value{text: unknown, dash: true}
		} else {
			b.w.text += v.text
			b.begun = b.begun || v.text != ""
			return
		}
	}
	b.w.text += v.text
	b.begun = true
	b.w.number = first && v.number
	b.w.inside = first && v.inside && b.parts == 1 && (!quoted || b.quotes == 1)
	begins := v.dash && (first || strings.Trim(b.w.text, unknown) == "")
	switch {
	case quoted || b.whole || v.single || v.number:
		b.w.dash = b.w.dash || begins
	default:
		b.w.many, b.w.dash = true, b.w.dash || v.dash
	}
	if v.list {
		b.w.many, b.w.dash = true, true
	}
}

func (b *builder) part(part syntax.WordPart, quoted bool) string {
	switch p := part.(type) {
	case *syntax.Lit:
		return b.literal(p.Value, quoted)
	case *syntax.SglQuoted:
		return b.single(p)
	case *syntax.DblQuoted:
		if p.Dollar {
			return `a text that is translated, $"…"`
		}
		b.w.quoted = true
		if b.parts == 1 {
			b.quotes = len(p.Parts)
		}
		if len(p.Parts) == 0 {
			b.begun = true
		}
		for _, inner := range p.Parts {
			if why := b.part(inner, true); why != "" {
				return why
			}
		}
		b.begun = true
		return ""
	case *syntax.ParamExp:
		v, why := b.r.param(p, b.s)
		b.add(v, quoted)
		return why
	case *syntax.CmdSubst:
		v, why := b.r.substitution(p, b.s)
		b.add(v, quoted)
		return why
	case *syntax.ArithmExp:
		why := b.r.arithmetic(p.X, b.s)
		b.add(value{text: unknown, number: true}, quoted)
		return why
	case *syntax.ProcSubst:
		why := b.r.stmts(p.Stmts, b.s.clone())
		b.add(value{text: "/dev/fd/" + unknown, single: true}, quoted)
		return why
	case *syntax.ExtGlob:
		return "a pattern with parentheses, which some shells run"
	}
	return "a word that the shell makes something else of"
}

// literal appends text without quotes, or in double quotes.
func (b *builder) literal(text string, quoted bool) string {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			next := text[i+1]
			switch {
			case quoted && !strings.ContainsRune("$`\"\\\n", rune(next)):
				b.w.text += `\`
			case next == '\n':
				i++
				continue
			default:
				b.w.quoted = b.w.quoted || !quoted
			}
			i++
			b.w.text += string(next)
		case c == '\\':
			return "a backslash at the end"
		case c == '!' && i+1 < len(text) && historic(text[i+1]):
			return "the sign !, which some shells replace by an earlier command"
		case !quoted && !b.whole && (c == '*' || c == '?' || c == '[' && (b.parts > 1 || strings.Contains(text[i:], "]"))):
			b.w.glob, b.w.many = true, true
			b.w.dash = b.w.dash || !b.begun
			b.w.text += string(c)
		default: // up to the next sign that may have a meaning
			n := 1
			for i+n < len(text) && strings.IndexByte("\\!*?[", text[i+n]) < 0 {
				n++
			}
			b.w.text += text[i : i+n]
			i += n - 1
		}
		b.begun = true
	}
	return ""
}

// historic reports whether a ! in front of a character is an event of the history in an interactive shell.
func historic(c byte) bool {
	return c == '-' || c == '!' || c == '?' || c == '#' || c == '$' || c == '*' || c == '^' || c == '{' || c == ':' ||
		c >= 0x80 || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
}

// single appends text in single quotes.
func (b *builder) single(p *syntax.SglQuoted) string {
	b.w.quoted, b.begun = true, true
	if !p.Dollar {
		if behind := len(p.Value) - len(strings.TrimRight(p.Value, `\`)); behind%2 == 1 {
			return "a backslash before a quote, which shells read in two ways"
		}
		b.w.text += p.Value
		return ""
	}
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\0`, "").Replace(p.Value)
	if strings.Contains(strings.NewReplacer(`\n`, "", `\t`, "", `\\`, "", `\0`, "").Replace(p.Value), `\`) {
		return "a character that is written by its number, $'…'"
	}
	b.w.text += plain
	return ""
}
