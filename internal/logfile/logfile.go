// Package logfile keeps files of lines that only grow, whose writers take turns.
package logfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Disk is what a File needs of an *os.File.
type Disk interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
}

// ErrClosed is returned by a File after Close.
var ErrClosed = errors.New("the file is closed")

// A File is a file of lines. It is safe for concurrent use.
type File struct {
	disk Disk
	in   *os.File

	mu     sync.Mutex
	size   int64 // of what was written in full
	broken error // why nothing can be written any more
}

// Share opens or makes a file that may have several writers, which all call Hold before they write. The File writes
// through what through returns; in is the same file, to read its lines, which count once Resume is called.
func Share(name string, through func(*os.File) Disk) (f *File, in *os.File, err error) {
	if name, err = filepath.Abs(name); err != nil { // the folder of the process may change
		return nil, nil, err
	}
	in, err = os.OpenFile(filepath.Clean(name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return &File{disk: through(in), in: in}, in, nil
}

// Hold takes a shared file from its other writers until release is called. It waits for at most 10 seconds.
func (f *File) Hold() (release func(), err error) {
	const most = 10 * time.Second
	for began, pause := time.Now(), 50*time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		if err = TryLock(f.in, true); err == nil {
			return func() { _ = Unlock(f.in) }, nil
		}
		if time.Since(began) > most || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrClosed) {
			return nil, fmt.Errorf("another process holds the file: %w", err)
		}
		time.Sleep(pause)
	}
}

// Leave unlocks a file and closes it.
func Leave(f *os.File) error {
	_ = Unlock(f) // closing it releases the lock as well, if no child has it
	return f.Close()
}

// Present returns an error if the name of an open file now leads to another.
func Present(file *os.File) error {
	open, err := file.Stat()
	if err != nil {
		return err
	}
	found, err := os.Stat(file.Name())
	if err != nil || !os.SameFile(open, found) {
		return fmt.Errorf("%s was removed or replaced while it was open, so nothing is written; open it again", file.Name())
	}
	return nil
}

// Lines returns the lines of a file with their ends, which the last one may lack. Each is valid until the next.
func Lines(in io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for lines := bufio.NewReaderSize(in, 64<<10); ; {
			text, err := lines.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				text = bytes.Clone(text)
				var rest []byte
				rest, err = lines.ReadBytes('\n')
				text = append(text, rest...)
			}
			last := errors.Is(err, io.EOF)
			if last {
				err = nil
			}
			if last && len(text) == 0 || !yield(text, err) || last || err != nil {
				return
			}
		}
	}
}

// Resume sets how much of the file counts. The rest is cut off.
func (f *File) Resume(size int64, cut bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size = size
	if !cut {
		return nil
	}
	return f.disk.Truncate(size)
}

// Append writes whole lines, unless the file is gone. If that fails, it takes back the part that was written; if
// that fails too, nothing is written any more.
func (f *File) Append(lines []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return f.broken
	}
	if err := Present(f.in); err != nil {
		return err
	}
	if _, err := f.disk.Write(lines); err != nil {
		if undo := f.disk.Truncate(f.size); undo != nil {
			f.broken = fmt.Errorf("the file is broken; open it again: %w", errors.Join(err, undo))
		}
		return err
	}
	f.size += int64(len(lines))
	return nil
}

// Sync returns when what was appended before is on the disk. If that fails, nothing is written any more.
func (f *File) Sync() error {
	if err := f.Err(); err != nil {
		return err
	}
	if err := f.disk.Sync(); err != nil {
		return f.Break(fmt.Errorf("the disk did not take a line; open the file again: %w", err))
	}
	return nil
}

// Break ends all writing, and returns why.
func (f *File) Break(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken == nil {
		f.broken = err
	}
	return f.broken
}

// Err returns why nothing can be written any more, nil if it can.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// Close lets another process write. The second call does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(f.broken, ErrClosed) {
		return nil
	}
	f.broken = ErrClosed
	return f.in.Close()
}
