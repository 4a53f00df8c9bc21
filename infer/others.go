package infer

// toOthers reads a first sentence that hands something to people or agents beside the caller: "reports a user to the
// moderators", "requests access from its owner", "asks another agent to send it".
func (r *reading) toOthers(ws []word) {
	for len(ws) > 0 && ws[0].is(lead) {
		ws = ws[1:]
	}
	if len(ws) < 3 {
		return
	}
	switch verb := &ws[0]; verb.base {
	case "report", "reports", "flag", "flags":
		r.also = r.also.worse(finding{effect: leaves, place: inDescription, word: "report"}.when(reach(ws, "to")))
	case "request", "requests":
		r.also = r.also.worse(finding{effect: adds, place: inDescription, word: "request"}.when(reach(ws, "from")))
	case "ask", "asks", "instruct", "instructs", "tell", "tells":
		for i := 1; i < len(ws) && !ws[i].is(subord|question) && ws[i].mark == 0; i++ {
			w := &ws[i]
			if ws[i-1].base != "to" || w.form != base {
				continue
			}
			if w.is(run|add|change|take|out|power) && !w.is(read|compute|produce) {
				r.also = r.also.worse(finding{effect: commands, place: inDescription, word: verb.base, gives: givesPower})
			}
			return
		}
	}
}

// reach reports whether a preposition leads to people who are not those that use the tool.
func reach(ws []word, by string) bool {
	for i := 1; i < len(ws)-1 && !ws[i].is(subord) && ws[i].mark == 0; i++ {
		if ws[i].base != by {
			continue
		}
		switch o := objectIn(ws, i); o.last.base {
		case "moderator", "moderators", "admin", "admins", "administrator", "administrators", "owner", "owners", "manager",
			"managers", "staff", "support", "team", "authority", "authorities", "police", "maintainer", "maintainers", "supplier",
			"suppliers", "vendor", "vendors", "supervisor", "supervisors", "author", "authors", "colleague", "colleagues",
			"employer", "agency", "regulator", "regulators", "committee", "customer", "customers", "landlord", "seller":
			return true
		}
	}
	return false
}
