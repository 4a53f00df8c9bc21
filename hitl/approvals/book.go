package approvals

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// What a book keeps. The approvals that are open are bounded by those who ask.
const (
	maxEnded    = 1000   // approvals that are over, for late answers
	maxStanding = 10_000 // remembered approvals of one scope that have not expired, so that no scope takes another's place
)

type entry struct {
	At       time.Time `json:"at"`
	Op       op        `json:"op"`
	Approval *Approval `json:"approval,omitempty"`
	ID       string    `json:"id,omitempty"`
	Change   *Change   `json:"change,omitempty"`
	Standing *Standing `json:"standing,omitempty"`
	Scope    string    `json:"-"` // of what is forgotten
	Why      string    `json:"why,omitempty"`
}

type op string

const (
	asked      op = "asked"
	advanced   op = "advanced"
	noEffect   op = "no effect" // for the record
	remembered op = "remembered"
	forgotten  op = "forgotten"
)

// A book is a store whose changes are written before they count, behind a lock.
type book struct {
	write func(entry) error
	// lock has the book brought up to date with what other processes have written, and keeps
	// them from writing more until release is called, if it is for a change.
	lock func(change bool) (release func(), err error)

	mu        sync.Mutex
	approvals map[string]Approval
	ended     []string                       // oldest first
	standing  map[string]map[string]Standing // by scope and ID
}

func newBook(write func(entry) error) book {
	alone := func(bool) (func(), error) { return func() {}, nil }
	return book{write: write, lock: alone, approvals: make(map[string]Approval), standing: make(map[string]map[string]Standing)}
}

func (b *book) Add(_ context.Context, a Approval) error {
	return b.commit(entry{Op: asked, Approval: &a})
}

func (b *book) Advance(_ context.Context, id string, change Change) error {
	return b.commit(entry{Op: advanced, ID: id, Change: &change})
}

func (b *book) Remember(_ context.Context, s Standing) error {
	return b.commit(entry{Op: remembered, Standing: &s})
}

func (b *book) Remembered(_ context.Context, scope, server, tool string) ([]Standing, error) {
	return b.find(&scope, func(s Standing) bool { return server == "" && tool == "" || s.Server == server && s.Tool == tool })
}

func (b *book) List(context.Context) ([]Standing, error) {
	return b.find(nil, func(Standing) bool { return true })
}

