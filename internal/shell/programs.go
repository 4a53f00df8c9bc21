package shell

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/probes"
)

// envCommand judges env: assignments, and then a command.
func envCommand(r *reader, row *row, p parsed, s *scope) string {
	if text, ok := p.value("-S", "--split-string"); ok {
		if !text.known() || strings.ContainsAny(text.text, "$\\\"'`;&|<>(){}*?[#~") {
			return "a text to split that is not plain words"
		}
		var words []word
		for field := range strings.FieldsSeq(text.text) {
			words = append(words, word{text: field})
		}
		p.operands = append(words, p.operands...)
	}
	if to, ok := p.value("-C", "--chdir"); ok {
		r.enter(to.text)
	}
	return r.environment(p.operands, p.moved(s), p.has("--help"))
}

// environment judges words of the form NAME=value and the command behind them.
func (r *reader) environment(words []word, s *scope, help bool) string {
	var front []variable
	if len(words) > 0 && words[0].is("-") { // as -i
		words = words[1:]
	}
	for len(words) > 0 {
		if words[0].is("--") && len(front) > 0 {
			words = words[1:]
			break
		}
		name, text, ok := strings.Cut(words[0].text, "=")
		if !ok || !isName(name) || words[0].many {
			break
		}
		front = append(front, variable{name, value{text: text}})
		words = words[1:]
	}
	if len(words) == 0 {
		if help {
			return ""
		}
		return "no command, which prints the environment and its secrets"
	}
	return r.call(words, front, s)
}

// shellCommand judges sh -c and its like.
func shellCommand(r *reader, _ *row, p parsed, s *scope) string {
	if !p.has("-c") {
		if p.has("--version", "--help") && len(p.operands) == 0 {
			return ""
		}
		return "no -c and a script behind it"
	}
	if len(p.operands) == 0 {
		return "no script behind -c"
	}
	if p.has("-i") && strings.Contains(p.operands[0].text, "!") {
		return "a ! for a shell that may replace it by an earlier command"
	}
	inner := newScope()
	for name := range s.vars {
		inner.vars[name] = anyValue
	}
	inner.folders = s.folders
	return r.script(p.operands[0], inner)
}

// watchCommand judges watch, which hands its words to a shell.
func watchCommand(r *reader, _ *row, p parsed, s *scope) string {
	texts := make([]string, len(p.operands))
	for i, w := range p.operands {
		if !w.known() {
			return "a command that is not known"
		}
		texts[i] = w.text
	}
	if len(texts) == 0 {
		return "no command"
	}
	return r.script(word{text: strings.Join(texts, " ")}, s)
}

// xargsCommand judges xargs: a command with words that are not known.
func xargsCommand(r *reader, _ *row, p parsed, s *scope) string {
	if p.has("--help", "--version") {
		return ""
	}
	words := slices.Clone(p.operands)
	if len(words) == 0 {
		return "no command"
	}
	var mark word
	marked := false
	for _, o := range p.options {
		switch o.name {
		case "-I", "-J", "--replace", "-i":
			if marked = true; o.has {
				mark = o.value
			} else {
				mark = word{text: "{}"}
			}
		}
	}
	if !marked {
		return r.call(append(words, anyWords), nil, s)
	}
	if !mark.known() || mark.text == "" {
		return "a mark that is not known"
	}
	for i, w := range words {
		words[i] = placed(w, mark.text, word{text: unknown, dash: true, many: p.has("-J")})
	}
	return r.call(words, nil, s)
}

// placed returns a word in which a mark is replaced by text that is not known.
func placed(w word, mark string, by word) word {
	if !strings.Contains(w.text, mark) {
		return w
	}
	begins := strings.HasPrefix(w.text, mark)
	w.text = strings.ReplaceAll(w.text, mark, by.text)
	w.dash = w.dash || begins && by.dash
	w.many = w.many || by.many
	w.number = false
	return w
}

