package infer

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/schema"
)

// A kind is what a parameter can make of a call.
type kind uint8

const (
	choosesDeed    kind = iota + 1 // action: get, delete
	namesDeed                      // a command in free text, beside what it takes
	sendsRequest                   // url and method: any request is sent
	reachesAddress                 // url: a page is fetched from wherever it is
	evaluatesText                  // filter: operators are evaluated, and one of them may run code
	executesText                   // sql, command: the text is carried out
	asksText                       // query: or what is looked for
	mayExecuteText                 // code: or a short word for something, such as a country's
	writesFile                     // the outcome goes to a file that the caller names
	sendsAway                      // the outcome goes to an address that the caller names
	writesToPeople                 // attendees, recipients: people who are written to
	spendsMoney                    // a budget, a tip
	takesAway                      // a switch that takes something away: purge
	overridesGuard                 // a switch that overrides a protection: force
	doesMore                       // a switch whose name is a deed: send_email
	showsWrite                     // only a tool that changes something has it: commit
	triesOnly                      // a switch that turns the deed into a trial: dry_run
	saysDeed                       // its description states a deed
)

// effects are the kinds as people read them.
var effects = map[kind]string{
	choosesDeed: "chooses the deed", sendsRequest: "is carried out", reachesAddress: "is fetched", evaluatesText: "is evaluated", namesDeed: "names any deed", executesText: "is carried out", mayExecuteText: "is carried out", asksText: "is carried out", writesFile: "writes a file",
	sendsAway: "sends to an address", writesToPeople: "writes to people", spendsMoney: "spends money", takesAway: "takes away",
	overridesGuard: "overrides a protection", doesMore: "does more", showsWrite: "shows a write", triesOnly: "only tries",
	saysDeed: "does what its description states",
}

// A parameter is one with a power.
type parameter struct {
	*schema.Parameter
	kind       kind
	pointer    string            // see annotation.Condition; "" if it has none
	top        bool              // it is an argument, and not in one
	found      finding           // what a call with it does, the worst of its values
	noun       finding           // the same, of values that may be nouns: an email, a trash
	dispatched bool              // a command beside what it takes
	unusual    bool              // its name does not tell that it chooses the deed
	choices    []choice          // what each of its values does
	trial      []string          // the values of a text that turn the deed into a trial, and the one that is the deed behind them
	spoken     string            // the language of the text that is carried out; see parameters.language
	with       map[string]string // further parts of the text, see annotation.Condition
}

// A choice is what one value does; nothing, if it is not understood. One that is not firm may be a noun.
type choice struct {
	finding
	firm bool
	noun bool
}

// parameters is what the schema states about the parameters of a tool.
type parameters struct {
	powers   []parameter
	verbs    []parameter     // texts that choose the deed, and for which the schema lists no choices; see conditions
	any      bool            // there is a schema
	choose   bool            // one chooses the deed, and a value of it is understood
	carries  string          // the last one that carries a method, an operation, a body or code
	asks     bool            // one holds a text that is carried out or looked for
	names    bool            // one names what is acted on
	reveals  string          // a word of the name of one that has a secret shown
	body     finding         // a required one that holds what is to be written
	listens  bool            // descriptions are read
	about    string          // the description of the tool
	named    string          // its name
	own      string          // the verb of the name, if it is a firm one that writes
	repeated map[string]bool // descriptions that most tools of the server have
	of       *server         // its server, nil if the tool is seen alone
}

// maxSchemaDepth is how deep parameters are looked for; maxChoice is how many letters of a value are read.
const (
	maxSchemaDepth = 6
	maxChoice      = 128
)

// read looks at every parameter of a schema.
func (c *parameters) read(decoded any) {
	c.any = true
	root := schema.Normal(decoded)
	c.walk(root, nil, false)
	c.dispatch(root)
	c.request(root)
}

// A step leads to a place in the arguments: into a member of an object, or into each element of a list.
type step struct {
	from  *step // nil for the arguments themselves
	name  string
	every bool
	depth int // how many steps it is from the arguments
}