// find returns what fits of one scope, or of all if it is nil. The first to expire comes first.
func (b *book) find(scope *string, fits func(Standing) bool) ([]Standing, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	release, err := b.lock(false)
	if err != nil {
		return nil, err
	}
	defer release()
	scopes := b.standing
	if scope != nil {
		scopes = map[string]map[string]Standing{*scope: b.standing[*scope]}
	}
	b.expire(scopes)
	var found []Standing
	for _, its := range scopes {
		for _, s := range its {
			if fits(s) {
				s.Pattern = slices.Clone(s.Pattern)
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(x, y Standing) int { return x.Until.Compare(y.Until) })
	return found, nil
}

func (b *book) Forget(_ context.Context, scope, id string) error {
	return b.commit(entry{Op: forgotten, ID: id, Scope: scope})
}

func (b *book) commit(e entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	release, err := b.lock(true)
	if err != nil {
		return err
	}
	defer release()
	if _, there := b.standing[e.Scope][e.ID]; e.Op == forgotten && !there {
		return nil
	}
	return b.make(e)
}

// make is commit for a caller that has the lock.
func (b *book) make(e entry) error {
	now := time.Now()
	e.At = now.UTC()
	err := b.check(e, now)
	if errors.Is(err, ErrNoEffect) {
		return errors.Join(err, b.write(entry{At: e.At, Op: noEffect, ID: e.ID, Change: e.Change, Why: err.Error()}))
	}
	if err == nil {
		err = b.write(e)
	}
	if err == nil {
		b.apply(e)
	}
	return err
}

// check returns what keeps an entry from being made. Now is zero for one that was made
// before, for which it was in time.
func (b *book) check(e entry, now time.Time) error {
	switch {
	case e.Op == asked && e.Approval != nil:
		return b.checkNew(*e.Approval, now)
	case e.Op == advanced && e.Change != nil:
		a, to := b.approvals[e.ID], e.Change.To
		late := (to == Approved || to == Spent) && !now.IsZero() && !now.Before(a.Until)
		switch {
		case to == Spent && !now.IsZero() && !b.stands(a, now):
			return &NoEffectError{ID: e.ID, Was: Void, To: to}
		case late || !a.State.CanBecome(to):
			return &NoEffectError{ID: e.ID, Was: a.State, To: to}
		case to == Approved && e.Change.Until.IsZero():
			return errors.New("approvals: an approval needs a time when it expires")
		}
	case e.Op == remembered && e.Standing != nil:
		if err := e.Standing.Check(); err != nil || now.IsZero() {
			return err
		}
		b.expire(b.standing)
		if len(b.standing[e.Standing.Scope]) >= maxStanding {
			return fmt.Errorf("approvals: %d approvals of this scope are remembered already; forget some", maxStanding)
		}
	case e.Op != forgotten && e.Op != noEffect:
		return fmt.Errorf("approvals: %q is no entry", e.Op)
	}
	return nil
}

// stands reports whether the remembered approval that answered is still there, if one did.
func (b *book) stands(a Approval, now time.Time) bool {
	s, there := b.standing[a.Scope][a.Standing]
	return a.Standing == "" || there && now.Before(s.Until)
}

func (b *book) checkNew(a Approval, now time.Time) error {
	switch _, known := b.approvals[a.ID]; {
	case a.ID == "":
		return errors.New("approvals: an approval needs an ID")
	case known:
		return fmt.Errorf("approvals: %s is known already", a.ID)
	case !now.IsZero() && a.State == Approved && !b.stands(a, now):
		return &NoEffectError{ID: a.Standing, Was: Void, To: Approved}
	case a.State == Pending && a.Standing == "", a.State == Approved && a.Standing != "":
		return nil
	}
	return fmt.Errorf("approvals: an approval cannot begin as %q", a.State)
}

func (b *book) apply(e entry) {
	switch e.Op {
	case asked:
		a := *e.Approval
		a.Drafts = slices.Clone(a.Drafts)
		b.approvals[a.ID] = a
		if s, there := b.standing[a.Scope][a.Standing]; there {
			s.Uses++
			b.standing[a.Scope][a.Standing] = s
		}
	case advanced:
		b.advance(e.ID, *e.Change)
	case remembered:
		s := *e.Standing
		if b.standing[s.Scope] == nil {
			b.standing[s.Scope] = make(map[string]Standing)
		}
		b.standing[s.Scope][s.ID] = s
	case forgotten:
		for _, its := range b.standing { // the entry does not hold its scope
			delete(its, e.ID)
		}
		b.void(e.ID)
	case noEffect:
	}
}

// void ends the approval that a remembered approval for one call has let wait.
func (b *book) void(id string) {
	if b.approvals[id].State == Approved {
		b.advance(id, Change{To: Void})
	}
}

func (b *book) advance(id string, c Change) {
	a := b.approvals[id]
	a.State, a.By = c.To, cmp.Or(c.By, a.By)
	if c.To == Approved {
		a.Until = c.Until
	}
	if c.Edited {
		a.Edited, a.Arguments = true, c.Arguments
	}
	b.approvals[id] = a
	if a.State.Open() {
		return
	}
	if b.ended = append(b.ended, id); len(b.ended) > maxEnded {
		delete(b.approvals, b.ended[0])
		b.ended = b.ended[1:]
	}
}

// expire drops the remembered approvals of some scopes whose time is over.
func (b *book) expire(scopes map[string]map[string]Standing) {
	now := time.Now()
	for scope, its := range scopes {
		maps.DeleteFunc(its, func(id string, s Standing) bool {
			if !now.Before(s.Until) {
				b.void(id)
			}
			return !now.Before(s.Until)
		})
		if len(its) == 0 {
			delete(b.standing, scope)
		}
	}
}

// Memory is a store in memory, gone when the process ends. The zero value is not ready; use [NewMemory].
type Memory struct{ book }

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{newBook(func(entry) error { return nil })} }

// File is a store in a file that survives the end of its process: JSON Lines, one
// for each change, each on the disk before the change counts. Several processes may share
// it: each appends under a lock, after what the others have appended.
//
// An open approval is void once the file is opened while no other process has it open, which NAME.lock shows: a
// question has no caller that waits for its answer, and an approval that was not used has expired, except one
// that was given while no call waited (Standing.Once). A file executes nothing. It grows with every question; rotate it by starting a new one.
type File struct {
	book

	log         *logfile.File
	in          *os.File // the same, to read what others append
	users       *os.File // locked, shared, by every process that has the file open
	size        int64    // of what was read
	interrupted []Approval
}

// OpenFile opens the store in the file given, and makes it if it is not there. It fails if
// a line other than a last one that was cut off cannot be read. Logger gets a line for each
// approval that was open and is void; nil is silent.
func OpenFile(name string, logger *slog.Logger) (*File, error) {
	return openFile(name, logger, func(f *os.File) logfile.Disk { return f })
}

func openFile(name string, logger *slog.Logger, through func(*os.File) logfile.Disk) (*File, error) {
	log, in, err := logfile.Share(name, through)
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	f := &File{log: log, in: in}
	if f.users, err = os.OpenFile(in.Name()+".lock", os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		err = f.open(logger)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("approvals: %s: %w", name, err), f.Close())
	}
	return f, nil
}

