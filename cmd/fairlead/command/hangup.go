package command

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

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

// A recording is the file of a record, which can be reopened after it was renamed. A call that is under way then has its
// intent in the old file, which stays open there, and its end in the new one.
type recording struct {
	name string
	log  *slog.Logger

	mu   sync.RWMutex
	file *audit.File
}

func (r *recording) Write(ctx context.Context, one audit.Record) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.file.Write(ctx, one)
}

// reopen replaces the file by the one that has its name now. If there is none that can be used, the old one stays.
func (r *recording) reopen(ctx context.Context) {
	file, err := audit.OpenFile(r.name, r.log)
	if err != nil {
		r.log.LogAttrs(ctx, slog.LevelError, "audit: the file cannot be opened again; move it and its head together", slog.Any("err", err))
		return
	}
	r.mu.Lock()
	old := r.file
	r.file = file
	r.mu.Unlock()
	if err := old.Close(); err != nil {
		r.log.LogAttrs(ctx, slog.LevelWarn, "audit: the file that was replaced was not closed as it should", slog.Any("err", err))
	}
}

// Close closes the file.
func (r *recording) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file.Close()
}