func (s *step) to(name string, every bool) step {
	if s == nil {
		return step{name: name, every: every, depth: 1}
	}
	return step{from: s, name: name, every: every, depth: s.depth + 1}
}

// within reports whether a place is in a member whose name has a word.
func (s *step) within(word string) bool {
	for s = s.from; s != nil; s = s.from {
		if strings.Contains(strings.ToLower(s.name), word) {
			return true
		}
	}
	return false
}

// pointer returns the argument of a condition, "" if it has none.
func (s *step) pointer() string {
	if s == nil {
		return ""
	}
	before := s.from.pointer()
	switch own, ok := annotation.Pointer(s.name); {
	case before == "" && s.from != nil, !s.every && !ok:
		return ""
	case s.every:
		return before + "/*"
	default:
		return before + own
	}
}

// walk looks at the members of a place. Of a list of operations, the type of each is its deed.
func (c *parameters) walk(p *schema.Parameter, place *step, operations bool) {
	if place != nil && place.depth > maxSchemaDepth {
		return
	}
	for _, m := range p.Members {
		at := place.to(m.Name, false)
		var room [6]word // more than most names have
		ws := cutInto(room[:0], m.Name)
		if len(ws) > 0 {
			c.parameter(m, ws, &at, operations && (m.Name == "type" || m.Name == "kind" || m.Name == "name"))
		}
		c.walk(m, &at, len(ws) > 0 && ws[len(ws)-1].may(chooser))
	}
	if p.Elements != nil {
		at := place.to("", true)
		c.walk(p.Elements, &at, operations)
	}
}

// dispatch finds a command in free text beside an object with what the command takes: the tool does whatever its arguments ask for.
func (c *parameters) dispatch(root *schema.Parameter) {
	wrapped := slices.IndexFunc(root.Members, func(m *schema.Parameter) bool {
		switch m.Name {
		case "parameters", "params", "arguments", "args", "payload", "input":
			return m.Only(schema.Object) && len(m.Members) == 0
		}
		return false
	})
	if wrapped < 0 {
		return
	}
	for _, m := range root.Members {
		ws := cut(m.Name)
		if len(ws) > 0 && (ws[0].may(chooser) || ws[len(ws)-1].may(chooser)) && m.May(schema.Text) && len(m.Values) == 0 {
			p := parameter{Parameter: m, top: true}
			p.dispatched = true
			c.powers = slices.DeleteFunc(c.powers, func(q parameter) bool { return q.Parameter == m })
			c.add(p, namesDeed, commands, &ws[0])
			c.powers[len(c.powers)-1].found.gives = givesPower
		}
	}
}

// parameter finds the power of one parameter: at any depth what it may choose, carry or say, at the top all others.
func (c *parameters) parameter(m *schema.Parameter, ws []word, at *step, operation bool) {
	p := parameter{Parameter: m, top: at.depth == 1}
	if len(m.Values) == 0 && m.May(schema.Text) {
		m.Values = listedValues(m.Description)
	}
	last := &ws[len(ws)-1]
	if last.may(chooser | mode | body | strict | asked) {
		c.carries = last.base
	}
	if p.top && last.may(strict|asked) && m.May(schema.Text) && len(m.Values) == 0 {
		c.asks = true
	}
	if p.top && last.may(namer) {
		c.names = true
	}
	if p.top && c.reveals == "" {
		c.reveals = revealing(ws)
	}
	before := len(c.powers)
	if !(p.top && c.rehearses(p, ws)) && !c.chooses(p, ws, operation) && p.top {
		c.atTop(p, ws)
	}
	if saysVerb(m, ws, at) {
		p.pointer, p.found = at.pointer(), finding{place: inSchema, word: last.base}
		c.verbs = append(c.verbs, p)
	}
	if c.listens {
		c.listen(p, last.may(strict))
	}
	for i := before; i < len(c.powers); i++ {
		c.powers[i].pointer = at.pointer()
	}
}

