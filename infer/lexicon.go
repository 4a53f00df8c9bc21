package infer

import (
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/internal/wordlist"
)

// A sense is what a word can mean. It is a set: "report" is a verb and a noun.
type sense uint64

// has reports whether a set has one of some senses.
func (s sense) has(some sense) bool { return s&some != 0 }

// hasAll reports whether a set has each of some senses.
func (s sense) hasAll(each sense) bool { return s&each == each }

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
	weak    sense = 1 << (iota + 10) // states little: the main verb of the description is asked first
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
	live                              // what others see as soon as it is run: a release, a campaign
	english                           // a small word of English
	foreign                           // a small word of another language
	outside                           // the world outside
	inside                            // the server's own state
	involved                          // one of the seven stems of a complex tool
	modal                             // a subject is before it: "updates will"
	article                           // what follows is a noun
	says                              // what a tool does where a description states so; at the head of a name it states little
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
		secret | right | shield | physical | public | bookable | acting | live
)

// senseNames are the senses as package wordlist has them, in their order.
const senseNames = `read compute produce run add change take out power manage weak either noun settled retire sweep agent fills seals view code
	artefact report message money access storage tentative wire number many and not subord lead aux prep particle warning unmade
	live english foreign outside inside involved modal article says supposes bends kept revision picture question pact tells secret
	right shield physical public bookable acting`

// lexicon returns the words of package wordlist.
var lexicon = sync.OnceValue(func() (all []entry) {
	senses := make(map[string]sense)
	for i, name := range strings.Fields(senseNames) {
		senses[name] = 1 << i
	}
	for i, group := range wordlist.Groups() {
		of := sense(0)
		for _, name := range group.Senses {
			of |= senses[name]
		}
		for _, word := range group.Words {
			spellings := strings.Split(word, "/")
			all = append(all, entry{spellings[0], i, of, formsOf(spellings, of)})
		}
	}
	return all
})
