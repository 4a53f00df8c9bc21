package inbox

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
)

// Undoable adds to the history of the page that a call was made that can be taken back, and a button that does so: see
// hitl.Options.OnUndoable. The history gets an entry for a call that nobody was asked about here.
//
// The button has takeBack called on a goroutine of its own, with the name of the person who pressed it. It is to make the
// call that by names, guarded like any other and with a question of its own (hitl.Options.Anew), since the button approves
// nothing. Its error is shown to people, and leaves the button there; without an error the call counts as taken back. Once
// the entry is out of the history, the call is not offered any more.
func (in *Inbox) Undoable(call middleware.Call, by hitl.Undo, takeBack func(ctx context.Context, person string) error) {
	button := &undoable{By: safetext.Word(by.Server+"/"+by.Tool, maxNameShown), With: brief(by.Arguments), Path: in.o.Path}
	in.mu.Lock()
	defer in.mu.Unlock()
	if q := in.waiting[by.Question]; q != nil { // its own goroutine has not ended it yet
		in.end(q, record{past: past{What: "answered elsewhere"}, late: true})
	}
	r := in.past[by.Question]
	if by.Question == "" || r == nil {
		r = in.keep(record{past: past{
			ID: rand.Text(), Tool: safetext.Word(call.Tool.String(), maxNameShown), Arguments: brief(call.Arguments),
			What: "made without a question here",
		}})
	}
	r.takeBack, r.Undo = takeBack, button
	in.version++
}

// undoable is the button of a template, which does not change.
type undoable struct {
	By, With string // the call that takes it back
	Path     string
	State    string // what became of it; "" before it was tried
	Closed   bool   // there is no button, since it is under way or done
}

// undoCall starts what takes a call back. Its question is then on the page, or wherever people are asked.
func (in *Inbox) undoCall(w http.ResponseWriter, r *http.Request, s *session) {
	form, err := readForm(w, r, "id")
	if err == nil {
		err = in.startUndo(r.Context(), form.Get("id"), s)
	}
	if err != nil {
		in.refused(w, r, err)
		return
	}
	http.Redirect(w, r, in.o.Path+"?done="+url.QueryEscape(form.Get("id")), http.StatusSeeOther)
}

func (in *Inbox) startUndo(ctx context.Context, id string, s *session) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	r := in.past[id]
	if r == nil || r.takeBack == nil {
		return errNoUndo
	}
	if r.Undo.Closed {
		return errUndone
	}
	in.say(r, "being taken back, once that is approved", true)
	in.o.Logger.LogAttrs(ctx, slog.LevelInfo, "inbox: a call is to be taken back", slog.String("id", id), slog.String("tool", r.Tool), slog.String("by", s.by))
	run := r.takeBack
	go func() {
		err := errors.New("it ended its goroutine")
		defer func() {
			if v := recover(); v != nil {
				in.o.Logger.LogAttrs(ctx, slog.LevelError, "inbox: taking a call back panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
				err = errors.New("it panicked; the log of the host has the stack")
			}
			in.undone(r, err)
		}()
		err = run(context.WithoutCancel(ctx), s.by)
	}()
	return nil
}

// undone notes what became of an undo.
func (in *Inbox) undone(r *record, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err == nil {
		in.say(r, "taken back", true)
		return
	}
	in.say(r, "not taken back: "+safetext.Cut(safetext.Line(err.Error()), maxPast), false)
}

// say replaces the state of a record's undo. Templates read the earlier one. The caller holds the lock.
func (in *Inbox) say(r *record, state string, closed bool) {
	next := *r.Undo
	next.State, next.Closed = state, closed
	r.Undo = &next
	in.version++
}
