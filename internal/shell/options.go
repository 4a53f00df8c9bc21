package shell

import (
	"strings"

	"github.com/fairlead-go/fairlead/internal/lazyregexp"
	"github.com/fairlead-go/fairlead/internal/probes"
)

// parsed is a command's words behind its name, told apart as its row has it.
type parsed struct {
	options  []given
	operands []word
	wild     bool // an operand may be any words
}

// given is an option of the command line.
type given struct {
	name  string
	value word
	has   bool // it has a value
}

func (p *parsed) has(names ...string) bool { _, ok := p.value(names...); return ok }

// value returns the last value that an option of these names has.
func (p *parsed) value(names ...string) (value word, ok bool) {
	for _, o := range p.options {
		for _, name := range names {
			if o.name == name {
				value, ok = o.value, true
			}
		}
	}
	return value, ok
}

// parse tells options from operands. The word that it cannot read is why.
func (r *reader) parse(row *row, s *scope, words []word) (p parsed, why string) {
	stops := row.marks["stop"] || row.kind == group || row.kind == menu || row.kind == verbs || row.kind == runs
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.wild():
			if !row.marks["safe"] {
				return p, "the word " + shown(w) + ", which may become an option"
			}
			p.wild = true
			p.operands = append(p.operands, w)
		case w.text == "--" && !w.quoted:
			if stops || row.marks["ends"] {
				p.operands = append(p.operands, words[i+1:]...)
				return p, ""
			}
			if row.marks["dashes"] {
				continue
			}
			for _, behind := range words[i+1:] { // not every program stops looking for options here
				if !row.marks["safe"] && (strings.HasPrefix(behind.text, "-") || behind.wild()) {
					return p, "an option behind --"
				}
			}
			p.operands = append(p.operands, words[i+1:]...)
			return p, ""
		case !row.isOption(w.text):
			p.operands = append(p.operands, w)
			if stops {
				p.operands = append(p.operands, words[i+1:]...)
				return p, ""
			}
		default:
			n, why := r.option(row, s, &p, words[i:])
			if why != "" {
				return p, why
			}
			i += n
		}
	}
	return p, ""
}

func (made *row) isListed(name string) bool { _, is := made.options[name]; return is }

func (made *row) isOption(text string) bool {
	if len(text) < 2 {
		return false
	}
	if text[0] == '-' {
		return true
	}
	_, listed := made.options[text]
	return text[0] == '+' && listed
}

// option reads the option that words begin with, and returns how many words it takes beside the first.
func (r *reader) option(row *row, s *scope, p *parsed, words []word) (n int, why string) {
	flag := words[0]
	name, attached, has := strings.Cut(flag.text, "=")
	if strings.Contains(name, unknown) && !strings.HasPrefix(name, "--") {
		name, has = flag.text, false // the letters may have a value behind them
	}
	if o, is := row.options[name]; is && o.takes != '!' {
		switch {
		case o.takes == '=' && !has:
			return r.next(s, p, name, o, words)
		case has && o.takes == 0:
			return 0, "a value behind " + probes.Shown(name)
		}
		return 0, r.give(s, p, name, o, flag.with(attached), has)
	} else if is {
		return 0, "the option " + probes.Shown(name)
	}
	if strings.HasPrefix(flag.text, "--") || row.marks["whole"] {
		return 0, row.long(p, flag, name, attached, has)
	}
	return r.letters(row, s, p, words)
}

// long reads an option that is not listed.
func (made *row) long(p *parsed, flag word, name, attached string, has bool) string {
	if name == "--help" && !has {
		p.options = append(p.options, given{name: name})
		return ""
	}
	if strings.Contains(name, unknown) {
		return "the word " + shown(flag) + ", which may become an option"
	}
	front := made.kind == group || made.kind == menu || made.kind == verbs // an unknown option may take the subcommand as its value
	if long := strings.HasPrefix(name, "--"); front || long && !made.open || !long && !made.openOne {
		return "the option " + probes.Shown(name)
	}
	for listed, o := range made.options { // an option may be abbreviated
		if (o.takes == '!' || o.check != nil) && strings.HasPrefix(listed, name) {
			return "the option " + probes.Shown(name)
		}
	}
	p.options = append(p.options, given{name: name, value: flag.with(attached), has: has})
	return ""
}