// commandCommand judges the builtin command, which runs what is behind it, or with -v names it.
func commandCommand(r *reader, row *row, words []word, s *scope) string {
	for len(words) > 0 && words[0].known() {
		switch words[0].text {
		case "-v", "-V":
			for _, w := range words[1:] {
				if w.wild() {
					return "the word " + shown(w) + ", which may become an option"
				}
			}
			return ""
		case "-p", "--":
			words = words[1:]
			continue
		}
		break
	}
	if len(words) == 0 {
		return "nothing behind it"
	}
	if strings.HasPrefix(words[0].text, "-") {
		return "the option " + shown(words[0])
	}
	saved := r.functions // command does not look for functions
	r.functions = nil
	why := r.call(words, nil, s)
	r.functions = saved
	return why
}

// readCommand judges the builtin read, which sets variables.
func readCommand(_ *reader, _ *row, p parsed, s *scope) string {
	for _, w := range p.operands {
		if !w.known() || !isName(w.text) {
			return "the variable " + shown(w)
		}
		if why := assignFault(w.text, anyValue); why != "" {
			return why
		}
		s.vars[w.text] = anyValue
	}
	for _, o := range p.options {
		if o.name == "-a" {
			if !o.value.known() || !isName(o.value.text) || assignFault(o.value.text, anyValue) != "" {
				return "the variable " + shown(o.value)
			}
			s.vars[o.value.text] = value{text: unknown, dash: true, list: true}
		}
	}
	if len(p.operands) == 0 {
		s.vars["REPLY"] = anyValue
	}
	return ""
}

// mapfileCommand judges the builtin mapfile, which sets an array.
func mapfileCommand(_ *reader, _ *row, p parsed, s *scope) string {
	name := "MAPFILE"
	switch len(p.operands) {
	case 0:
	case 1:
		if name = p.operands[0].text; !p.operands[0].known() || !isName(name) {
			return "the variable " + shown(p.operands[0])
		}
	default:
		return "more than one variable"
	}
	if why := assignFault(name, anyValue); why != "" {
		return why
	}
	s.vars[name] = value{text: unknown, dash: true, list: true}
	return ""
}

// getoptsCommand judges the builtin getopts, whose second operand is a variable that it sets.
func getoptsCommand(_ *reader, _ *row, p parsed, s *scope) string {
	if len(p.operands) < 2 || !p.operands[1].known() || !isName(p.operands[1].text) {
		return "a variable that is not a name"
	}
	if why := assignFault(p.operands[1].text, anyValue); why != "" {
		return why
	}
	s.vars[p.operands[1].text] = anyValue
	return ""
}

// trapCommand judges the builtin trap, whose first operand is a script that the shell runs later.
func trapCommand(r *reader, _ *row, p parsed, s *scope) string {
	if len(p.operands) < 2 || p.operands[0].is("-") || p.operands[0].is("") {
		if slices.ContainsFunc(p.operands, func(w word) bool { return !w.known() || strings.ContainsAny(w.text, " ;|&\n(") }) {
			return "a script that is not known"
		}
		return ""
	}
	if r.roots != nil {
		return "a script for a time at which its folder is not known"
	}
	r.trapped = true
	if len(r.exported) > 0 {
		return "a variable for all commands before it"
	}
	return r.script(p.operands[0], s)
}

func unsetCommand(_ *reader, _ *row, p parsed, s *scope) string {
	for _, w := range p.operands {
		if !w.known() || !isName(w.text) || kindOfVariable(w.text, anyValue) == acts && w.text != "IFS" {
			return "the variable " + shown(w)
		}
		s.vars[w.text] = value{}
	}
	return ""
}

// setCommand judges the builtin set: options of the shell that only make it stop, and positional parameters.
func setCommand(_ *reader, _ *row, words []word, _ *scope) string {
	if len(words) == 0 {
		return "nothing behind it, which prints all variables"
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.is("--"):
			return ""
		case !w.known():
			return "the word " + shown(w)
		case strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+"):
			letters := w.text[1:]
			if strings.Trim(letters, "euxvfnCo") != "" || letters == "" || strings.Contains(letters, "n") && w.text[0] == '-' {
				return "the option " + shown(w)
			}
			if strings.HasSuffix(letters, "o") {
				if i++; i == len(words) || !slices.Contains(strings.Fields("errexit nounset pipefail xtrace verbose noglob noclobber"), words[i].text) {
					return "the option -o"
				}
			}
		}
	}
	return ""
}

