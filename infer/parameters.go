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
	repeated map[string]bool // descriptions that most tools of the server have
	of       *server         // its server, nil if the tool is seen alone
}

// A powerRule shows when a power of a parameter counts.
type powerRule struct {
	name   string
	kind   kind
	counts func(t *tool, p *parameter) bool
}

// found returns what a parameter makes of a call. A value that may be a noun counts if no plain verb speaks.
func (r *powerRule) found(t *tool, p *parameter) finding {
	f := p.found.worse(p.noun.when(!t.name.firm))
	if p.kind != choosesDeed || !t.open() {
		return f
	}
	sure := p.found.effect.writes() // a noun among nouns is not one of the deeds
	for i := range p.choices {
		if sure || !p.choices[i].noun {
			f = f.worse(p.choices[i].finding)
		}
	}
	for i := range p.choices {
		if text, ok := p.Values[i].(string); ok && p.choices[i].effect == unknown && sure {
			return f.worse(finding{effect: takes, place: inUnknownChoice, word: text}) // what is not understood asks
		}
	}
	return f
}

// powers are the rules for parameters, in the order of their application.
var powers = []powerRule{
	{"a choice of a parameter", choosesDeed, func(t *tool, p *parameter) bool {
		return !t.name.verb.means(add) && !(p.unusual && t.name.firm && t.name.looks())
	}},
	{"a command of any kind", namesDeed, func(t *tool, p *parameter) bool {
		if !p.dispatched {
			return t.name.runs() && t.name.obj.last.may(chooser)
		}
		return t.deed.effect != reads || t.said.manages || !t.name.firm && !(t.name.told && t.said.verb.has(read))
	}},
	{"a parameter that is run", sendsRequest, func(t *tool, p *parameter) bool {
		return t.deed.effect == reads || t.deed.effect >= leaves || t.open() || t.name.runs()
	}},
	{"an address that is fetched", reachesAddress, func(t *tool, p *parameter) bool { return t.deed.effect == reads && t.name.effect == reads }},
	{"a filter that may hold code", evaluatesText, func(t *tool, p *parameter) bool { return t.deed.effect == reads }},
	{"a parameter that is run", executesText, func(t *tool, p *parameter) bool { return t.runs(p) || t.makes(p) }},
	{"a parameter that is run", mayExecuteText, func(t *tool, p *parameter) bool {
		return t.runsWhatItIsGiven() && (p.Description == "" || t.deed.effect == commands || speaksOfCode(p.Description))
	}},
	{"a parameter that is run", asksText, func(t *tool, p *parameter) bool {
		about := t.name.looks() && (t.name.obj.any.has(code) || t.name.verb.means(supposes)) // explains or checks a query
		return t.deed.effect == commands || t.makes(p) || !about && t.params.language(p) != p.found.word && (t.params.language(p) == "graphql" || runs(p.Description))
	}},
	{"a switch", takesAway, func(*tool, *parameter) bool { return true }},
	{"a parameter says what happens", saysDeed, func(t *tool, p *parameter) bool {
		return t.reads() && (p.found.effect != commands || t.name.looks())
	}},
	{"a parameter of a write", showsWrite, func(t *tool, p *parameter) bool { return t.deed.effect == reads }},
	{"a parameter of a write", triesOnly, func(t *tool, p *parameter) bool { return true }},
	{"a parameter of a write", writesFile, (*tool).yields},
	{"an address that the outcome goes to", sendsAway, (*tool).yields},
	{"money that is spent", spendsMoney, func(t *tool, p *parameter) bool { return true }},
	{"a switch that does more", doesMore, func(t *tool, p *parameter) bool { return t.name.obj.any&tentative == 0 }}, // of a template it is a setting
	{"people who are written to", writesToPeople, func(t *tool, p *parameter) bool { return t.so.effect.writes() }},
	{"a protection overridden", overridesGuard, func(t *tool, p *parameter) bool { return t.so.effect.writes() }},
}

// yields reports whether a tool has an outcome that can go elsewhere: it reads, or a parameter chooses what it does.
func (t *tool) yields(*parameter) bool {
	return t.deed.effect == reads || t.said.abroad.main.effect == reads || t.params.choose && t.open()
}

// runs reports whether a tool carries out a text that a parameter holds: one that runs it, or one that only looks and
// would have no use for it.
func (t *tool) runs(*parameter) bool {
	return t.runsWhatItIsGiven() || t.name.looks() && t.name.obj.any&code == 0 && !t.name.verb.means(supposes)
}

