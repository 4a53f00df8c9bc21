package shell

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/probes"
)

// findCommand judges find by its expression. The row of the table has its tests; -exec runs a command.
func findCommand(r *reader, row *row, words []word, s *scope) string {
	starts := true // the start paths are before the first option
	named := ""    // why what it looks for may not be shown
	follows := slices.ContainsFunc(words, func(w word) bool { return w.text == "-L" || w.text == "-follow" || w.text == "-H" })
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.wild():
			return "the word " + shown(w) + ", which may become an option"
		case w.is("(") || w.is(")") || w.is("!") || w.is(","):
			starts = false
		case !strings.HasPrefix(w.text, "-"):
			if !starts {
				return "the word " + shown(w)
			}
			if why := r.readFault(w, s); why != "" {
				return why
			}
		case w.text == "-exec" || w.text == "-execdir":
			starts = false
			n, why := r.findExec(words[i:], s, follows)
			if why != "" {
				return why
			}
			if shows := commands()[program(words[i+1].text)]; named != "" && (shows == nil || !shows.marks["names"]) {
				return named
			}
			i += n
		default:
			o, is := row.options[w.text]
			if !is && !(len(w.text) > 2 && strings.HasPrefix(w.text, "-O")) && !strings.HasPrefix(w.text, "-newer") {
				return "the option " + probes.Shown(strings.ReplaceAll(w.text, unknown, "…"))
			}
			starts = starts && (w.text == "-H" || w.text == "-L" || w.text == "-P" || w.text == "-E" || w.text == "-x" || w.text == "-X" || w.text == "-d" || w.text == "-f")
			if o.takes == '=' || strings.HasPrefix(w.text, "-newer") {
				if i++; i == len(words) || words[i].many {
					return "no value behind " + probes.Shown(w.text)
				}
				if why := r.findValue(w.text, words[i], &named, s); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// findValue judges the value of a test, and notes why the files that it looks for may not be shown.
func (r *reader) findValue(test string, value word, named *string, s *scope) string {
	switch test {
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename":
		*named = cmp.Or(*named, secretFile(value))
	}
	if why := r.readFault(value, s); why != "" && (strings.Contains(test, "newer") || test == "-samefile" || test == "-f") {
		return why
	}
	return ""
}

// findExec judges the command that find runs, and returns how many words it takes. The files that are found are below the
// start paths, unless links are followed.
func (r *reader) findExec(words []word, s *scope, follows bool) (n int, why string) {
	name, words := words[0].text, words[1:]
	end := slices.IndexFunc(words, func(w word) bool { return w.is(";") || w.is("+") })
	if end <= 0 {
		return 0, "no command behind " + name
	}
	inner := slices.Clone(words[:end])
	for at := range inner {
		inside := inner[at].is("{}") && !follows
		inner[at] = placed(inner[at], "{}", word{text: unknown})
		inner[at].inside = inside
	}
	if name == "-execdir" {
		s = s.elsewhere()
	}
	if why := r.call(inner, nil, s); why != "" {
		return 0, name + " and " + why
	}
	return end + 1, ""
}

// fdCommand judges fd, whose -x and -X run a command.
func fdCommand(r *reader, row *row, words []word, s *scope) string {
	end := len(words)
	for i, w := range words {
		name, attached, has := strings.Cut(w.text, "=")
		switch name {
		case "-x", "--exec", "-X", "--exec-batch":
			inner := slices.Clone(words[i+1:])
			if has {
				inner = append([]word{{text: attached}}, inner...)
			}
			if stop := slices.IndexFunc(inner, func(w word) bool { return w.is(";") }); stop >= 0 {
				if stop+1 < len(inner) {
					return "words behind the command of " + name
				}
				inner = inner[:stop]
			}
			if len(inner) == 0 {
				return "no command behind " + name
			}
			found := false
			for at := range inner {
				for _, mark := range []string{"{}", "{/}", "{//}", "{.}", "{/.}"} {
					found = found || strings.Contains(inner[at].text, mark)
					inner[at] = placed(inner[at], mark, word{text: unknown, dash: true, many: name == "-X" || name == "--exec-batch"})
				}
			}
			if !found {
				inner = append(inner, anyWords) // not every version puts ./ in front
			}
			if why := r.call(inner, nil, s); why != "" {
				return name + " and " + why
			}
			end = i
		}
		if end != len(words) {
			break
		}
	}
	p, why := r.parse(row, s, words[:end])
	if why != "" {
		return why
	}
	return r.leaf(row, p, s)
}