// testCommand judges test and [. A shell that is not bash evaluates what is compared as numbers, as in arithmetic.go.
func testCommand(_ *reader, row *row, words []word, _ *scope) string {
	for i, w := range words {
		if w.known() && (w.text == "-v" || w.text == "-R") && i+1 < len(words) && !isName(words[i+1].text) {
			return "a variable that is not a name"
		}
		switch w.text {
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			for _, at := range []int{i - 1, i + 1} {
				if at < 0 || at >= len(words) || words[at].number {
					continue
				}
				if text := strings.TrimPrefix(words[at].text, "-"); !words[at].known() || !isNumber(text) {
					return "the number " + shown(words[at]) + ", which some shells evaluate"
				}
			}
		}
	}
	return ""
}

// printfCommand judges printf: -v sets a variable, and some shells evaluate what is printed as a number.
func printfCommand(_ *reader, _ *row, words []word, s *scope) string {
	if len(words) > 1 && words[0].is("-v") {
		name := words[1]
		if !name.known() || !isName(name.text) {
			return "the variable " + shown(name)
		}
		if why := assignFault(name.text, anyValue); why != "" {
			return why
		}
		s.vars[name.text] = anyValue
		words = words[2:]
	}
	if len(words) > 0 && words[0].is("--") {
		words = words[1:]
	}
	if len(words) == 0 {
		return "no format"
	}
	format := words[0]
	if !format.known() || strings.HasPrefix(format.text, "-") {
		return "the format " + shown(format)
	}
	for rest := format.text; ; {
		at := strings.IndexByte(rest, '%')
		if at < 0 || at+1 == len(rest) {
			return ""
		}
		rest = strings.TrimLeft(rest[at+1:], "-+ #0'123456789.")
		if rest == "" {
			return ""
		}
		switch rest[0] {
		case 's', 'b', 'q', '%', 'c', '(':
		case 'd', 'i', 'u', 'x', 'X', 'o', 'f', 'g', 'e':
			for _, w := range words[1:] {
				if !w.number && (!w.known() || strings.ContainsAny(w.text, "[$`")) {
					return "the number " + shown(w) + ", which some shells evaluate"
				}
			}
		default:
			return "the format " + shown(format)
		}
		rest = rest[1:]
	}
}

// tarCommand judges tar, of which only the listing of an archive reads.
func tarCommand(r *reader, _ *row, words []word, s *scope) string {
	begun := s // the archive is not below the folder of -C
	call := tarCall{may: r.roots != nil && len(r.roots.Write) > 0}
	for i, w := range words {
		if !w.known() {
			if w.wild() || i == 0 || strings.HasPrefix(w.text, "-") {
				return "the word " + shown(w) + ", which may become an option"
			}
			if why := r.tarFault(w, s); why != "" {
				return why
			}
			if call.file && mayBeRemote(w.text) {
				return "the archive " + shown(w) + ", which may be on another machine"
			}
			continue
		}
		if w.text == "--help" || w.text == "--version" {
			return ""
		}
		named := call.file
		if why := call.word(w.text, i == 0); why != "" {
			return why
		}
		if named && !call.file {
			continue
		}
		if why := r.tarFault(w, s); why != "" {
			return why
		}
		if call.moved {
			s = s.elsewhere()
		}
	}
	switch {
	case call.creates && !call.lists:
		if archive := (word{text: call.name}); !call.named || !r.writes(archive, begun, false) {
			return "the archive " + shown(archive)
		}
		return ""
	case !call.lists || call.creates:
		return "no -t"
	}
	return r.readFault(word{text: call.name}, begun)
}

// tarFault looks at what a word of tar names: an operand, or the value behind a letter.
func (r *reader) tarFault(w word, s *scope) string {
	if strings.HasPrefix(w.text, "-") {
		at := strings.IndexAny(w.text, "/~")
		if at < 0 || strings.HasPrefix(w.text, "--exclude") {
			return ""
		}
		w = w.with(w.text[at:])
	}
	if why := secretFile(w); why != "" && r.roots != nil {
		return why
	}
	return r.readFault(w, s)
}

