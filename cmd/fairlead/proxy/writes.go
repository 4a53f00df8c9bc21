package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Writes announces writes to the other processes of a user: by the length of a file in the folder that they share, to
// which each appends a byte before and after a call that may change something. A file that has become long is replaced by
// an empty one, which the others see by its name. It is safe for concurrent use.
type Writes struct {
	name string
	log  *slog.Logger

	mu   sync.Mutex
	file *os.File
	is   os.FileInfo // which file is open
	seen int64       // the length that is known, with the bytes of this process; unseen after a file of another process
}

const (
	// maxWrites is the length from which the file is replaced: one block of most file systems.
	maxWrites = 4 << 10

	unseen = -1
)

// OpenWrites opens the file in a folder, and makes it if it is not there.
func OpenWrites(folder string, log *slog.Logger) (*Writes, error) {
	w := &Writes{name: filepath.Join(folder, "writes"), log: log}
	if err := w.open(); err != nil {
		return nil, err
	}
	w.seen = w.is.Size()
	return w, nil
}

// open opens the file that has the name now, in the place of the one that is open.
func (w *Writes) open() error {
	file, err := os.OpenFile(w.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	is, err := file.Stat()
	if err != nil {
		_ = file.Close() // nothing was written
		return err
	}
	if w.file != nil {
		_ = w.file.Close() // what was written is another file's by now
	}
	w.file, w.is, w.seen = file, is, unseen
	return nil
}

// Close closes the file.
func (w *Writes) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.file.Close()
}

// mark reports a write of this process to the others. A failure leaves them with what they have cached, for as long as
// it lasts.
func (w *Writes) mark() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.append(); err != nil {
		w.log.Warn(fmt.Sprintf("proxy: a write cannot be announced to other processes, which may answer from their caches: %v", err))
	}
}

// maxReplaced is how often a write is announced once more, since another process has replaced the file meanwhile.
const maxReplaced = 10

// append appends a byte to the file that the others look at.
func (w *Writes) append() error {
	for range maxReplaced {
		if _, err := w.file.Write([]byte{'\n'}); err != nil {
			return err
		}
		// The write has left the offset at the end of its byte: others have written if more than that byte is new.
		end, err := w.file.Seek(0, io.SeekCurrent)
		if err == nil && end == w.seen+1 {
			w.seen = end
		}
		if now, err := os.Stat(w.name); err == nil && os.SameFile(now, w.is) {
			if end >= maxWrites {
				w.replace()
			}
			return nil
		}
		if err := w.open(); err != nil { // no process looks at the one with the byte
			return err
		}
	}
	return errors.New("the file is replaced again and again")
}

// replace puts an empty file in the place of a long one. A failure leaves the long one.
func (w *Writes) replace() {
	next := w.name + ".new"                                         // always empty: two processes may have one
	empty, err := os.OpenFile(next, os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // it is in the folder that the person named
	if err == nil {
		err = errors.Join(empty.Close(), os.Rename(next, w.name))
	}
	if err == nil {
		err = w.open()
	}
	if err != nil {
		w.log.Debug(fmt.Sprintf("proxy: the file of writes was not cut: %v", err))
	}
}

// others reports whether another process may have written since the last time.
func (w *Writes) others() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, err := os.Stat(w.name)
	same := err == nil && os.SameFile(now, w.is)
	if same && now.Size() == w.seen {
		return false
	}
	if same {
		w.seen = now.Size()
	} else if w.open() == nil {
		w.seen = w.is.Size()
	}
	return true
}

// heed is a middleware outside the cache: before a read it drops what is cached if another process has written. What a
// read returns that began before another process has ended its write is dropped by the next read, so no read is answered
// by a result that is older than a write that had ended.
func (p *Proxy) heed(next middleware.ToolCaller) middleware.ToolCaller {
	return &ofWrites{next, func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if call.Tool != nil && call.Tool.Safety() == annotation.Safe && p.o.Writes.others() {
			p.store.Forget("*", "*") // the other process may have another name for the server
		}
		return next.CallTool(ctx, call)
	}}
}

// announce is a middleware for each attempt: it reports a call that may change something to the user's other processes,
// when it is sent, and when it has ended unless it certainly did not happen.
func (p *Proxy) announce(next middleware.ToolCaller) middleware.ToolCaller {
	return &ofWrites{next, func(ctx context.Context, call middleware.Call) (res *mcp.CallToolResult, err error) {
		if call.Tool == nil || call.Tool.Safety() == annotation.Safe {
			return next.CallTool(ctx, call)
		}
		p.o.Writes.mark()
		defer func() { // also after a panic
			if !middleware.NotSent(err) && !middleware.Refused(err) && !middleware.Permanent(err) {
				p.o.Writes.mark()
			}
		}()
		return next.CallTool(ctx, call)
	}}
}

type ofWrites struct {
	next middleware.ToolCaller
	call middleware.ToolCallerFunc
}

// Describe implements [middleware.Describer].
func (w *ofWrites) Describe() middleware.Description {
	return middleware.Description{Kind: "writes", Next: w.next}
}

// CallTool implements [middleware.ToolCaller].
func (w *ofWrites) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return w.call(ctx, call)
}

// changed takes in that a server may have changed when no call of it was waited for any more.
func (p *Proxy) changed(server string) {
	p.store.Forget(server, "*")
	if w := p.o.Writes; w != nil {
		w.mark()
	}
}