// open replays what was written and, if no other process has it open, ends what was open.
func (f *File) open(logger *slog.Logger) error {
	f.book = newBook(f.append)
	release, err := f.log.Hold()
	if err != nil {
		return err
	}
	defer release()
	f.lock = f.held
	if err := f.read(f.in, true); err != nil {
		return err
	}
	if logfile.TryLock(f.users, true) == nil {
		if err := f.voidWhatWasOpen(logger); err != nil {
			return err
		}
		_ = logfile.Unlock(f.users)
	}
	return logfile.TryLock(f.users, false)
}

// held returns once no other process writes, and has what they have written.
func (f *File) held(writes bool) (release func(), err error) {
	if err := f.log.Err(); err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	release = func() {}
	if writes {
		if release, err = f.log.Hold(); err != nil {
			return nil, err
		}
	}
	if err := f.read(io.NewSectionReader(f.in, f.size, math.MaxInt64-f.size), writes); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// read makes the changes of whole lines. A last line that was cut off is taken away, if
// no other process can be writing it.
func (f *File) read(in io.Reader, alone bool) error {
	cut := false
	for text, err := range logfile.Lines(in) {
		if err != nil {
			return err
		}
		if cut = !bytes.HasSuffix(text, []byte("\n")); cut { // it never counted
			break
		}
		var e entry
		if err = json.Unmarshal(text, &e); err == nil {
			err = f.check(e, time.Time{})
		}
		if err != nil {
			return fmt.Errorf("the line at byte %d is damaged: %w", f.size, err)
		}
		f.size += int64(len(text))
		f.apply(e)
	}
	return f.log.Resume(f.size, cut && alone)
}

func (f *File) voidWhatWasOpen(logger *slog.Logger) error {
	for _, a := range f.approvals {
		waits := a.State == Approved && time.Now().Before(f.standing[a.Scope][a.ID].Until)
		if a.State.Open() && !waits {
			f.interrupted = append(f.interrupted, a)
		}
	}
	slices.SortFunc(f.interrupted, func(x, y Approval) int { return x.Until.Compare(y.Until) })
	for _, a := range f.interrupted {
		if err := f.make(entry{Op: advanced, ID: a.ID, Change: &Change{To: Void, By: "restart"}}); err != nil {
			return err
		}
		if logger == nil {
			continue
		}
		what := "nothing was sent"
		if a.State == Spent {
			what = "it may or may not have happened: look before it is done again"
		}
		logger.Warn("approvals: interrupted by the end of the process", slog.String("id", a.ID), slog.String("call", a.CallID),
			slog.String("tool", a.Server+"/"+a.Tool), slog.String("scope", a.Scope), slog.String("was", string(a.State)), slog.String("so", what))
	}
	return nil
}

// Interrupted returns what was open when the file was opened and no other process had it
// open, in the state that it had then. The outcome of those that were spent is unknown.
func (f *File) Interrupted() []Approval { return slices.Clone(f.interrupted) }

func (f *File) append(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		line = append(line, '\n')
		err = f.log.Append(line)
	}
	if err == nil {
		err = f.log.Sync()
	}
	if err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	f.size += int64(len(line))
	return nil
}

// Close ends the use of the file. An open approval stays open until the file is opened again.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.users.Close() // nothing was written
	return f.log.Close()
}

