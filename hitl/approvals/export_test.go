package approvals

import (
	"bytes"
	"log/slog"
	"os"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

type Sink = logfile.Disk

// Open opens a store over bytes.
func Open(raw []byte, out Sink) (*File, error) {
	f := &File{log: logfile.New(out)}
	return f, f.open(bytes.NewReader(raw), nil)
}

// OpenFileThrough opens a file whose writes go through something else.
func OpenFileThrough(name string, logger *slog.Logger, through func(*os.File) Sink) (*File, error) {
	return openFile(name, logger, through)
}

// Steps is the table.
var Steps = steps

// MaxEnded is how many approvals that are over a store knows.
const MaxEnded = maxEnded

// Held is how many bytes of questions a board in memory keeps.
func (b *MemoryBoard) Held() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.notices {
		n += len(p.Question)
	}
	return n
}

// MaxStanding is how many yeses of one scope stand.
const MaxStanding = maxStanding
