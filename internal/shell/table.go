package shell

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// tables holds the commands that are known, by area. tables/README.md explains the form.
//
//go:embed tables/*.txt
var tables embed.FS

// A row is what is known about a command, or about a subcommand ("git log").
type row struct {
	name    string
	kind    kind
	detail  string         // of kind writes: which operands it writes
	skip    int            // of kind runs: how many operands are before the command that is run
	shape   *regexp.Regexp // what the operands must look like, where kind is matched
	do      handler        // what judges the options and operands beyond the table
	options map[string]option
	open    bool            // any long option is harmless, if it is not listed as refused
	openOne bool            // any option with one dash is harmless as well
	words   map[string]byte // of kind verbs: '/' a noun, 'r' a verb that reads, '!' one that asks, '~' a word that changes nothing, '?' '/' before another word and 'r' without one
	globs   []string        // the patterns of words
	marks   map[string]bool // as tables/README.md lists them
}

type kind string

const (
	anything kind = "anything" // operands are names of files and the like
	nothing  kind = "nothing"  // an operand would make it write, or is a command of its own
	matched  kind = "matched"  // the text of the operands decides
	urls     kind = "urls"     // every operand is a URL to get
	group    kind = "group"    // a subcommand of the table follows
	menu     kind = "menu"     // as group; alone it prints its help
	verbs    kind = "verbs"    // nouns follow, and then a verb that decides
	runs     kind = "runs"     // a command follows that is judged by itself
	asks     kind = "asks"     // known to do more than read; only its --help and --version read
	secret   kind = "secret"   // prints secrets
	writing  kind = "writes"   // writes files that it names, and asks unless they are below a root of the host's
)

// An option is how an option is written, and what of its value is harmless.
type option struct {
	takes byte // 0: no value; '=': a value; '?': perhaps one attached; '!': the option asks
	check valueCheck
	typed string // the text of check
}

type valueCheck func(r *reader, s *scope, value word) (why string)

// marks are the marks that a row may have.
var marks = []string{
	"stop",    // options end at the first operand
	"whole",   // words with one dash are one option each, and never several letters
	"dashes",  // behind -- are options of the same list
	"apart",   // a letter that takes a value takes the next word, even if more letters follow
	"safe",    // no option or operand does more than read, so that an unknown word is harmless
	"known",   // no operand may be unknown, since each reaches an address
	"names",   // the contents of files that are named are not read
	"plain",   // no variable that the command reads makes it run or write, see variables.txt
	"help",    // --help may be behind a subcommand that is not listed
	"alone",   // without operands it reads its input, or prints something
	"pattern", // the first operand is a pattern or a program, and no file
	"text",    // no word is the name of a file
	"command", // its operands are a command, which is judged by itself
	"ends",    // options end at --
	"remote",  // its words name things elsewhere, and files only behind file:// or @
}

var (
	tablesOnce sync.Once
	tableRows  map[string]*row
	tablePaths map[string]bool // the beginnings of the names of rows
)

// commands returns the rows of all tables, by name.
func commands() map[string]*row {
	tablesOnce.Do(func() {
		rows, faults := readTables()
		if len(faults) > 0 {
			panic("shell: " + strings.Join(faults, "; ")) // a test reads the same tables
		}
		tableRows, tablePaths = rows, make(map[string]bool)
		for name := range rows {
			for at := strings.LastIndex(name, " "); at >= 0; at = strings.LastIndex(name[:at], " ") {
				tablePaths[name[:at]] = true
			}
		}
	})
	return tableRows
}

// within reports whether there are rows below a path.
func within(path string) bool {
	commands()
	return tablePaths[path]
}

func readTables() (rows map[string]*row, faults []string) {
	rows = make(map[string]*row)
	named := handlers()
	files, err := fs.Glob(tables, "tables/*.txt")
	if err != nil {
		return nil, []string{err.Error()}
	}
	for _, file := range files {
		if name := path.Base(file); name == "variables.txt" || name == "secrets.txt" {
			continue
		}
		text, err := tables.ReadFile(file)
		if err != nil {
			return nil, []string{err.Error()}
		}
		t := tableReader{rows: rows, sets: make(map[string][]string), handlers: named}
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\n\t", " ")) {
			if err := t.line(strings.TrimSpace(line)); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", path.Base(file), err))
			}
		}
	}
	for name := range rows {
		if at := strings.LastIndex(name, " "); at >= 0 && rows[name[:at]] == nil && !underVerbs(rows, name) {
			faults = append(faults, name+" has no row above it")
		}
	}
	return rows, faults
}

// underVerbs reports whether a row is below one of kind verbs, whose nouns need no rows of their own.
func underVerbs(rows map[string]*row, name string) bool {
	for at := strings.LastIndex(name, " "); at >= 0; at = strings.LastIndex(name[:at], " ") {
		if above := rows[name[:at]]; above != nil {
			return above.kind == verbs
		}
	}
	return false
}

type tableReader struct {
	rows     map[string]*row
	sets     map[string][]string
	handlers map[string]handler // by what stands behind do=
	area     []string           // the marks of the section
}

