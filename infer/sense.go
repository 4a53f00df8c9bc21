package infer

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
	chooser                           // a parameter that chooses what is done
	namer                             // a parameter that names what is acted on
	force                             // a parameter that overrides a protection
	switcher                          // a parameter of this name, switched on, takes something away
	strict                            // a parameter of this name is run
	modal                             // what stands before it is a subject: "updates will"
	article                           // what follows is a noun
	says                              // what a tool does where a description says so; at the head of a name it says little
	supposes                          // what comes after it is only supposed
	bends                             // what is left behind hangs on the object: a snapshot of a page, or of a volume
	kept                              // an object of which something is left behind, and which is overwritten when written: a volume, a file
	revision                          // a line of work: to check out a branch only goes there
	picture                           // what a picture is taken of, and handed back
	trial                             // a parameter that only a tool which changes something has: a dry run, a file to save to
	question                          // a sentence that begins with it says what is told
	body                              // a parameter that holds what is to be written
	pact                              // what one is bound by: an offer, a contract
	tells                             // begins a phrase that only tells: "current prices"
)

const (
	verbs = read | compute | produce | run | add | change | take | out | power | manage
	// An outlet begins and a location ends the name of a parameter that says where
	// the outcome is to stay: output_path, save_to_file.
	outlet   = trial | force
	location = namer | force

	nouns = view | code | artefact | report | message | money | access | storage | tentative | wire | number | many | kept | revision | picture
)