// letters reads short options in one word.
func (r *reader) letters(row *row, s *scope, p *parsed, words []word) (n int, why string) {
	flag := words[0].text
	if _, is := row.options["-#"]; is && strings.Trim(flag[1:], "0123456789") == "" {
		p.options = append(p.options, given{name: "-#", value: words[0].with(flag[1:]), has: true})
		return 0, ""
	}
	for i := 1; i < len(flag); i++ {
		name := "-" + flag[i:i+1]
		o, is := row.options[name]
		if !is && row.openOne && i == 1 && row.kind != verbs && name != "-"+unknown { // which may be a second dash
			p.options = append(p.options, given{name: flag})
			return 0, ""
		}
		if !is || o.takes == '!' {
			return 0, "the option " + probes.Shown(strings.ReplaceAll(flag, unknown, "…"))
		}
		if o.takes == 0 {
			p.options = append(p.options, given{name: name})
			continue
		}
		if i+1 == len(flag) && o.takes == '=' {
			return r.next(s, p, name, o, words)
		}
		if row.marks["apart"] && o.takes == '=' {
			return 0, "a value that may be in another place, behind " + probes.Shown(name)
		}
		if rest := flag[i+1:]; rest != "" {
			return 0, r.give(s, p, name, o, words[0].with(strings.TrimPrefix(rest, "=")), true)
		}
		p.options = append(p.options, given{name: name})
	}
	return 0, ""
}

// number is the one kind of value that may begin with a dash: find -mtime -7.
var number = lazyregexp.New(`^-\d+[a-zA-Z]?$`)

// next takes the next word as the value of an option.
func (r *reader) next(s *scope, p *parsed, name string, o option, words []word) (n int, why string) {
	if len(words) < 2 || words[1].many || strings.HasPrefix(words[1].text, "-") && len(words[1].text) > 1 && o.typed != "any" && o.typed != "sql" && o.typed != "shell" && !number.MatchString(words[1].text) {
		return 0, "no value behind " + probes.Shown(name)
	}
	return 1, r.give(s, p, name, o, words[1], true)
}

func (r *reader) give(s *scope, p *parsed, name string, o option, value word, has bool) string {
	if has && o.check != nil {
		if why := o.check(r, s, value); why != "" {
			return why + " behind " + probes.Shown(name)
		}
	}
	p.options = append(p.options, given{name: name, value: value, has: has})
	return ""
}

// checkOf returns the check that a table names behind the = of an option, or nil.
func checkOf(typed string) valueCheck {
	switch {
	case typed == "any", typed == "reads": // the value may begin with a dash
		return func(*reader, *scope, word) string { return "" }
	case typed == "null":
		return func(r *reader, s *scope, v word) string {
			if v.text == "-" || v.text == "/dev/null" || v.text == "/dev/stdout" || v.text == "/dev/stderr" || r.writes(v, s, false) {
				return ""
			}
			return "the file " + shown(v)
		}
	case typed == "write":
		return func(r *reader, s *scope, v word) string {
			if r.writes(v, s, false) {
				return ""
			}
			return "the file " + shown(v)
		}
	case typed == "shell":
		return func(r *reader, s *scope, v word) string { return r.script(v, s) }
	case typed == "setting":
		return func(_ *reader, _ *scope, v word) string { return settingFault(v) }
	case typed == "jq":
		return func(_ *reader, _ *scope, v word) string { return jqFault(v) }
	case typed == "local":
		return func(_ *reader, _ *scope, v word) string { return localFault(v) }
	case typed == "ftp":
		return func(_ *reader, _ *scope, v word) string { return ftpFault(v) }
	case typed == "sql":
		return func(_ *reader, _ *scope, v word) string { return sqlFault(v) }
	case strings.HasPrefix(typed, "in:"):
		known := strings.Split(typed[3:], ",")
		return func(_ *reader, _ *scope, v word) string {
			for _, k := range known {
				if strings.EqualFold(k, v.text) {
					return ""
				}
			}
			return "the value " + shown(v)
		}
	case strings.HasPrefix(typed, "not:"):
		bad := strings.Split(typed[4:], ",")
		return func(_ *reader, _ *scope, v word) string {
			if !v.known() {
				return "an unknown value"
			}
			for _, b := range bad {
				if strings.HasPrefix(strings.ToLower(v.text), b) {
					return "the value " + shown(v)
				}
			}
			return ""
		}
	}
	return nil
}
