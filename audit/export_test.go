package audit

import (
	"log/slog"
	"os"
)

type Disk = disk

// OpenFileThrough opens a file with writes through another disk.
func OpenFileThrough(name string, logger *slog.Logger, through func(*os.File) Disk) (*File, error) {
	return openFile(name, logger, func(f *os.File) disk { return through(f) }, true)
}

// Outcomes are all of them.
var Outcomes = outcomes[:]

// Heads returns the open head.
func (f *File) Heads() *os.File { return f.heads }

// Interrupted returns the intents that had no end when the file was opened and no other process had it open.
func (f *File) Interrupted() []Record { return f.interrupted }