// runs reports whether a description states that what it describes is carried out: "SQL query to execute".
func runs(description string) bool {
	for ws := range clauses(description) {
		for i := range ws {
			if w := &ws[i]; w.is(run) && !w.means(noun|weak) {
				return true
			}
		}
	}
	return false
}

// speaksOfCode reports whether the description of a parameter called code is one of a text that is carried out, and not
// of a short word, such as the code of a country or a project.
func speaksOfCode(description string) bool {
	for ws := range clauses(description) {
		for i := range ws {
			if w := &ws[i]; w.is(run|code) && w.base != "code" || w.is(power) {
				return true
			}
		}
	}
	return false
}

func (t *tool) runsWhatItIsGiven() bool { return t.name.runs() || !t.name.firm && !t.name.told }

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
	if !c.chooses(p, ws, operation) && p.top {
		c.atTop(p, ws)
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

// does finds a switch whose name is a deed: send_email, delete_branch.
func (c *parameters) does(p parameter, ws []word) bool {
	if len(ws) < 2 {
		return false
	}
	v := judge(ws)
	if v.head != 0 || !v.firm || v.effect != leaves && !destroys(v.word) {
		return false // "remove_images" and "cancel_running" are settings of the deed
	}
	p.kind, p.found = doesMore, v.at(inSchema)
	c.powers = append(c.powers, p)
	return true
}

// sends finds a parameter that names an address to which the outcome goes.
func (c *parameters) sends(p parameter, ws []word) bool {
	i := slices.IndexFunc(ws, func(w word) bool { return w.may(callback) })
	if i < 0 || !p.May(schema.Text|schema.Object) {
		return false
	}
	if last := ws[len(ws)-1].base; i < len(ws)-1 && last != "url" && last != "uri" && last != "endpoint" {
		return false // webhook_id: one that is there
	}
	return c.add(p, sendsAway, leaves, &ws[i])
}

// sum reports whether a name of funds is that of an amount: budget, tip_amount, budget_usd.
func sum(ws []word) bool {
	switch ws[len(ws)-1].base {
	case "amount", "usd", "eur", "gbp", "cents", "cent", "sats", "credits", "value", "max", "limit":
		return true
	}
	return len(ws) == 1
}

// pays reports whether a description states that something is paid.
func pays(description string) bool {
	for ws := range clauses(description) {
		for i := range ws {
			if w := &ws[i]; w.is(money) && w.base != "credit" || w.is(out) {
				return true
			}
		}
	}
	return false
}

// writes finds a parameter that names where the outcome goes, by its name (output_path, save_to) or by its description
// ("File name to save the messages to"). A file may be one that is there, so a call with it asks; a folder only adds.
func (c *parameters) writes(p parameter, ws []word) bool {
	if !p.May(schema.Text) || len(p.Values) > 0 {
		return false
	}
	first, last := &ws[0], &ws[len(ws)-1]
	into := len(ws) == 2 && (last.base == "to" || last.base == "as")
	named := len(ws) > 1 && first.may(outlet) && (last.holds() || into)
	if !named && !(last.holds() && keeps(p.Description)) {
		return false
	}
	effect := takes
	if slices.ContainsFunc(ws, func(w word) bool { return w.base == "folder" || w.base == "dir" || w.base == "directory" }) {
		effect = adds
	}
	return c.add(p, writesFile, effect, first)
}

// keeps reports whether a description states that the outcome is saved in what the parameter names.
func keeps(description string) bool {
	for ws := range clauses(description) {
		for i := range ws {
			w := &ws[i]
			switch w.base {
			case "save", "write", "store", "export", "dump", "download":
			default:
				continue
			}
			to := i > 0 && (ws[i-1].base == "to" || ws[i-1].base == "where")
			done := i > 0 && (ws[i-1].base == "be" || ws[i-1].base == "is" || ws[i-1].base == "are")
			if w.form == base && (i == 0 || to) || w.form == past && done {
				return true
			}
		}
	}
	return false
}

// chooses reads the values of a parameter such as "action" like names of tools.
func (c *parameters) chooses(p parameter, ws []word, operation bool) bool {
	if len(p.Values) == 0 || compares(p.Values) {
		return false
	}
	last := &ws[len(ws)-1]
	sure := last.may(chooser) || operation
	perhaps := last.may(mode) // a mode or an event, unless most of its values are plain verbs
	// Any other name, if all of its values are plain verbs and one of them is grave: toolId: clear_sessions, reset_roles.
	other := !sure && !perhaps
	if other && (len(p.Values) < 2 || !anything(&ws[0])) {
		return false
	}
	p.choices = make([]choice, len(p.Values))
	plain := 0
	for i, value := range p.Values {
		name, _ := value.(string)
		words := cut(name[:min(len(name), maxChoice)])
		v := judge(words)
		p.choices[i].finding, p.choices[i].noun = v.at(inChoice), v.verb.means(noun)
		if v.head != 0 && !v.firm {
			p.choices[i].finding = finding{}
		}
		if len(words) == 1 && words[0].is(report) && !words[0].is(verbs) { // history, status
			p.choices[i].finding = finding{effect: reads, place: inChoice, word: words[0].base}
		}
		switch {
		case v.head != 0, v.effect == unknown, !v.firm && (v.verb.means(weak) || !v.effect.dangerous()):
		case v.verb.means(noun):
			p.noun = p.noun.worse(v.at(inChoice))
		default:
			if !perhaps || !v.verb.means(either|weak) {
				plain++
			}
			p.choices[i].firm = true
			p.found = p.found.worse(v.at(inChoice))
		}
	}
	understood := slices.ContainsFunc(p.choices, func(c choice) bool { return c.effect != unknown })
	if p.found.effect == unknown && p.noun.effect == unknown && !(last.may(chooser) && understood) || perhaps && 2*plain <= len(p.Values) ||
		other && (plain < len(p.Values) || !p.found.effect.dangerous()) {
		return false
	}
	c.choose = c.choose || plain > 0
	p.kind, p.unusual = choosesDeed, other
	c.powers = append(c.powers, p)
	return true
}

// mentionsLoss reports whether a text may have a word that destroys states, or "remove"; most have none, and are not read.
func mentionsLoss(description string) bool {
	for _, stem := range [...]string{"elet", "verwr", "ras", "wip", "estro", "urg", "emov", "ELET", "VERWR", "RAS", "WIP", "ESTRO", "URG", "EMOV"} {
		if strings.Contains(description, stem) {
			return true
		}
	}
	return !isASCII(description) // it may be spelled with look-alikes
}

// destroys reports whether a verb, stated of a thing, can hardly be about a value or a result.
func destroys(verb string) bool {
	switch verb {
	case "delete", "overwrite", "erase", "wipe", "destroy", "purge":
		return true
	}
	return false
}

// listedValues returns the values that a description lists: "One of: list, get, purge".
func listedValues(description string) (values []any) {
	const most = 64
	at := -1
	for _, head := range [...]string{"ne of", "ither", "ptions:", "ctions:", "perations:", "alues:"} {
		if i := strings.Index(description, head); i > 0 && (at < 0 || i+len(head) < at) {
			at = i + len(head)
		}
	}
	if at < 0 {
		return nil
	}
	rest := strings.TrimPrefix(strings.TrimLeft(description[at:], " :"), "the following")
	rest = strings.TrimLeft(rest, " :")
	separated := false
	for len(values) < most {
		rest = strings.TrimLeft(rest, " \t\r\n'\"`(-*•")
		end := strings.IndexFunc(rest, func(r rune) bool {
			return !(r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
		})
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		if word == "or" || word == "and" {
			rest, separated = rest[end:], true
			continue
		}
		if word == "" || len(values) > 0 && !separated {
			break
		}
		values = append(values, word)
		rest = strings.TrimLeft(rest[end:], " '\"`)")
		separated = strings.HasPrefix(rest, ",") || strings.HasPrefix(rest, "|") || strings.HasPrefix(rest, "/")
		if separated {
			rest = rest[1:]
		}
		separated = separated || strings.HasPrefix(rest, "or ") || strings.HasPrefix(rest, "and ")
	}
	if len(values) < 2 {
		return nil
	}
	return values
}

// anything reports whether a word names a choice of any kind.
func anything(w *word) bool {
	switch w.base {
	case "what", "do", "tool", "function", "step", "choice", "option", "request", "kind", "type":
		return true
	}
	return false
}

// compares reports whether values are operators of a comparison, and no deeds: eq, starts_with.
func compares(values []any) bool {
	for _, v := range values {
		switch v {
		case "eq", "neq", "ne", "equals", "=", "==", "gt", "lt", ">", "contains":
			return true
		}
	}
	return false
}

// chosen returns the gravest value of the parameters that choose the deed.
func (c *parameters) chosen() (f finding) {
	for i := range c.powers {
		if c.powers[i].kind == choosesDeed {
			f = f.worse(c.powers[i].found)
		}
	}
	return f
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
