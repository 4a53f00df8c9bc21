package approvals

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

type Sink = logfile.Disk

// Open opens a store in a new file with these bytes, whose writes go to out as well. Both end with the test.
func Open(t interface {
	Cleanup(f func())
	Fatal(args ...any)
}, raw []byte, out Sink,
) (*File, error) {
	dir, err := os.MkdirTemp("", "approvals-")
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	name := filepath.Join(dir, "approvals.jsonl")
	if err = errors.Join(err, os.WriteFile(name, raw, 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(name, nil, func(f *os.File) Sink { return both{out, f} })
	if err == nil {
		t.Cleanup(func() { _ = f.Close() })
	}
	return f, err
}

// both is a file that has what a sink has taken.
type both struct {
	Sink

	file *os.File
}

func (b both) Write(p []byte) (int, error) {
	n, err := b.Sink.Write(p)
	_, failed := b.file.Write(p[:n])
	return n, errors.Join(err, failed)
}

func (b both) Truncate(size int64) error {
	if err := b.Sink.Truncate(size); err != nil {
		return err
	}
	return b.file.Truncate(size)
}

// OpenFileThrough opens a file whose writes go through something else.
func OpenFileThrough(name string, logger *slog.Logger, through func(*os.File) Sink) (*File, error) {
	return openFile(name, logger, through)
}

// Steps is the table.
var Steps = steps

// MaxEnded is how many approvals that are over a store knows.
const MaxEnded = maxEnded

// HeldBy is how many bytes of questions a board in memory keeps.
func HeldBy(board Board) (n int) {
	b, _ := board.(*memoryBoard)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.notices {
		n += len(p.Question)
	}
	return n
}

// MaxStanding is how many yeses of one scope stand.
const MaxStanding = maxStanding
