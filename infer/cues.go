package infer

import (
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// A cue is what a word in the name of a parameter can mean.
type cue uint32

// The cues.
const (
	chooser   cue = 1 << iota // chooses what is done
	mode                      // may choose it, if its values are verbs
	namer                     // names what is acted on
	location                  // names a place
	outlet                    // with a location behind it, names the place of the outcome
	force                     // overrides a protection
	body                      // holds what is to be written
	trial                     // only a tool which changes something has it
	rehearsal                 // switched on, nothing is done: a dry run
	switcher                  // switched on, takes something away
	strict                    // is run
	asked                     // is run, or looked for
	addressee                 // names people who are written to, or paid
	callback                  // names an address to which the outcome is sent
	funds                     // is spent
)

// cueWords is what is known of the words in the names of parameters.
var cueWords = []struct {
	cue   cue
	words string
}{
	{chooser, `actions operations action operation op method command subcommand verb`},
	{mode, `modes mode task event`},
	{namer, `id uid uuid key name slug number sha path file filename filepath folder dir directory`},
	{location, `path file filename filepath folder dir directory`},
	{outlet, `output out dest destination save write download export store`},
	{force, `overwrite cascade permanent permanently hard`},
	{body, `body payload patch`},
	{trial, `confirm commit persist append save`},
	{rehearsal, `dry dryrun simulate simulation`},
	{switcher, `reset delete remove purge erase wipe`},
	{asked, `query statement`},
	{addressee, `recipient recipients attendees participants invitees`},
	{strict, `sql code script command shell bash powershell javascript expression cypher cmd graphql promql`},
	{callback, `webhook callback`},
	{funds, `budget tip bounty payment spend`},
}

// may reports whether a word of the name of a parameter can mean this.
func (w *word) may(c cue) bool {
	return w.cue&c != 0 && w.flags&text.Opaque == 0 && w.form <= third
}

// cuesOf holds the words of the names of parameters.
var cuesOf = sync.OnceValue(func() map[string]cue {
	m := make(map[string]cue)
	for _, p := range cueWords {
		for w := range strings.FieldsSeq(p.words) {
			m[w] |= p.cue
		}
	}
	return m
})
