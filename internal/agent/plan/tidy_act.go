package plan

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/agent/folder"
)

// maxTries is how often an action is asked for whose outcome was not known, and
// of which a look then showed that it had not happened.
const maxTries = 3

// An action is one change that the rules want.
type action struct {
	call Request
	want string // for the report: "delete a.txt"
	did  string // "deleted a.txt"
	why  string

	look     Request            // reads what tells whether it happened
	happened func(Outcome) bool // of look
	then     func(t *Tidy)      // after a no or a failure: asks for something milder; may be nil
	tries    int
	report   bool // it writes the report
}

// A deed is how an action came out.
type deed struct {
	action
	state State
	said  string // what came back, where it was not done
	kept  string // where the old file is now
}

// act asks for the first action that is left.
func (t *Tidy) act(say string) (Step, error) {
	if len(t.todo) == 0 {
		return t.afterwards()
	}
	return t.then(t.acted, say, t.todo[0].call)
}

// acted notes how the action came out. Of one that may have happened it first
// looks whether it did.
func (t *Tidy) acted(last []Outcome) (Step, error) {
	o := last[0]
	a, edited := t.todo[0].asSent(o.Request)
	if o.State == Unknown && !edited {
		return t.then(t.looked, "That may or may not have happened: looking before going on.", a.look)
	}
	t.todo = t.todo[1:]
	change, _ := Decode[folder.Change](o)
	t.done = append(t.done, deed{action: a, state: o.State, said: o.Text(), kept: change.Kept})
	if o.State != Done && a.then != nil {
		a.then(t)
	}
	return t.act("")
}

// asSent returns the action that was really sent, and whether a person had
// edited it.
func (a action) asSent(r Request) (action, bool) {
	if bytes.Equal(r.Arguments, a.call.Arguments) {
		return a, false
	}
	call := r.Tool + " with " + string(r.Arguments)
	a.why = "a person put this in place of \"" + a.want + "\""
	a.want, a.did = "call "+call, "called "+call
	return a, true
}

// looked decides by what it sees.
func (t *Tidy) looked(last []Outcome) (Step, error) {
	a, o := t.todo[0], last[0]
	a.tries++
	switch {
	case o.State != Done || a.tries == maxTries:
		t.todo = t.todo[1:]
		t.done = append(t.done, deed{action: a, state: Unknown})
		return t.act("")
	case a.happened(o):
		t.todo = t.todo[1:]
		t.done = append(t.done, deed{action: a, state: Done})
		return t.act("It did happen.")
	}
	t.todo[0] = a
	return t.act("It did not happen: asking for it again.")
}

// afterwards goes on once the queue is empty: first to the report, then to the
// last list.
func (t *Tidy) afterwards() (Step, error) {
	if slices.ContainsFunc(t.done, func(d deed) bool { return d.report }) {
		return t.then(t.finish, "What is there now?", list())
	}
	return t.then(t.settle, "What came of it?", list())
}

func deletion(name, why string) action {
	call := request("delete_file", map[string]any{"path": name})
	call.Why = why
	return action{call: call, want: "delete " + name, did: "deleted " + name, why: why, look: list(), happened: func(o Outcome) bool {
		now, err := listing(o)
		return err == nil && !now.has(name)
	}}
}

// kinds says which folder a loose file belongs to, by its extension.
var kinds = map[string]string{
	".txt": "documents", ".md": "documents", ".pdf": "documents", ".doc": "documents", ".docx": "documents", ".odt": "documents", ".rtf": "documents",
	".csv": "tables", ".tsv": "tables", ".xlsx": "tables", ".xls": "tables", ".ods": "tables",
	".png": "pictures", ".jpg": "pictures", ".jpeg": "pictures", ".gif": "pictures", ".svg": "pictures", ".webp": "pictures", ".heic": "pictures",
	".mp3": "media", ".wav": "media", ".flac": "media", ".mp4": "media", ".mov": "media", ".mkv": "media",
	".zip": "archives", ".tar": "archives", ".gz": "archives", ".tgz": "archives", ".7z": "archives",
}

// moves adds a folder for each kind of loose file, and the moves into it.
func (f *findings) moves(todo []action, left []note, gone map[string]bool) ([]action, []note) {
	noted := map[string]bool{}
	for _, n := range left {
		noted[n.path] = true
	}
	made := map[string]bool{}
	for _, e := range f.files {
		name := e.Path
		if e.Folder || gone[name] || noted[name] || strings.Contains(name, "/") || name == reportFile || strings.HasPrefix(strings.ToLower(name), "readme") {
			continue
		}
		kind, ok := kinds[strings.ToLower(path.Ext(name))]
		to := kind + "/" + name
		switch {
		case !ok:
			left = append(left, note{name, "no rule knows what kind of file it is"})
			continue
		case f.files.has(to):
			left = append(left, note{name, to + " exists already"})
			continue
		case !f.files.has(kind) && !made[kind]:
			made[kind] = true
			todo = append(todo, makeDirectory(kind))
		}
		todo = append(todo, move(name, to))
	}
	return todo, left
}

func makeDirectory(name string) action {
	call := request("make_directory", map[string]any{"path": name})
	call.Why = "a place for loose files"
	return action{call: call, want: "make " + name + "/", did: "made " + name + "/", why: call.Why, look: list(), happened: func(o Outcome) bool {
		now, err := listing(o)
		return err == nil && now.has(name)
	}}
}

func move(from, to string) action {
	call := request("move_file", map[string]any{"from": from, "to": to})
	call.Why = "a loose file of this kind"
	return action{call: call, want: "move " + from + " to " + to, did: "moved " + from + " to " + to, why: call.Why, look: list(), happened: func(o Outcome) bool {
		now, err := listing(o)
		return err == nil && now.has(to) && !now.has(from)
	}}
}

// written is a look at a file: is its text this one?
func written(text string) func(Outcome) bool {
	return func(o Outcome) bool {
		now, ok := Decode[folder.Text](o)
		return ok && now.Text == text
	}
}
