package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/agent/folder"
)

// Tidy tidies a folder by rules. It needs no model: of equal files one stays,
// empty files and backups with nothing of their own go, loose files get a folder
// by their kind, and what the rules are not sure of is left.
//
// It is a chain of phases. Each one reads how the calls of the phase before came
// out, and asks for the next ones.
type Tidy struct {
	next phase
	find findings
	todo []action
	done []deed
	left []note
}

// A phase takes the outcomes that it waited for, says what is wanted now and sets
// the phase that reads how that came out.
type phase func(last []Outcome) (Step, error)

// NewTidy returns a planner at its beginning.
func NewTidy() *Tidy {
	t := &Tidy{}
	t.next = t.look
	return t
}

// Name implements [Planner].
func (*Tidy) Name() string { return "rules, no model" }

// Next implements [Planner].
func (t *Tidy) Next(_ context.Context, turn Turn) (Step, error) { return t.next(turn.Last) }

// then is a step whose outcomes the phase reads.
func (t *Tidy) then(p phase, say string, calls ...Request) (Step, error) {
	t.next = p
	return Step{Say: say, Calls: calls}, nil
}

func (t *Tidy) look([]Outcome) (Step, error) {
	return t.then(t.compare, "What is there?", list())
}

// compare has the list, and asks which files are equal and which say that they
// want to be kept.
func (t *Tidy) compare(last []Outcome) (Step, error) {
	files, err := listing(last[0])
	if err != nil {
		return Step{}, err
	}
	t.find.files = files
	calls := []Request{request("search_text", map[string]any{"text": keepMark})}
	if same := t.find.sameSize(); len(same) > 0 {
		calls = append(calls, request("hash_files", map[string]any{"paths": same}))
	}
	return t.then(t.read, "Which files are equal, and which ask to be kept?", calls...)
}

// read has the hashes, and asks for the text of each backup and its original.
func (t *Tidy) read(last []Outcome) (Step, error) {
	matches, ok := Decode[folder.Matches](last[0])
	if !ok || matches.Truncated {
		return Step{}, fmt.Errorf("nobody could tell which files want to be kept: %s; nothing was changed", last[0].Text())
	}
	t.find.keep(matches)
	if len(last) > 1 {
		hashes, ok := Decode[folder.Hashes](last[1])
		if !ok {
			t.leave("equal files", "they could not be compared: "+last[1].Text())
		}
		t.find.equal(hashes)
	}
	var calls []Request
	for _, b := range t.find.backups() {
		calls = append(calls, request("read_file", map[string]any{"path": b.path}), request("read_file", map[string]any{"path": b.original}))
	}
	if len(calls) == 0 {
		return t.decide(nil)
	}
	return t.then(t.decide, "Do the backups hold anything that their originals lack?", calls...)
}

// decide has everything, and looks once more before it changes anything.
func (t *Tidy) decide(last []Outcome) (Step, error) {
	for i := 0; i+1 < len(last); i += 2 {
		backup, ok1 := Decode[folder.Text](last[i])
		original, ok2 := Decode[folder.Text](last[i+1])
		t.find.superseded(backup, original, ok1 && ok2)
	}
	t.todo, t.left = t.find.decide(t.left)
	return t.then(t.check, fmt.Sprintf("%s, %s. Is everything still as it was?", count(len(t.todo), "change"), count(len(t.left), "file")+" left as not sure"), list())
}

// check stops where somebody else is at work in the folder.
func (t *Tidy) check(last []Outcome) (Step, error) {
	files, err := listing(last[0])
	if err != nil {
		return Step{}, err
	}
	if !t.find.sameAs(files) {
		return Step{}, errors.New("the folder changed while it was looked at; nothing was done, run it again")
	}
	return t.act("Tidying.")
}

// leave notes something that is not touched.
func (t *Tidy) leave(path, why string) { t.left = append(t.left, note{path, why}) }

// settle has the folder as it is now, and writes the report about it.
func (t *Tidy) settle(last []Outcome) (Step, error) {
	files, err := listing(last[0])
	if err != nil {
		return Step{}, err
	}
	t.find.files = files
	t.todo = []action{t.reportAction(files.has(reportFile))}
	return t.act("")
}

// finish has the last list.
func (t *Tidy) finish(last []Outcome) (Step, error) {
	files, err := listing(last[0])
	if err != nil {
		return Step{}, err
	}
	var changed, denied, unknown int
	for _, d := range t.done {
		switch d.state {
		case Done:
			changed++
		case Denied:
			denied++
		case Unknown:
			unknown++
		}
	}
	say := fmt.Sprintf("Done: %s made, %d denied, %s left alone; %s now.", count(changed, "change"), denied, count(len(t.left), "file"), count(files.plain(), "file"))
	if unknown > 0 {
		say += fmt.Sprintf(" Of %d nobody knows; the report names them.", unknown)
	}
	return Step{Say: say, Done: true}, nil
}

func list() Request { return request("list_files", map[string]any{}) }

// files is what a list_files said.
type files []folder.Entry

// listing reads a list. Without one there is nothing to go by.
func listing(o Outcome) (files, error) {
	l, ok := Decode[folder.Listing](o)
	switch {
	case !ok:
		return nil, fmt.Errorf("the folder could not be listed: %s", o.Text())
	case l.Truncated:
		return nil, errors.New("the folder is too large for the rules: give one with fewer than 5000 files")
	}
	return l.Entries, nil
}

func (f files) has(path string) bool {
	for _, e := range f {
		if e.Path == path {
			return true
		}
	}
	return false
}

func (f files) plain() int {
	n := 0
	for _, e := range f {
		if !e.Folder {
			n++
		}
	}
	return n
}

func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, strings.TrimSpace(thing))
}
