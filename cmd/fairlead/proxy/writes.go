package proxy

import (
	"context"
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
// which each appends a byte before and after a call that may change something. It is safe for concurrent use.
type Writes struct {
	log *slog.Logger

	mu   sync.Mutex
	file *os.File
	seen int64 // the length that is known, with the bytes of this process
}

// OpenWrites opens the file in a folder, and makes it if it is not there.
func OpenWrites(folder string, log *slog.Logger) (*Writes, error) {
	file, err := os.OpenFile(filepath.Join(folder, "writes"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // it is the folder that the person named
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return &Writes{log: log, file: file, seen: info.Size()}, nil
}

// Close closes the file.
func (w *Writes) Close() error { return w.file.Close() }

// mark reports a write of this process to the others. A failure leaves them with what they have cached, for as long as
// it lasts.
func (w *Writes) mark() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.file.Write([]byte{'\n'}); err != nil {
		w.log.Warn(fmt.Sprintf("proxy: a write cannot be announced to other processes, which may answer from their caches: %v", err))
		return
	}
	// The write has left the offset at the end of its byte: others have written if more than that byte is new.
	if end, err := w.file.Seek(0, io.SeekCurrent); err == nil && end == w.seen+1 {
		w.seen = end
	}
}

// others reports whether another process may have written since the last time.
func (w *Writes) others() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	info, err := w.file.Stat()
	if err == nil && info.Size() == w.seen {
		return false
	}
	if err == nil {
		w.seen = info.Size()
	}
	return true
}

// announcer is a middleware outside the cache: it drops what is cached before a read if another process has written, and
// announces writes to the others. What a read returns that began before another process has ended its write is dropped by
// the next read, so no read is answered by a result that is older than a write that had ended.
type announcer struct {
	*Proxy

	next middleware.ToolCaller
}

func (p *Proxy) announce(next middleware.ToolCaller) middleware.ToolCaller {
	return &announcer{p, next}
}

// Describe implements [middleware.Describer].
func (a *announcer) Describe() middleware.Description {
	return middleware.Description{Kind: "writes", Next: a.next}
}

// CallTool implements [middleware.ToolCaller].
func (a *announcer) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool == nil { // the guard refuses it
		return a.next.CallTool(ctx, call)
	}
	if call.Tool.Safety() == annotation.Safe {
		if a.o.Writes.others() {
			a.store.Forget("*", "*")
		}
		return a.next.CallTool(ctx, call)
	}
	a.o.Writes.mark()
	defer a.o.Writes.mark()
	return a.next.CallTool(ctx, call)
}
