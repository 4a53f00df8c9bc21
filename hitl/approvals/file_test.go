package approvals_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// A disk is a file in memory that can fail.
type disk struct {
	mu       sync.Mutex
	data     bytes.Buffer
	synced   int // bytes that a loss of power would leave
	short    int // bytes that still fit, -1 for any number
	failSync error
	failCut  error
}

func newDisk() *disk { return &disk{short: -1} }

var errFull = errors.New("no space left on device")

func (d *disk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.short < 0 {
		return d.data.Write(b)
	}
	n := min(d.short, len(b))
	d.short -= n
	d.data.Write(b[:n])
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

func (d *disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failSync != nil {
		return d.failSync
	}
	d.synced = d.data.Len()
	return nil
}

func (d *disk) Truncate(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failCut == nil {
		d.data.Truncate(int(size))
	}
	return d.failCut
}

// A line is what the file says of one change.
type line struct {
	Op       string
	ID       string
	Approval *approvals.Approval
	Change   *approvals.Change
}

// text is what was written, and kept what a loss of power would leave of it.
func (d *disk) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.data.String()
}

func (d *disk) kept() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.data.String()[:d.synced]
}

func openOn(t *testing.T, d *disk) *approvals.File {
	t.Helper()
	f, err := approvals.Open(t, bytes.Clone(d.data.Bytes()), d)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWhatCannotBeWrittenHasNotHappened(t *testing.T) {
	t.Parallel()
	for short := range 200 {
		d := newDisk()
		f := openOn(t, d)
		if err := f.Add(t.Context(), pending("a")); err != nil {
			t.Fatal(err)
		}
		size := d.data.Len()
		d.short = short % 100
		if short >= 100 {
			d.failCut = errors.New("it is gone")
		}
		if err := f.Advance(t.Context(), "a", to(approvals.Approved)); !errors.Is(err, errFull) {
			t.Fatalf("B239: got error %v", err)
		}
		if d.failCut == nil && d.data.Len() != size {
			t.Errorf("B239: half a line of %d bytes stayed", d.data.Len()-size)
		}
		d.short = -1
		err := f.Advance(t.Context(), "a", to(approvals.Spent))
		if broken := strings.Contains(fmt.Sprint(err), "broken"); err == nil || broken != (d.failCut != nil) {
			t.Errorf("B239: afterwards: %v", err)
		}
		if err := f.Advance(t.Context(), "a", to(approvals.Denied)); (err == nil) != (d.failCut == nil) {
			t.Errorf("B239: when there is room again: %v", err)
		}
	}
}

func TestDiskThatGaveNoWordIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	d := newDisk()
	f := openOn(t, d)
	d.failSync = errors.New("an I/O error")
	if err := f.Add(t.Context(), pending("a")); !errors.Is(err, d.failSync) {
		t.Errorf("B239: got error %v", err)
	}
	gone := d.failSync
	d.failSync = nil
	if err := f.Add(t.Context(), pending("b")); !errors.Is(err, gone) {
		t.Errorf("B239: afterwards: %v", err)
	}
}

func TestEveryChangeIsOnTheDiskWhenItCounts(t *testing.T) {
	t.Parallel()
	d := newDisk()
	f := openOn(t, d)
	for _, change := range []func() error{
		func() error { return f.Add(t.Context(), pending("a")) },
		func() error { return f.Advance(t.Context(), "a", to(approvals.Approved)) },
		func() error { return f.Advance(t.Context(), "a", to(approvals.Spent)) },
		func() error {
			return f.Remember(t.Context(), approvals.Standing{ID: "s", Tool: "t", Definition: "d", Class: "c", Arguments: "x", Until: pending("").Until})
		},
		func() error { return f.Forget(t.Context(), "", "s") },
	} {
		before := d.synced
		if err := change(); err != nil || d.synced == before || d.synced != d.data.Len() {
			t.Errorf("error %v, %d of %d bytes on the disk, %d before", err, d.synced, d.data.Len(), before)
		}
	}
}

func TestAnswersWithoutEffectAreOnTheRecord(t *testing.T) {
	t.Parallel()
	d := newDisk()
	f := openOn(t, d)
	_ = f.Add(t.Context(), pending("a"))
	_ = f.Advance(t.Context(), "a", to(approvals.Denied))
	for _, id := range []string{"a", "foreign"} {
		if err := f.Advance(t.Context(), id, to(approvals.Approved)); !errors.Is(err, approvals.ErrNoEffect) {
			t.Errorf("got error %v", err)
		}
	}
	if got := strings.Count(d.data.String(), `"no effect"`); got != 2 {
		t.Errorf("%d of them are in the file, want 2:\n%s", got, &d.data)
	}
	again := openOn(t, d) // they do not disturb it
	if err := again.Advance(t.Context(), "a", to(approvals.Approved)); !strings.Contains(err.Error(), "is denied") {
		t.Errorf("after the restart: %v", err)
	}
}

func TestWhatWasOpenIsVoidAfterARestart(t *testing.T) {
	t.Parallel()
	d := newDisk()
	f := openOn(t, d)
	ways := map[string][]approvals.State{
		"pending": nil, "approved": {approvals.Approved}, "denied": {approvals.Denied}, "spent": {approvals.Approved, approvals.Spent},
		"done": {approvals.Approved, approvals.Spent, approvals.Done},
	}
	for id, way := range ways {
		if err := errors.Join(f.Add(t.Context(), pending(id)), follow(t, f, id, way...)); err != nil {
			t.Fatal(err)
		}
	}
	again := openOn(t, d)
	got := make(map[string]approvals.State)
	for _, a := range again.Interrupted() {
		got[a.ID] = a.State
	}
	if len(got) != 3 || got["pending"] != approvals.Pending || got["approved"] != approvals.Approved || got["spent"] != approvals.Spent {
		t.Errorf("open were %v", got)
	}
	for id, is := range map[string]string{"pending": "void", "approved": "void", "spent": "void", "denied": "denied", "done": "done"} {
		for state := range approvals.Steps {
			if err := again.Advance(t.Context(), id, to(state)); !errors.Is(err, approvals.ErrNoEffect) || !strings.Contains(err.Error(), "is "+is) {
				t.Errorf("B237: %s to %s: got error %v, want it to be %s", id, state, err, is)
			}
		}
	}
	if left := openOn(t, d).Interrupted(); len(left) != 0 {
		t.Errorf("after another restart %v are open", left)
	}
}