// A Board is where questions hang that a person may answer at any replica of a host. [NewBoard] makes one in
// this process; storetest says whether another keeps these promises:
//
//   - The first answer is the only one. Whoever waits for it gets it, at whichever
//     replica, and so does who begins to wait when it was given.
//   - A question whose time is over, that was taken down, or whose replica has not
//     waited for it for some seconds, is not shown and takes no answer.
//   - An answer does nothing by itself: without a call that waits it has no effect.
//   - What cannot be read, comes from elsewhere or has another version is not there.
//
// It is safe for concurrent use. An error is a denial of the call that the question is about.
type Board interface {
	// Post hangs up a question. An ID that was used already is an error.
	Post(ctx context.Context, n Notice) error
	// Wait returns the answer once it is there, [ErrNoEffect] where none can come any
	// more, or the end of the context.
	Wait(ctx context.Context, id string) ([]byte, error)
	// Answer gives the answer. One that comes too late, or second, or to a question
	// that nobody knows or waits for, changes nothing and is a [*NoEffectError].
	Answer(ctx context.Context, id string, answer []byte) error
	// Open returns the questions that wait, oldest first.
	Open(ctx context.Context) ([]Notice, error)
	// TakeDown ends a question that has no answer yet.
	TakeDown(ctx context.Context, id string) error
}

// A Notice is a question on a [Board].
type Notice struct {
	ID    string
	Until time.Time // when its time is over
	// Question is what is shown, for whoever shows it to read. It holds arguments.
	Question []byte
}

// How long a memory's answers are known to those who come late, and a question hangs that nobody waits for.
const (
	keepAnswers = time.Hour
	unattended  = 10 * time.Second
)

// MemoryBoard is a board in memory, gone when the process ends. The zero value is not ready; use [NewBoard].
type MemoryBoard struct {
	mu      sync.Mutex
	notices map[string]*posted
	posted  int // ever
}

type posted struct {
	Notice

	number  int
	answer  []byte
	over    chan struct{} // closed when it has an answer or was taken down
	ended   bool
	waiting int
	left    time.Time // when the last one stopped waiting
}

var _ Board = (*MemoryBoard)(nil)

// NewBoard returns an empty board.
func NewBoard() *MemoryBoard { return &MemoryBoard{notices: make(map[string]*posted)} }

func (p *posted) open(now time.Time) bool {
	return !p.ended && now.Before(p.Until) && (p.waiting > 0 || now.Sub(p.left) < unattended)
}

// end wakes those who wait. The question is no longer shown.
func (p *posted) end() {
	p.ended, p.Question = true, nil
	close(p.over)
}

func (b *MemoryBoard) Post(_ context.Context, n Notice) error {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.notices, func(_ string, p *posted) bool {
		if !now.Before(p.Until) {
			p.Question = nil // it is no longer shown
		}
		return now.Sub(p.Until) > keepAnswers
	})
	switch {
	case n.ID == "":
		return errors.New("approvals: a notice needs an ID")
	case b.notices[n.ID] != nil:
		return fmt.Errorf("approvals: the question %s hangs already", n.ID)
	}
	n.Question = bytes.Clone(n.Question)
	b.posted++
	b.notices[n.ID] = &posted{Notice: n, number: b.posted, over: make(chan struct{}), left: now}
	return nil
}

func (b *MemoryBoard) Wait(ctx context.Context, id string) ([]byte, error) {
	b.mu.Lock()
	p := b.notices[id]
	if p == nil {
		b.mu.Unlock()
		return nil, &NoEffectError{ID: id, To: Approved}
	}
	p.waiting++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		p.waiting--
		p.left = time.Now()
	}()
	timer := time.NewTimer(time.Until(p.Until))
	defer timer.Stop()
	select {
	case <-p.over:
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.answer == nil {
		return nil, &NoEffectError{ID: id, Was: Pending, To: Approved}
	}
	return bytes.Clone(p.answer), nil
}

func (b *MemoryBoard) Answer(_ context.Context, id string, answer []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.notices[id]
	switch {
	case p == nil:
		return &NoEffectError{ID: id, To: Approved}
	case p.answer != nil:
		return &NoEffectError{ID: id, Was: Done, To: Approved}
	case !p.open(time.Now()):
		return &NoEffectError{ID: id, Was: Void, To: Approved}
	}
	p.answer = append([]byte{}, answer...)
	p.end()
	return nil
}

func (b *MemoryBoard) Open(context.Context) ([]Notice, error) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	var open []Notice
	for _, p := range slices.SortedFunc(maps.Values(b.notices), func(x, y *posted) int { return x.number - y.number }) {
		if p.open(now) {
			n := p.Notice
			n.Question = bytes.Clone(n.Question)
			open = append(open, n)
		}
	}
	return open, nil
}

func (b *MemoryBoard) TakeDown(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.notices[id]; p != nil && !p.ended {
		p.end()
	}
	return nil
}