// A tarCall is what the words of a call of tar ask for.
type tarCall struct {
	lists   bool   // the archive is listed
	creates bool   // it is made
	may     bool   // it may be made
	dir     bool   // the next word names a folder
	moved   bool   // names are those of that folder
	file    bool   // the next word names the archive
	named   bool   // it has a name
	name    string // the name
}

func (c *tarCall) word(text string, first bool) string {
	old := first && !strings.HasPrefix(text, "-") // letters without a dash, as in "tar tf"
	switch {
	case c.file && !old:
		return c.archive(text)
	case c.dir && !old:
		c.dir = false
		return ""
	case strings.HasPrefix(text, "--"):
		return c.long(text)
	case strings.HasPrefix(text, "-") && len(text) > 1 || old:
		return c.letters(strings.TrimPrefix(text, "-"), old)
	}
	return ""
}

// archive takes the value of -f.
func (c *tarCall) archive(text string) string {
	if c.file = false; c.named { // the last one counts, or both
		return "a second archive"
	}
	c.named, c.name = true, text
	if mayBeRemote(text) {
		return "an archive on another machine"
	}
	if strings.HasPrefix(text, "-") && text != "-" {
		return "no value behind -f"
	}
	return ""
}

// mayBeRemote reports whether tar may read a name as HOST:FILE: a colon, or what is not known, is in front of any slash.
func mayBeRemote(name string) bool {
	at := strings.IndexAny(name, "/:"+unknown)
	return at >= 0 && name[at] != '/'
}

func (c *tarCall) long(text string) string {
	name, _, attached := strings.Cut(text, "=")
	switch name {
	case "--list":
		c.lists = true
	case "--file":
		c.file = !attached
		if attached && strings.Contains(text, ":") {
			return "an archive on another machine"
		}
		if attached {
			_, value, _ := strings.Cut(text, "=")
			return c.archive(value)
		}
	case "--create":
		if !c.may {
			return "the option --create"
		}
		c.creates = true
	case "--verbose", "--gzip", "--bzip2", "--xz", "--zstd", "--auto-compress", "--wildcards", "--no-wildcards", "--exclude", "--strip-components",
		"--full-time", "--numeric-owner", "--utc", "--quoting-style", "--show-transformed-names", "--totals", "--null", "--absolute-names", "--ignore-zeros":
	default:
		return "the option " + probes.Shown(name)
	}
	return ""
}

// letters reads options of one letter. Behind a dash, what follows f in the word is the archive; in the old form, the archive
// is always the next word.
func (c *tarCall) letters(letters string, old bool) string {
	for at, letter := range letters {
		switch letter {
		case 't':
			c.lists = true
		case 'c':
			if !c.may {
				return "the option " + probes.Shown("c")
			}
			c.creates = true
		case 'f':
			if !old && at+1 < len(letters) {
				return c.archive(letters[at+1:])
			}
			c.file = true
		case 'C':
			if old || at+1 < len(letters) {
				return "the option " + probes.Shown("C")
			}
			c.dir, c.moved = true, true
		case 'v', 'z', 'j', 'J', 'a', 'Z', 'p', 'P', 'n':
		default:
			return "the option " + probes.Shown(string(letter))
		}
	}
	return ""
}

// echoCommand judges echo, which prints whatever it is given.
func echoCommand(*reader, *row, []word, *scope) string { return "" }

// scriptCommand judges script(1), whose record goes to /dev/null: of macOS and the BSDs with a command behind the file, and
// of util-linux with one behind -c.
func scriptCommand(r *reader, _ *row, words []word, s *scope) string {
	for len(words) > 0 && strings.HasPrefix(words[0].text, "-") && words[0].known() {
		flag := words[0].text
		words = words[1:]
		switch {
		case flag == "-c" && len(words) == 2 && words[1].is("/dev/null"), flag == "-qc" && len(words) == 2 && words[1].is("/dev/null"):
			return r.script(words[0], s)
		case flag == "-p" && len(words) == 1 && words[0].known(): // of the BSDs: plays a record
			return secretFile(words[0])
		case strings.Trim(flag[1:], "qaeFk") != "":
			return "the option " + probes.Shown(flag)
		}
	}
	if len(words) < 2 || !words[0].is("/dev/null") {
		return "a record in a file"
	}
	return r.call(words[1:], nil, s)
}
