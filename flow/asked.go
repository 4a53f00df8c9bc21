package flow

import (
	"bytes"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/middleware"
)

const (
	maxForm  = 512 // bytes of the arguments of a call that are kept with its result
	maxChain = 3   // results from one reference to the next
	// maxEnding is how many letters a form of a verb has more: "adding" is of "add", and "address" is not.
	maxEnding = 3
)

// wanted reports whether the user asked for a value of a kind from a result: they asked for the result, named where the
// value goes, and want something written. A value that decides about a destination or an access, and an id, a name or a
// path, is never among these: who wrote the result would choose it. Nor is one that the result hides, or a text that it
// quotes in a sentence, as one does who dictates it.
func (tr *trace) wanted(kind argumentKind, o *origin, raw string) bool {
	text := o.result.text
	switch kind {
	case kindText:
		if o.how != "" || !text.Stands(o.at, o.len, raw) {
			return false
		}
	case kindDetail:
		if o.how != "" || text.Quoted(o.at, o.len, raw) {
			return false
		}
	case kindTime, kindAmount:
		if o.how != "" && o.made == nil {
			return false
		}
	default:
		return false
	}
	return !tr.p.commits && tr.asks() && tr.asksFor(o.result)
}

// What a trace found out about the user's words, once for all values of the call.
type verdicts struct {
	asks    verdict // they want something written, and named where to
	of      *result // the latest result that they may have asked for
	asksFor verdict // they have
}

type verdict int8

const (
	undecided verdict = iota
	no
	yes
)

// decide returns the verdict, which is asked for once.
func (v *verdict) decide(ask func() bool) bool {
	if *v == undecided {
		*v = no
		if ask() {
			*v = yes
		}
	}
	return *v == yes
}

// asks reports whether the user wants something written, and named where to.
func (tr *trace) asks() bool {
	return tr.verdicts.asks.decide(func() bool { return tr.wantsWriting() && tr.destined() })
}

// asksFor is askedFor, once for values in a row of one result.
func (tr *trace) asksFor(r *result) bool {
	if v := &tr.verdicts; v.of != r {
		v.of, v.asksFor = r, undecided
	}
	return tr.verdicts.asksFor.decide(func() bool { return tr.askedFor(r, maxChain) })
}

// askedFor reports whether the user asked for a result: an argument of its call is in their words, or is a reference from a
// result of the same server that they asked for.
func (tr *trace) askedFor(r *result, chain int) bool {
	if r.form == "" || r.passed || chain == 0 {
		return false
	}
	return slices.ContainsFunc(r.leaves(), func(leaf argument) bool { return tr.theirs(r.tool.Server, leaf.value, chain) })
}

// destined reports whether the user named where the call writes to: an argument of it is theirs, or they named its server
// or what its tool is for.
func (tr *trace) destined() bool {
	if tr.saidAnyOf(tr.p.nouns) {
		return true
	}
	if tr.args == nil {
		tr.args = leaves(tr.form)
	}
	for _, leaf := range tr.args {
		switch kind := kindOf(tr.kind(leaf.name), leaf.value); {
		case kind.leads(), kind == kindPath, kind == kindID, kind == kindRepository:
			if tr.theirs(tr.call.Tool.Server, leaf.value, maxChain) {
				return true
			}
		}
	}
	return false
}

// theirs reports whether a value is in the user's words, all its words are, or they lead to it by the results of a server.
func (tr *trace) theirs(server, value string, chain int) bool {
	l := lookup{s: tr.s, server: server, kind: kindOf(kindName, value), raw: value, norm: folded.New(value, false).Norm}
	if len(l.norm) == 0 {
		return false
	}
	if len(l.norm) >= minValue && (slices.ContainsFunc(tr.s.user, l.said) || tr.saidAll(value)) {
		return true
	}
	if day := dayOf(value); day != "" {
		m := maker{lookup: &l, day: day}
		l.kind = kindTime
		return m.users() != nil
	}
	tr.s.settle()
	o := l.search(l.norm[:min(len(l.norm), maxCompare)], "")
	return o.result != nil && o.whole && tr.askedFor(o.result, chain-1)
}

// saidAll reports whether the user said each word of a text with at least minValue letters, and one with minPart.
func (tr *trace) saidAll(text string) bool {
	long := false
	for _, word := range foldedWords(text) {
		if len(word) < minValue {
			continue
		}
		long = long || len(word) >= minPart
		if !slices.ContainsFunc(tr.s.user, func(t *folded.Text) bool { at := t.Word(word, 0); return at >= 0 && t.Edge(at+len(word)) }) {
			return false
		}
	}
	return long
}

// saidAnyOf reports whether a word of the user's begins with one of the stems.
func (tr *trace) saidAnyOf(stems [][]byte) bool {
	return slices.ContainsFunc(tr.s.user, func(t *folded.Text) bool {
		return slices.ContainsFunc(stems, func(stem []byte) bool { return t.Word(stem, 0) >= 0 })
	})
}

// writes are verbs of a user who wants something written. Those of commands are as often nouns, such as "note", and count at
// the beginning of a clause alone.
var writes = bytes.Fields([]byte("add append attach copy create creating draft enter fill insert make making move moving put register" +
	" remind repeat save saving schedule scheduling set update updating write writing"))

var (
	commands = strings.Fields("block book change file list log mark note order post quote record")
	begins   = strings.Fields("also and please then to")
)

// commanded reports whether a text has one of commands where a clause begins.
func commanded(text string) bool {
	begin := true
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if begin && slices.Contains(commands, word) {
			return true
		}
		begin = slices.Contains(begins, word) || strings.ContainsAny(word[len(word)-1:], ".!?:;,")
	}
	return false
}

// wantsWriting reports whether the user used such a verb, one of writes in any form.
func (tr *trace) wantsWriting() bool {
	return slices.ContainsFunc(tr.s.user, func(t *folded.Text) bool {
		if commanded(t.Raw) {
			return true
		}
		return slices.ContainsFunc(writes, func(verb []byte) bool {
			for at := t.Word(verb, 0); at >= 0; at = t.Word(verb, at+1) {
				for ending := range maxEnding + 1 {
					if t.Edge(at + len(verb) + ending) {
						return true
					}
				}
			}
			return false
		})
	})
}

// keeps notes the arguments of a call with its result.
func (r *result) keeps(call *middleware.Call) {
	if len(call.Arguments) <= maxForm {
		r.form = string(call.Arguments)
	}
}

// An argument is a leaf of the arguments of a call.
type argument struct{ name, value string }

// leaves returns the texts of the arguments of the result's call, which are decoded once.
func (r *result) leaves() []argument {
	if r.form != "" && r.args == nil {
		r.args = leaves(r.form)
	}
	return r.args
}

// leaves returns the texts of arguments, not nil.
func leaves(form string) []argument {
	all := []argument{}
	value, err := jsontree.Decode([]byte(form))
	if err != nil {
		return all
	}
	var walk func(name string, value any)
	walk = func(name string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, below := range value {
				walk(name, below)
			}
		case []any:
			for _, below := range value {
				walk(name, below)
			}
		case string:
			all = append(all, argument{name, value})
		}
	}
	walk("", value)
	return all
}

// bases returns the URLs among the arguments of the result's call: its links are relative to them.
func (r *result) bases() (all []string) {
	if !strings.Contains(r.form, "://") {
		return nil
	}
	for _, leaf := range r.leaves() {
		if strings.Contains(leaf.value, "://") {
			all = append(all, leaf.value)
		}
	}
	return all
}