func (t *tableReader) line(line string) error {
	if mark, ok := strings.CutPrefix(line, "## "); ok { // a section: its source, and marks of all its rows
		t.area = nil
		for word := range strings.FieldsSeq(mark) {
			if mark, ok := strings.CutPrefix(word, "+"); ok {
				t.area = append(t.area, mark)
			}
		}
		return nil
	}
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	names, rest, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("%.40q is not a row", line)
	}
	if set, ok := strings.CutPrefix(names, "$"); ok {
		words, err := t.expand(strings.Fields(rest))
		t.sets[set] = words
		return err
	}
	words, err := t.expand(strings.Fields(rest))
	if err != nil {
		return fmt.Errorf("%s: %w", names, err)
	}
	for name := range strings.SplitSeq(names, ", ") {
		if t.rows[name] != nil {
			return fmt.Errorf("%s is there twice", name)
		}
		made, err := t.row(name, words)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.rows[name] = made
	}
	return nil
}

// expand replaces the names of sets by their words.
func (t *tableReader) expand(words []string) (all []string, err error) {
	for _, word := range words {
		name, is := strings.CutPrefix(word, "$")
		if !is {
			all = append(all, word)
			continue
		}
		set, ok := t.sets[name]
		if !ok {
			return nil, fmt.Errorf("no set %q", name)
		}
		all = append(all, set...)
	}
	return all, nil
}

func (t *tableReader) row(name string, words []string) (*row, error) {
	made := &row{name: name, options: make(map[string]option), words: make(map[string]byte), marks: make(map[string]bool)}
	for _, mark := range t.area {
		made.marks[mark] = true
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("no kind")
	}
	what, detail, _ := strings.Cut(words[0], "=")
	made.kind = kind(what)
	switch made.kind {
	case matched:
		shape, err := regexp.Compile(`^(?:` + detail + `)$`)
		if err != nil {
			return nil, err
		}
		made.shape = shape
	case runs:
		if detail != "" {
			made.skip = int(detail[0] - '0')
		}
	case writing:
		if made.detail = detail; detail != "all" && detail != "last" && detail != "move" {
			return nil, fmt.Errorf("no operands %q that are written", detail)
		}
	case anything, nothing, urls, group, menu, verbs, asks, secret:
	default:
		return nil, fmt.Errorf("no kind %q", what)
	}
	for _, word := range words[1:] {
		if err := t.token(made, word); err != nil {
			return nil, err
		}
	}
	for mark := range made.marks {
		if !slices.Contains(marks, mark) {
			return nil, fmt.Errorf("no mark %q", mark)
		}
	}
	return made, nil
}

// token reads one word of a row behind its kind.
func (t *tableReader) token(made *row, word string) error {
	switch {
	case word == "--*":
		made.open = true
	case word == "-*":
		made.openOne = true
	case strings.HasPrefix(word, "do="):
		made.do = t.handlers[word[3:]]
		if made.do == nil {
			return fmt.Errorf("no handler %q", word)
		}
	case strings.HasPrefix(word, "+") && len(word) > 3:
		made.marks[word[1:]] = true
	case strings.HasPrefix(word, "-") || strings.HasPrefix(word, "+"):
		return made.option(word)
	default:
		kind := byte('r')
		if last := word[len(word)-1]; strings.IndexByte("/!~?", last) >= 0 {
			kind, word = last, word[:len(word)-1]
		}
		made.words[word] = kind
		if strings.Contains(word, "*") {
			made.globs = append(made.globs, word)
		}
	}
	return nil
}

// option reads an option of a row. The same one may be in two sets, but not in two meanings, of which one would be lost.
func (made *row) option(word string) error {
	name, o, err := readOption(word)
	if err != nil {
		return err
	}
	if other, is := made.options[name]; is && (other.takes != o.takes || other.typed != o.typed) {
		return fmt.Errorf("the option %s is there twice", name)
	}
	made.options[name] = o
	return nil
}

func readOption(word string) (name string, o option, err error) {
	if name, is := strings.CutSuffix(word, "*"); is {
		return name, option{typed: "reads"}, nil
	}
	at := strings.IndexAny(word[1:], "=?!") + 1
	if at == 0 || word == "-?" {
		return word, option{}, nil
	}
	o = option{takes: word[at], typed: word[at+1:]}
	if o.typed != "" {
		if o.check = checkOf(o.typed); o.check == nil {
			return "", option{}, fmt.Errorf("no type of value %q", word)
		}
	}
	return word[:at], o, nil
}

// word returns what a word of kind verbs is: '/', 'r', '!', '~', '?', or 0 if it is not known. A listed word counts before a
// pattern, and of two patterns the one that asks.
func (made *row) word(text string) byte {
	if kind, ok := made.words[text]; ok {
		return kind
	}
	var found byte
	for _, glob := range made.globs {
		if ok, err := path.Match(glob, text); ok && err == nil {
			if kind := made.words[glob]; found == 0 || kind == '!' {
				found = kind
			}
		}
	}
	return found
}