// add takes a parameter with the power that was found, and reports true.
func (c *parameters) add(p parameter, is kind, does effect, w *word) bool {
	p.kind, p.found = is, finding{effect: does, place: inSchema, word: w.base}
	c.powers = append(c.powers, p)
	return true
}

func (c *parameters) atTop(p parameter, ws []word) bool {
	first, last := &ws[0], &ws[len(ws)-1]
	switch isSwitch := p.Only(schema.Bool); {
	case isSwitch && len(ws) == 1 && last.may(switcher):
		return c.add(p, takesAway, takes, last)
	case isSwitch && first.may(rehearsal):
		return c.add(p, triesOnly, changes, first)
	case isSwitch && first.may(trial):
		return c.add(p, showsWrite, changes, first)
	case isSwitch && last.may(force):
		return c.add(p, overridesGuard, takes, last)
	case isSwitch:
		return c.does(p, ws)
	case c.writes(p, ws):
		return true
	case c.sends(p, ws):
		return true
	case first.may(chooser) && len(ws) == 2 && last.may(namer) && len(p.Values) == 0: // action_id
		c.add(p, namesDeed, commands, first)
		c.powers[len(c.powers)-1].found.gives = givesPower
		return true
	case p.May(schema.Number|schema.Text) && first.may(funds) && sum(ws) && pays(p.Description):
		return c.add(p, spendsMoney, leaves, first)
	case last.base == "pipeline" && p.Only(schema.List): // stages of an aggregation, which may write
		c.executes(p, executesText, last)
		return true
	case p.May(schema.Object) && c.isFilter(last.base, p.Description): // $where and $function run JavaScript
		p.spoken = "mongodb"
		return c.add(p, evaluatesText, commands, last)
	case first.may(addressee):
		return c.add(p, writesToPeople, leaves, first)
	case (last.base == "document" || last.base == "mutation") && p.Only(schema.Text) && c.languageOf(last.base, p.Description) == "graphql":
		c.executes(p, executesText, last)
		return true
	case last.may(strict) && len(ws) < 3 && !p.Only(schema.Object) && len(p.Values) == 0: // sql, shell_command
		is := executesText
		if last.base == "code" {
			is = mayExecuteText
		}
		c.executes(p, is, last)
		return true
	case last.may(asked) && !p.Only(schema.Object) && len(p.Values) == 0:
		c.executes(p, asksText, last)
		return true
	case last.may(body) && p.Required:
		c.body = c.body.worse(finding{effect: adds, place: inSchema, word: last.base})
	}
	return false
}

// executes takes a parameter whose text is carried out.
func (c *parameters) executes(p parameter, is kind, w *word) {
	c.add(p, is, commands, w)
	c.powers[len(c.powers)-1].found.gives = givesPower
}

// language returns the language of a text that is carried out. It is looked for when it is asked for.
func (c *parameters) language(p *parameter) string {
	if p.spoken == "" {
		p.spoken = c.languageOf(p.found.word, p.Description)
	}
	return p.spoken
}

// listen reads the description of a parameter: what a switch does when it is on, and whether code is run.
func (c *parameters) listen(p parameter, isCode bool) {
	var r reading
	isSwitch := p.Only(schema.Bool)
	if !isSwitch && (c.repeated[p.Description] || !isCode && !mentionsLoss(p.Description)) {
		return
	}
	begins := true
	for ws := range clauses(p.Description) {
		r.passing(ws)
		if isSwitch && begins {
			r.later(ws)
		}
		if isCode && first(ws, run) != "" {
			r.also = r.also.worse(finding{effect: commands, word: "code", gives: givesPower})
		}
		begins = false
	}
	removes := r.done.word == "remove" && p.Only(schema.Number) // of the rest: "how many to keep"
	if !isSwitch && !destroys(r.done.word) && !removes {
		r.done = finding{} // of a thing that the parameter describes: "longer entries are truncated"
	}
	if f := r.also.worse(r.done); f.effect > adds {
		p.kind, p.found = saysDeed, f.at(ofParameter)
		c.powers = append(c.powers, p)
	}
}
