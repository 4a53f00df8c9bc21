package annotation

import "slices"

// Merge combines the layers, weakest first. Each set field of a later layer replaces that of the earlier
// ones, and tags are united. Use [Annotations.Without] to take a value away.
//
// The three deciding hints of a layer stay consistent: a later ReadOnly yes also lifts an earlier destructive
// yes and confirmation unless the layer repeats them, a later Destructive yes lifts a read-only yes, and a
// later Destructive no lifts a confirmation that has no reason but the destructive yes beside it. So a
// conflict can only come from within one layer.
//
// A layer that states one of the three takes away the conditions under it, as it outranks the hints from which they
// came; what a server declares does so only if it changes the class.
func Merge(layers ...Annotations) Annotations {
	var out Annotations
	for i := range layers {
		out = merge(out, layers[i])
	}
	return out
}

// merge lays one layer over the others, after it has taken away what the layer contradicts.
func merge(a, over Annotations) Annotations {
	before := a
	if over.ReadOnly == Yes {
		if over.Destructive == Unset {
			a = a.Without(DestructiveHint)
		}
		if over.RequiresConfirmation == Unset {
			a = a.Without(RequiresConfirmation)
		}
	}
	if over.Destructive == Yes && over.ReadOnly == Unset && a.ReadOnly == Yes {
		a = a.Without(ReadOnlyHint)
	}
	if over.Destructive == No && over.RequiresConfirmation == Unset && a.confirmationFollows() {
		a = a.Without(RequiresConfirmation)
	}
	evidence := withRoom(a.Evidence, len(over.Evidence))
	for i := range fields {
		f := &fields[i]
		if f.text(&over) == "" {
			continue
		}
		f.set(&a, &over)
		evidence = stated(evidence, over.Evidence, f.name)
	}
	a.Evidence = evidence
	if len(over.Conditions) == 0 && len(a.Conditions) > 0 && over.outranks(before, a) {
		return a.Without(Conditions)
	}
	return a
}

// confirmationFollows reports whether each reason of a's confirmation is also a reason for its destructive yes.
func (a Annotations) confirmationFollows() bool {
	if a.Destructive != Yes || a.RequiresConfirmation != Yes {
		return false
	}
	reason := func(e Evidence) Evidence { return Evidence{Source: e.Source, Word: e.Word, By: e.By} }
	destructive, confirmed := make(map[Evidence]bool), false
	for _, e := range a.Evidence {
		if e.Field == DestructiveHint {
			destructive[reason(e)] = true
		}
	}
	for _, e := range a.Evidence {
		if e.Field != RequiresConfirmation {
			continue
		}
		if !destructive[reason(e)] {
			return false
		}
		confirmed = true
	}
	return confirmed || len(destructive) == 0 // without evidence both are the host's word
}

// Raise applies an untrusted claim to a. Each field moves only to its stricter side: read-only and idempotent
// to no; destructive, open-world, confirmation, secret and audit to yes; duration and rate down; cost,
// complexity and security level up; freshness to volatile. Tags are added, title and category only fill a
// gap, numbers are clamped. Conditions are added to others, or to a safe tool. So no claim leads to a class below that
// of a. After a stricter hint that changes the class, or is not a server's, no condition gives less than
// the new class.
func Raise(a, claim Annotations) Annotations {
	raised := a
	raised.Evidence = slices.Clip(a.Evidence)
	own := false // the evidence is a copy
	raise := func(name Field) {
		if !own {
			raised.Evidence = withRoom(a.Evidence, len(claim.Evidence))
			own = true
		}
		raised.Evidence = stated(raised.Evidence, claim.Evidence, name)
	}
	for i := range fields {
		if f := &fields[i]; f.raise(&raised, &claim) {
			raise(f.name)
		}
	}
	// A read that, by the claim, writes and only adds would count as destructive without the second half.
	if a.ReadOnly == Yes && raised.ReadOnly == No && raised.Destructive == Unset && claim.Destructive == No {
		raised.Destructive = No
		raise(DestructiveHint)
	}
	if len(a.Conditions) > 0 && (claim.insists() || raised.Safety() != a.Safety()) {
		raised.raiseConditions(raised.Safety())
	}
	return raised
}

// Yield returns what a claim adds to a statement that outweighs it: the fields that word sets, and what
// [Merge] would lift, are unset in it. Tags stay. Raise the rest of an untrusted claim over everything
// else, last, so that it does not excuse what the host stated of another field.
func (a Annotations) Yield(word Annotations) Annotations {
	word.Tags = nil
	var said []Field
	for i := range fields {
		if fields[i].text(&word) != "" {
			said = append(said, fields[i].name)
		}
	}
	if len(said) == 0 {
		return a
	}
	return merge(a, word).Without(said...)
}

// withRoom returns a copy with room for n more.
func withRoom(evidence []Evidence, n int) []Evidence {
	if len(evidence)+n == 0 {
		return nil
	}
	return append(make([]Evidence, 0, len(evidence)+n), evidence...)
}

// stated replaces the evidence of one field. Tags are united, so for them both count.
func stated(evidence, by []Evidence, name Field) []Evidence {
	if name != Tags {
		evidence = slices.DeleteFunc(evidence, func(e Evidence) bool { return e.Field == name })
	}
	for _, e := range by {
		if e.Field == name {
			evidence = append(evidence, e)
		}
	}
	return evidence
}

// Without returns a copy without the named fields.
func (a Annotations) Without(names ...Field) Annotations {
	for i := range fields {
		if slices.Contains(names, fields[i].name) {
			fields[i].clear(&a)
		}
	}
	a.Evidence = slices.DeleteFunc(slices.Clone(a.Evidence), func(e Evidence) bool { return slices.Contains(names, e.Field) })
	return a
}
