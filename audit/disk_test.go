package audit_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
)

// A faulty disk fails as the test sets.
type faulty struct {
	*os.File

	mu                         sync.Mutex
	syncs                      int
	failWrite, failSync, short bool
	failTruncate               bool
}

func (d *faulty) Write(b []byte) (int, error) {
	switch {
	case d.short:
		n, _ := d.File.Write(b[:len(b)/2])
		return n, errors.New("no space left")
	case d.failWrite:
		return 0, errors.New("input/output error")
	}
	return d.File.Write(b)
}

func (d *faulty) WriteAt(b []byte, at int64) (int, error) {
	if d.failWrite {
		return 0, errors.New("input/output error")
	}
	return d.File.WriteAt(b, at)
}

func (d *faulty) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs++
	if d.failSync {
		return errors.New("input/output error")
	}
	return d.File.Sync()
}

func (d *faulty) Truncate(size int64) error {
	if d.failTruncate {
		return errors.New("read-only file system")
	}
	return d.File.Truncate(size)
}

func TestDiskThatFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		fail    func(records, head *faulty)
		durable bool
		fails   bool
		after   bool // whether it takes a record when the disk works again
	}{
		{"half a line, taken back", func(d, _ *faulty) { d.short = true }, false, true, true},
		{"half a line that stays", func(d, _ *faulty) { d.short, d.failTruncate = true, true }, false, true, false},
		{"no line", func(d, _ *faulty) { d.failWrite = true }, false, true, true},
		{"no sync", func(d, _ *faulty) { d.failSync = true }, true, true, false},
		{"no sync, and no waiter", func(d, _ *faulty) { d.failSync = true }, false, false, true},
		{"no head", func(_, d *faulty) { d.failWrite = true }, false, true, false},
		{"no sync of the head", func(_, d *faulty) { d.failSync = true }, true, true, false},
	} {
		name := filepath.Join(t.TempDir(), "calls.jsonl")
		var disks []*faulty
		f, err := audit.OpenFileThrough(name, nil, func(f *os.File) audit.Disk {
			disks = append(disks, &faulty{File: f})
			return disks[len(disks)-1]
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(t.Context(), record(audit.End, 1)); err != nil {
			t.Fatal(tt.name, err)
		}
		tt.fail(disks[0], disks[1])
		r := record(audit.End, 2)
		r.Durable = tt.durable
		if err := f.Write(t.Context(), r); (err != nil) != tt.fails {
			t.Errorf("%s: got %v", tt.name, err)
		}
		for _, d := range disks {
			d.failWrite, d.failSync, d.short, d.failTruncate = false, false, false, false
		}
		if err := f.Write(t.Context(), record(audit.End, 3)); (err == nil) != tt.after {
			t.Errorf("%s: afterwards: %v", tt.name, err)
		}
		_ = f.Close()
		if f, err = audit.OpenFile(name, nil); err != nil {
			t.Errorf("%s: it cannot be opened again: %v", tt.name, err)
			continue
		}
		_ = f.Close()
		if got := verify(t, name); got.State != audit.Whole {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}