func TestLineThatWasCutOffCountsForNothing(t *testing.T) {
	t.Parallel()
	d := newDisk()
	f := openOn(t, d)
	_ = f.Add(t.Context(), pending("a"))
	whole := d.data.Len()
	_ = f.Advance(t.Context(), "a", to(approvals.Approved))
	raw := bytes.Clone(d.data.Bytes())
	for cut := whole; cut < len(raw); cut++ {
		torn := newDisk()
		torn.data.Write(raw[:cut])
		again := openOn(t, torn)
		if open := again.Interrupted(); len(open) != 1 || open[0].State != approvals.Pending {
			t.Fatalf("cut at %d: open were %v", cut, open)
		}
		if left := openOn(t, torn).Interrupted(); len(left) != 0 {
			t.Errorf("cut at %d: what was written after the cut is damaged: %v", cut, left)
		}
	}
}

func TestDamagedFileIsNotOpened(t *testing.T) {
	t.Parallel()
	const good = `{"op":"asked","approval":{"id":"a","state":"pending","until":"2030-01-01T00:00:00Z"}}` + "\n"
	for name, raw := range map[string]string{
		"no JSON":                     good + "{\n" + good,
		"rubbish as a whole line":     good + "rubbish\n",
		"a step that the table lacks": good + `{"op":"advanced","id":"a","change":{"to":"spent"}}` + "\n",
		"a step of something unknown": good + `{"op":"advanced","id":"b","change":{"to":"approved","until":"2030-01-01T00:00:00Z"}}` + "\n",
		"one approval twice":          good + good,
		"an unknown entry":            good + `{"op":"execute"}` + "\n",
		"an entry without its part":   good + `{"op":"advanced","id":"a"}` + "\n",
		"one that begins as spent":    `{"op":"asked","approval":{"id":"a","state":"spent"}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := approvals.Open(t, []byte(raw), newDisk())
			if err == nil || !strings.Contains(err.Error(), "is damaged") {
				t.Errorf("got error %v", err)
			}
			file := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(file, []byte(raw), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := approvals.OpenFile(file, nil); err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("got error %v, want it to name the file", err)
			}
		})
	}
}

func TestChangeIsNotWrittenToAFileThatIsGone(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "approvals.jsonl")
	f, err := approvals.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Add(t.Context(), pending("a")), os.Remove(name)); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(t.Context(), pending("b")); err == nil || !strings.Contains(err.Error(), "open it again") {
		t.Errorf("got %v", err)
	}
}

// Two that have one file open, as two processes do, see what the other one wrote, end nothing
// of each other's, and take back each other's approvals at once.
func TestFileIsShared(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "approvals.jsonl")
	first, err := approvals.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := approvals.Standing{
		ID: "s", Scope: "ann", Server: "files", Tool: "delete", Definition: "d", Class: "dangerous", Arguments: approvals.AnyArguments, Until: time.Now().Add(time.Hour),
	}
	used := func(id string) approvals.Approval {
		return approvals.Approval{ID: id, State: approvals.Approved, Scope: "ann", Standing: "s", Until: s.Until}
	}
	spent := approvals.Change{To: approvals.Spent}
	if err := errors.Join(first.Remember(t.Context(), s), first.Add(t.Context(), used("a")), first.Add(t.Context(), used("b"))); err != nil {
		t.Fatal(err)
	}
	second, err := approvals.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Advance(t.Context(), "a", spent), second.Add(t.Context(), pending("c"))); err != nil {
		t.Errorf("the second one ended what is the first one's: %v", err)
	}
	got, err := second.List(t.Context())
	if err != nil || len(got) != 1 || got[0].Uses != 2 {
		t.Fatalf("got %+v, %v; want one that was used twice", got, err)
	}
	if err := second.Forget(t.Context(), "ann", "s"); err != nil {
		t.Fatal(err)
	}
	if err := first.Advance(t.Context(), "b", spent); !errors.Is(err, approvals.ErrNoEffect) {
		t.Errorf("what was taken back was used: %v", err)
	}
	if err := first.Add(t.Context(), used("d")); !errors.Is(err, approvals.ErrNoEffect) {
		t.Errorf("what was taken back answered: %v", err)
	}
	if got, err := first.Remembered(t.Context(), "ann", "", ""); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if err := errors.Join(first.Close(), second.Close(), second.Close()); err != nil {
		t.Error(err)
	}
	if err := second.Add(t.Context(), pending("e")); err == nil {
		t.Error("a closed file was written to")
	}
	var log bytes.Buffer
	again, err := approvals.OpenFile(name, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := log.String(); !strings.Contains(got, "interrupted") || !strings.Contains(got, "was=pending") || !strings.Contains(got, "nothing was sent") {
		t.Errorf("the log says %q", got)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v (%v)", info.Mode(), err)
	}
	if _, err := approvals.OpenFile(t.TempDir(), nil); err == nil {
		t.Error("a folder was opened")
	}
}
