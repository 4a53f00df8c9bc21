package infer

// An object is what a verb is done to: the senses of all its words and the last one; a payment link is a link.
type object struct {
	any   sense
	last  word
	some  bool // something follows the verb, known or not
	free  bool // two words of a request: an API request does whatever its arguments say
	known bool // one that exists: an existing query, a saved one
	gets  bool // a GET request only reads
	plain bool // code that may be anything: a query
}

func (o *object) add(w *word) {
	o.some = o.some || !w.means(lead)
	o.gets = o.gets || w.base == "get"
	o.plain = (o.plain || o.any&code == 0) && (!w.means(code) || w.base == "query")
	o.free = o.free || w.sense&o.any&wire != 0
	if w.means(nouns) && w.form <= third && !w.all(read|secret) {
		o.any |= w.sense
	}
	o.any |= w.sense & outside
	o.known = o.known || w.means(tells) || w.form == past
	if !w.means(many) {
		o.last = *w
	}
}

// does returns what a verb does to an object, as it was found at a place.
func (w *word) does(o object, at place) finding {
	for i := range acts {
		if d := &acts[i]; w.sense&d.verb != 0 && w.sense&d.also == d.also && d.fits(&o) {
			return finding{effect: d.effect, place: at, word: w.base, gives: d.gives}
		}
	}
	return finding{place: at, word: w.base}
}

func (d *act) fits(o *object) bool {
	has := func(s, some sense) bool { return some == 0 || s&some != 0 }
	given := [...]bool{true, o.some, !o.some, o.free, !o.known}[d.given]
	whole := has(o.any, d.any) && has(o.any, d.with) && o.any&d.without == 0
	reading := o.gets && d.effect == commands && (d.any|d.head)&wire != 0
	return given && whole && !reading && has(o.last.sense, d.head) && o.last.sense&d.not == 0
}

// An act is what a verb with one sense of verb and all of also does to an object. A condition of 0 always holds.
type act struct {
	verb, also sense
	any, with  sense // the object has a word with one of these, and one with one of those
	head       sense // its last word has one of these
	not        sense // its last word has none of these
	without    sense // no word of it has one of these
	given      given
	effect     effect
	gives      gift
}

// A given is a further condition on an object.
type given uint8

const (
	something given = iota + 1 // there is one
	nothing                    // there is none
	free                       // two words of a request
	unseen                     // not one that exists
)

// acts are looked through in order; the first row that fits decides.
var acts = [...]act{
	{verb: take, also: sweep, any: view, effect: changes},
	{verb: take, effect: takes},
	{verb: power, effect: commands, gives: givesPower},
	{verb: out, also: bends, any: revision, effect: changes},
	{verb: out, also: money, effect: leaves, gives: givesMoney},
	{verb: out, also: public, effect: leaves, gives: givesPublic},
	{verb: out, also: right, effect: leaves, gives: givesIdentity},
	{verb: out, any: money, effect: leaves, gives: givesMoney},
	{verb: out, effect: leaves},
	{verb: produce, any: storage, effect: takes},
	{verb: seals, head: money | pact, effect: leaves, gives: givesMoney},
	{verb: seals, also: says, any: money, effect: leaves, gives: givesMoney}, // a payment dispute is accepted
	{verb: add, also: seals, any: bookable, effect: leaves, gives: givesMoney},
	{verb: run | produce, any: wire, with: outside, effect: commands, gives: givesPower},
	{verb: run, any: wire, given: free, effect: commands, gives: givesPower},
	{verb: produce, also: seals, any: wire, given: free, effect: commands, gives: givesPower},
	{verb: read, also: retire, any: message, effect: takes}, // a message that was sent is recalled
	{verb: read, also: secret, head: secret, effect: adds},
	{verb: read, also: secret, any: right, head: access, not: right, effect: adds}, // an access token
	{verb: produce, any: secret, head: artefact, not: report, effect: adds},        // a presigned URL
	{verb: read, also: supposes | secret, head: message | number, effect: adds},    // an address is verified by writing to it
	{verb: read, also: seals, head: acting, not: wire | access, effect: adds},      // a webhook is pinged with an event
	{verb: read | compute, also: bends, head: kept, effect: adds},
	{verb: run | fills, any: code, not: report, given: unseen, effect: commands, gives: givesPower},
	{verb: run, any: many, with: wire, effect: commands, gives: givesPower},
	{verb: run, head: money, effect: leaves, gives: givesMoney},
	{verb: run, any: physical, effect: leaves, gives: givesControl},
	{verb: run, any: live, not: report, effect: leaves, gives: givesPublic},
	{verb: run, also: change, effect: changes},
	{verb: run, head: report, given: unseen, effect: reads},
	{verb: run, also: compute, given: something, effect: reads},
	{verb: run, effect: changes},
	{verb: produce, also: weak, head: wire, effect: commands, gives: givesPower}, // requests in one
	{verb: produce, also: seals, any: public, effect: leaves, gives: givesPublic},
	{verb: produce, any: right, head: code, effect: leaves, gives: givesKeys}, // an access code
	{verb: produce, any: artefact | number, not: access | secret, effect: reads},
	{verb: produce, any: secret, effect: leaves, gives: givesKeys},
	{verb: produce, effect: adds},
	{verb: retire, any: many, effect: takes},
	{verb: retire, head: access | money, effect: takes},
	{verb: retire | change, any: shield, not: report, effect: leaves, gives: givesAccess},
	{verb: fills, any: kept, effect: takes},
	{verb: fills, head: bends, effect: takes}, // a snapshot is restored over what is there
	{verb: change | add, also: right, effect: leaves, gives: givesAccess},
	{verb: change, any: secret, not: report, effect: leaves, gives: givesKeys},
	{verb: change, also: physical, effect: leaves, gives: givesControl},
	{verb: change, also: settled, any: physical, effect: changes},
	{verb: retire | change, any: physical, effect: leaves, gives: givesControl},
	{verb: change | add, any: public, not: access, effect: leaves, gives: givesPublic},
	{verb: change, head: right, not: access | change, given: something, effect: leaves, gives: givesAccess}, // not a share
	{verb: change, effect: changes},
	{verb: add, also: revision, any: many, effect: takes}, // a push that is forced
	{verb: add, also: bends, any: picture, without: kept, effect: reads},
	{verb: add, also: bends, without: kept, given: nothing, effect: reads},
	{verb: add, also: wire, any: many, given: nothing, effect: commands, gives: givesPower}, // a raw request
	{verb: add, also: says, head: report, effect: reads},                                    // it reports a status
	{verb: add, any: wire | secret, head: access, effect: leaves, gives: givesKeys},
	{verb: add, any: right | shield, effect: leaves, gives: givesAccess},
	{verb: add, also: number, head: number, effect: reads},
	{verb: add, head: money, without: tentative, effect: leaves, gives: givesMoney},
	{verb: add, head: message, without: tentative, effect: leaves},
	{verb: add, effect: adds},
	{verb: read | compute, effect: reads},
}
