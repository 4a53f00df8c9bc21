package infer

import (
	"slices"

	"github.com/fairlead-go/fairlead/internal/schema"
)

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
