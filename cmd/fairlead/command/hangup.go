package command

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fairlead-go/fairlead/audit"
)

// onHangUp has SIGHUP reopen the record, which may have been renamed, and read the policy again. It never ends the proxy.
func (r *proxyRun) onHangUp(ctx context.Context) (stop func()) {
	signals, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-signals:
				r.again(ctx)
			case <-ended:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(ended)
	}
}

// again opens the files of the run again.
func (r *proxyRun) again(ctx context.Context) {
	if r.reload != nil {
		r.reload.Reload()
		r.options.Policy()
	}
	if r.recorded != nil {
		r.recorded.reopen(ctx)
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "SIGHUP: the files were opened again")
}

// A recording is the file of a record, which goes on in another file after it was renamed or emptied, and when it is
// too large or too old. Calls that are under way then have their intents in both.
type recording struct {
	name string
	log  *slog.Logger
	size int64         // at which the next file begins; 0 for none
	age  time.Duration // likewise

	failed atomic.Bool // the last record was not written

	mu   sync.RWMutex
	file *audit.File
}

func (r *recording) Write(ctx context.Context, one audit.Record) error {
	file, err := r.write(ctx, one)
	if err != nil && r.follow(file) {
		file, err = r.write(ctx, one)
	}
	r.failed.Store(err != nil)
	if err == nil && r.over(file) {
		r.rotate(ctx, file)
	}
	return err
}

func (r *recording) write(ctx context.Context, one audit.Record) (*audit.File, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.file, r.file.Write(ctx, one)
}

// follow goes on in the file that another process has made to go on after this one, and reports whether there is one.
func (r *recording) follow(file *audit.File) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != file {
		return true // another call has
	}
	next, err := file.Follow(r.log)
	if err == nil {
		r.file = next
	}
	return err == nil
}

// over reports whether a file is over its size or its age.
func (r *recording) over(file *audit.File) bool {
	if r.size > 0 && file.Size() >= r.size {
		return true
	}
	if r.age <= 0 {
		return false
	}
	since := file.Since()
	return !since.IsZero() && time.Since(since) >= r.age
}

// rotate gives the file a name with the time, and goes on in a new one.
func (r *recording) rotate(ctx context.Context, file *audit.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != file {
		return // another call has
	}
	ext := filepath.Ext(r.name)
	to := filepath.Base(strings.TrimSuffix(r.name, ext) + time.Now().UTC().Format("-20060102T150405.000Z") + ext)
	next, err := file.Rotate(to, r.log)
	if err != nil {
		r.log.LogAttrs(ctx, slog.LevelError, "audit: the file is over its limit, and cannot be rotated; it goes on growing", slog.Any("err", err))
		return
	}
	r.file = next
	r.log.LogAttrs(ctx, slog.LevelInfo, "audit: the file was rotated", slog.String("to", to))
}

// reopen goes on in the file that has the name now. If there is none that can be used, the old one stays.
func (r *recording) reopen(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := r.file.Continue(r.log)
	if err != nil {
		r.log.LogAttrs(ctx, slog.LevelError, "audit: the file cannot be opened again; 'fairlead audit verify' shows what is wrong, and 'fairlead audit repair' puts it aside", slog.Any("err", err))
		return
	}
	r.file = file
}

// Close closes the file.
func (r *recording) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file.Close()
}
