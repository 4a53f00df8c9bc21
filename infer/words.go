package infer

import (
	"cmp"
	_ "embed" // for lexicon.txt
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// A form is how a word of the lexicon is written.
type form uint8

const (
	base  form = iota // delete
	third             // deletes; also a noun's plural
	past              // deleted
	ing               // deleting
)

// A word is one word of a name or of a sentence, or a mark between words.
type word struct {
	base  string // the entry of the lexicon that it is a form of, or the letters of an unknown word
	sense sense  // 0 for an unknown word and for a mark
	form  form
	flags text.Flag
	mark  text.Kind // 0 for a word
}

func (w *word) is(s sense) bool { return w.sense&s != 0 && w.flags&text.Opaque == 0 }

// may reports whether a word of the name of a parameter can mean this.
func (w *word) may(c cue) bool {
	return w.flags&text.Opaque == 0 && w.form <= third && cuesOf()[w.base]&c != 0
}

// holds reports whether the last word of an object is a place where an outcome stays: a file, a disk.
func (w *word) holds() bool { return w.sense&storage != 0 || w.may(location) }

func (w *word) entry() string {
	if w.sense == 0 {
		return ""
	}
	return w.base
}

// grave reports whether a word is a plain verb that takes away or sends.
func (w *word) grave() bool {
	return w.sense&(take|out|power) != 0 && w.sense&(noun|either) == 0 && w.form == base
}

// first returns the first of some words that may mean s, "" if none does.
func first(ws []word, s sense) string {
	for i := range ws {
		if ws[i].is(s) {
			return ws[i].base
		}
	}
	return ""
}

var words = sync.OnceValue(func() map[string]word { return index(lexicon()) })

func lookup(letters string) word {
	w := words()[letters]
	w.base = cmp.Or(w.base, letters)
	return w
}

// phrasal returns the verb that a word is with a particle, if the lexicon has the two as one: shut down.
func (w *word) phrasal(particle string) word {
	both := words()[w.base+particle]
	both.form = w.form
	return both
}

// cuesOf holds the words of the names of parameters.
var cuesOf = sync.OnceValue(func() map[string]cue {
	m := make(map[string]cue)
	for _, p := range parameters {
		for w := range strings.FieldsSeq(p.words) {
			m[w] |= p.cue
		}
	}
	return m
})

// An entry is one word of a group of the lexicon.
type entry struct {
	base  string
	group int
	sense sense
	forms map[string]form
}

func index(all []entry) map[string]word {
	out := make(map[string]word)
	for _, e := range all {
		for written, f := range e.forms {
			w := out[written]
			// A word of its own goes before a form that a rule made of another one.
			if w.base == "" || f == base && w.form != base {
				w = word{base: e.base, form: f}
			}
			if w.base == e.base {
				w.sense |= e.sense
			}
			out[written] = w
		}
	}
	return out
}

// formsOf returns every spelling of an entry with its form. Small words have no forms.
func formsOf(spellings []string, s sense) map[string]form {
	forms := make(map[string]form)
	for i, written := range spellings {
		switch {
		case strings.HasSuffix(written, "ise"), strings.HasSuffix(written, "yse"), i == 0:
			forms[written] = base
			if s&(verbs|involved) != 0 {
				forms[text.Inflect(written, "ed")] = past
				forms[text.Inflect(written, "ing")] = ing
			}
			if s&(verbs|involved|nouns) != 0 {
				forms[text.Inflect(written, "s")] = third
			}
		case strings.HasSuffix(written, "ing"):
			forms[written] = ing
		case strings.HasSuffix(written, "s"):
			forms[written] = third
		default:
			forms[written] = past
		}
	}
	return forms
}

const (
	// maxWords is how many words of a name are looked at.
	maxWords = 24
	// maxCompound is how many letters a word may have in which two are looked for.
	maxCompound = 12
	// longest is how many words and marks of a sentence are looked at together; the rest is another sentence.
	longest = 48
)

// cut returns the words of a name, with a verb and its particle as one: check_out, shut_down.
func cut(name string) []word {
	ws := make([]word, 0, min(len(name), 8))
	scan := text.Scanner{Text: name, Name: true}
	for t, ok := scan.Next(); ok && len(ws) < maxWords; t, ok = scan.Next() {
		if t.Mark != 0 {
			continue
		}
		w := lookup(t.Text)
		w.flags = t.Flag
		if last := len(ws) - 1; last >= 0 && w.is(particle) {
			if both := ws[last].phrasal(t.Text); both.is(verbs) {
				ws[last] = both
				continue
			}
		}
		if first, second, ok := compound(&w); ok {
			ws = append(ws, first, second)
			continue
		}
		ws = append(ws, w)
	}
	return ws
}

// compound cuts an unknown word in two words of the lexicon, one of which takes away or sends: bulkdelete.
func compound(w *word) (first, second word, ok bool) {
	if w.sense != 0 || len(w.base) > maxCompound || cuesOf()[w.base] != 0 {
		return first, second, false
	}
	for at := len(w.base) - 3; at >= 3; at-- {
		first, second = lookup(w.base[:at]), lookup(w.base[at:])
		small := (first.sense|second.sense)&(particle|aux) != 0
		if first.sense != 0 && second.sense != 0 && !small && (first.grave() || second.grave()) {
			return first, second, true
		}
	}
	return first, second, false
}

// A parser cuts a text into sentences: runs of words and of marks between them.
type parser struct {
	scan  text.Scanner
	last  string // the letters of the last word
	words []word
}

// next reads the next sentence and reports whether there is one. The words of the one before are overwritten.
func (p *parser) next() bool {
	p.words = p.words[:0]
	for len(p.words) < longest {
		t, ok := p.scan.Next()
		switch {
		case !ok, t.Mark == text.End && len(p.words) > 0:
			return len(p.words) > 0
		case t.Mark == text.End:
		case t.Mark == 0:
			p.emit(t)
		case len(p.words) > 0:
			p.words = append(p.words, word{mark: t.Mark})
		}
	}
	return true
}

// emit appends a word, joined to the one before if the lexicon has the two as one: read-only, shut down.
func (p *parser) emit(t text.Token) {
	w := lookup(t.Text)
	w.flags = t.Flag
	if w.sense == 0 {
		w.flags |= text.Ending(t.Text)
	}
	if last := len(p.words) - 1; last >= 0 {
		both := word{}
		if w.sense&particle != 0 {
			both = p.words[last].phrasal(t.Text)
		}
		if t.Flag&text.Joined != 0 {
			both = lookup(p.last + t.Text)
		}
		if both.sense != 0 {
			p.words[last] = both
			return
		}
	}
	p.last = t.Text
	p.words = append(p.words, w)
}

// Version names the lexicon and the rules together. It changes whenever a tool may get another class.
const Version = "5"

// A sense is what a word can mean. It is a set: "report" is a verb and a noun.
type sense uint64

// Verbs, by what they do.
const (
	read    sense = 1 << iota // looks, and changes nothing
	compute                   // works something out and hands it back
	produce                   // makes something: a chart that is handed back, or a thing that stays
	run                       // carries something out: a search, a workflow, a script
	add                       // adds
	change                    // changes what can be set back
	take                      // takes away, or overwrites
	out                       // goes to others, or cannot be taken back
	power                     // carries out its argument
	manage                    // several of these, and the name does not say which
)

// Verbs, by how far they can be relied on.
const (
	weak    sense = 1 << (iota + 10) // says little: the main verb of the description is asked first
	either                           // may be a noun; where it leads the name it is a verb
	noun                             // more often a noun; any plainer verb of the name goes before it
	settled                          // may be repeated
	retire                           // a change that is as good as a loss once it is done to many
	sweep                            // a loss, unless it is a view that is cleared
	agent                            // a noun for the tool itself, at the end of its name: a reader
	fills                            // replaces what was in a file
	seals                            // of money or a message, it is for good
)

// Nouns, by what they turn a verb into.
const (
	view      sense = 1 << (iota + 19) // clearing it loses nothing: a filter, a selection
	code                               // running it can do anything: a command, a script
	artefact                           // making it changes nothing: a chart, a summary
	report                             // heads a phrase about information: details, status
	message                            // making it sends it
	money                              // making it moves money
	access                             // closing or making one matters: an account, a key
	storage                            // formatting it loses what is on it
	tentative                          // a message or payment that is only prepared
	wire                               // with the outside in it, its method decides what it does: an HTTP request
	number                             // adding it is arithmetic
	many                               // done to all at once
)

// Small words.
const (
	and      sense = 1 << (iota + 31) // what follows does as what went before
	not                               // turns it round
	subord                            // what follows is about something else
	lead                              // may be before the main verb: "this tool will"
	aux                               // what follows is stated of the tool: "also", "will"
	prep                              // ends the object
	particle                          // belongs to the verb before it: "check out"
	warning                           // states that there is no way back
	unmade                            // states so after a negation: "cannot be undone"
	harmless                          // states that nothing is changed
	english                           // a small word of English
	foreign                           // a small word of another language
	outside                           // the world outside
	inside                            // the server's own state
	involved                          // one of the seven stems of a complex tool
	modal                             // a subject is before it: "updates will"
	article                           // what follows is a noun
	says                              // what a tool does where a description says so; at the head of a name it says little
	supposes                          // what comes after it is only supposed
	bends                             // what is left behind hangs on the object: a snapshot of a page, or of a volume
	kept                              // an object of which something is left behind, and which is overwritten when written: a volume, a file
	revision                          // a line of work: to check out a branch only goes there
	picture                           // what a picture is taken of, and handed back
	question                          // a sentence that begins with it names the information
	pact                              // what one is bound by: an offer, a contract
	tells                             // begins a phrase about information: "current prices"
)

// Nouns, by what it means to change or to hand them out.
const (
	secret   sense = 1 << (iota + 57) // whoever has it is let in: a password
	right                             // what one may do: a role; of a verb, it gives some
	shield                            // what keeps others out: a firewall
	physical                          // a thing in the world that moves, heats or locks: a door
	public                            // where everybody can see it: a website
	bookable                          // reserving it costs money: a room
	acting                            // a thing that carries out commands: a client, an agent
)

const (
	verbs = read | compute | produce | run | add | change | take | out | power | manage
	nouns = view | code | artefact | report | message | money | access | storage | tentative | wire | number | many | kept | revision | picture |
		secret | right | shield | physical | public | bookable | acting
)

// senseNames are the senses as lexicon.txt has them, in their order.
const senseNames = `read compute produce run add change take out power manage weak either noun settled retire sweep agent fills seals view code
	artefact report message money access storage tentative wire number many and not subord lead aux prep particle warning unmade
	harmless english foreign outside inside involved modal article says supposes bends kept revision picture question pact tells secret
	right shield physical public bookable acting`

//go:embed lexicon.txt
var lexiconText string

// lexicon returns the words of lexicon.txt, which explains its form.
var lexicon = sync.OnceValue(func() (all []entry) {
	senses := make(map[string]sense)
	for i, name := range strings.Fields(senseNames) {
		senses[name] = 1 << i
	}
	groups, of := 0, sense(0)
	for line := range strings.Lines(lexiconText) {
		words := line
		if !strings.HasPrefix(line, "\t") {
			names, rest, ok := strings.Cut(line, ":")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			groups, of, words = groups+1, 0, rest
			for name := range strings.FieldsSeq(names) {
				of |= senses[name]
			}
		}
		for word := range strings.FieldsSeq(words) {
			spellings := strings.Split(word, "/")
			all = append(all, entry{spellings[0], groups - 1, of, formsOf(spellings, of)})
		}
	}
	return all
})

// A cue is what the name of a parameter can mean.
type cue uint16

// The cues.
const (
	chooser   cue = 1 << iota // chooses what is done
	namer                     // names what is acted on
	location                  // names a place
	outlet                    // with a location behind it, names the place of the outcome
	force                     // overrides a protection
	body                      // holds what is to be written
	trial                     // only a tool which changes something has it: a dry run
	switcher                  // switched on, takes something away
	strict                    // is run
	asked                     // is run, or looked for
	addressee                 // names people who are written to, or paid
)

// parameters is what is known of the names of parameters.
var parameters = []struct {
	cue   cue
	words string
}{
	{chooser, `actions operations modes action operation op method command subcommand verb mode task event`},
	{namer, `id uid uuid key name slug number sha path file filename filepath folder dir directory`},
	{location, `path file filename filepath folder dir directory`},
	{outlet, `output out dest destination save`},
	{force, `overwrite cascade permanent permanently hard`},
	{body, `body payload patch`},
	{trial, `dry confirm commit persist append save`},
	{switcher, `reset delete remove purge erase wipe`},
	{asked, `query statement`},
	{addressee, `recipient recipients attendees participants invitees`},
	{strict, `sql code script command shell bash powershell javascript expression cypher cmd`},
}

// abroadReads and abroadWrites are all that is known of other languages: Chinese words for reading, and for deeds.
const (
	abroadReads  = `查询 获取 列出 搜索 读取 查看 检索 只读`
	abroadWrites = `删 移除 清空 清除 清理 销毁 发送 发布 支付 付款 扣 转账 覆盖 撤销 取消 创建 新建 新增 添加 修改 更新 写入 重置 停止 终止 授予 抹 擦`
)
