package annotation

import "slices"

// Merge lays the layers over each other, weakest first. Field by field the later
// layer wins, an unset field never clobbers a set one, and tags are united. Use
// [Annotations.Without] to take a value away.
//
// What one layer says of the three deciding hints is kept consistent: a later
// ReadOnly yes also lifts a destructive yes and a confirmation that an earlier
// layer had, unless it repeats them, and a later Destructive yes lifts a
// read-only yes. A later Destructive no lifts a confirmation for which there is
// no other reason than the destructive yes beside it. So what followed from a
// lifted fact does not outlive it, and a conflict can only come from within one
// layer.
func Merge(layers ...Annotations) Annotations {
	var out Annotations
	for i := range layers {
		out = merge(out, layers[i])
	}
	return out
}

func merge(a, over Annotations) Annotations {
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
	evidence := slices.Clone(a.Evidence)
	for i := range fields {
		f := &fields[i]
		if f.text(&over) == "" {
			continue
		}
		f.set(&a, &over)
		evidence = stated(evidence, over.Evidence, f.name)
	}
	a.Evidence = evidence
	return a
}

// confirmationFollows reports whether a is destructive, and each reason for its
// confirmation is one of the reasons for that: said by the same one, for the
// same word.
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

// Raise lays an untrusted claim over a. Each field moves only to its stricter
// side: read-only and idempotent to no, destructive, open-world, confirmation,
// secret and audit to yes, the duration and the rate down, the cost, the complexity
// and the security level up, the freshness to volatile; tags are added, title and
// category only fill a gap.
// Numbers are clamped. So no claim yields a class below the one that a has.
func Raise(a, claim Annotations) Annotations {
	evidence := slices.Clone(a.Evidence)
	raised := a
	for i := range fields {
		f := &fields[i]
		if f.raise(&raised, &claim) {
			evidence = stated(evidence, claim.Evidence, f.name)
		}
	}
	// A read does not destroy. A claim that it writes after all, and only adds, makes
	// it a write that only adds; without that half it would count as destructive.
	if a.ReadOnly == Yes && raised.ReadOnly == No && raised.Destructive == Unset && claim.Destructive == No {
		raised.Destructive = No
		evidence = stated(evidence, claim.Evidence, DestructiveHint)
	}
	raised.Evidence = evidence
	return raised
}

// Yield returns what a claim has left to say beside a word that outweighs it: the
// fields that the word sets are unset in it, and so is what [Merge] would lift.
// Tags stay, since they are united. Raise the rest of an untrusted claim over
// everything else, last: so what it says of one field never excuses what the host
// said of another.
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

// stated replaces the evidence of one field by another's. Tags are united, so both
// count.
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

// Without returns a copy in which the named fields are unset.
func (a Annotations) Without(names ...Field) Annotations {
	for i := range fields {
		if slices.Contains(names, fields[i].name) {
			fields[i].clear(&a)
		}
	}
	a.Evidence = slices.DeleteFunc(slices.Clone(a.Evidence), func(e Evidence) bool { return slices.Contains(names, e.Field) })
	return a
}
