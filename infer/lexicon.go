package infer

import (
	_ "embed" // for lexicon.txt
	"strings"
)

// Version names the lexicon and the rules together. It changes whenever a tool
// may get another class.
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
	power                     // does whatever it is told
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
	agent                            // a noun that tells what the tool is, at the end of its name: a reader
	fills                            // replaces what was in a file
	seals                            // of money or a message, it is for good
)

// Nouns, by what they turn a verb into.
const (
	view      sense = 1 << (iota + 19) // clearing it loses nothing: a filter, a selection
	code                               // running it can do anything: a command, a script
	artefact                           // making it changes nothing: a chart, a summary
	report                             // heads a phrase that only tells: details, status
	message                            // making it sends it
	money                              // making it moves money
	access                             // closing or making one is no small thing: an account, a key
	storage                            // formatting it loses what is on it
	tentative                          // a message or payment that is only prepared
	wire                               // with the outside in it, it can do what its method says: an HTTP request
	number                             // adding it is arithmetic
	many                               // done to all at once
)

// Small words.
const (
	and      sense = 1 << (iota + 31) // what follows does as what went before
	not                               // turns it round
	subord                            // what follows is about something else
	lead                              // may stand before the main verb: "this tool will"
	aux                               // what follows is stated of the tool: "also", "will"
	prep                              // ends the object
	particle                          // belongs to the verb before it: "check out"
	warning                           // says that there is no way back
	unmade                            // says so after a negation: "cannot be undone"
	harmless                          // says that nothing is changed
	english                           // a small word of English
	foreign                           // a small word of another language
	outside                           // the world outside
	inside                            // the server's own state
	involved                          // one of the seven stems of a complex tool
	modal                             // what stands before it is a subject: "updates will"
	article                           // what follows is a noun
	says                              // what a tool does where a description says so; at the head of a name it says little
	supposes                          // what comes after it is only supposed
	bends                             // what is left behind hangs on the object: a snapshot of a page, or of a volume
	kept                              // an object of which something is left behind, and which is overwritten when written: a volume, a file
	revision                          // a line of work: to check out a branch only goes there
	picture                           // what a picture is taken of, and handed back
	question                          // a sentence that begins with it says what is told
	pact                              // what one is bound by: an offer, a contract
	tells                             // begins a phrase that only tells: "current prices"
)

// Nouns, by what it means to change or to hand them out.
const (
	secret   sense = 1 << (iota + 57) // whoever has it is let in: a password
	right                             // what one may do: a role; of a verb, it gives some
	shield                            // what keeps others out: a firewall
	physical                          // a thing in the world that moves, heats or locks: a door
	public                            // where everybody can see it: a website
	bookable                          // reserving it costs money: a room
	acting                            // a thing that does what it is told: a client, an agent
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

// A group lists words of one sense.
type group struct {
	sense sense
	words string
}

// lexicon is everything that is known of words. lexicon.txt explains its form.
var lexicon = func() (groups []group) {
	senses := make(map[string]sense)
	for i, name := range strings.Fields(senseNames) {
		senses[name] = 1 << i
	}
	for line := range strings.Lines(lexiconText) {
		switch names, words, ok := strings.Cut(line, ":"); {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			groups[len(groups)-1].words += line
		case ok:
			g := group{words: words}
			for name := range strings.FieldsSeq(names) {
				g.sense |= senses[name]
			}
			groups = append(groups, g)
		}
	}
	return groups
}()

// A cue is what the name of a parameter can mean.
type cue uint16

// The cues.
const (
	chooser   cue = 1 << iota // chooses what is done
	namer                     // names what is acted on
	location                  // says where something is
	outlet                    // with a location behind it, says where the outcome is to stay
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

// abroadReads and abroadWrites are all that is known of other languages: Chinese words
// for reading, and for deeds.
const (
	abroadReads  = `查询 获取 列出 搜索 读取 查看 检索 只读`
	abroadWrites = `删 移除 清空 清除 清理 销毁 发送 发布 支付 付款 扣 转账 覆盖 撤销 取消 创建 新建 新增 添加 修改 更新 写入 重置 停止 终止 授予 抹 擦`
)
