package policy

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Load reads a policy file. One that others than its owner may write, or that belongs to
// somebody else than the user and root, is refused.
func Load(name string) (*Policy, error) {
	p, _, err := load(name)
	return p, err
}

func load(name string) (*Policy, os.FileInfo, error) {
	f, err := os.Open(name) //nolint:gosec // it is the file that the person named
	if err != nil {
		return nil, nil, fmt.Errorf("policy: the file cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("policy: the file cannot be read: %w", err)
	}
	if err := owned(name, info); err != nil {
		return nil, info, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, info, fmt.Errorf("policy: the file cannot be read: %w", err)
	}
	p, err := Parse(name, text)
	return p, info, err
}

// A Live is a policy file that is read again when it has changed. One that can no longer
// be read, or has become invalid, changes nothing: what was read last stays. It is safe
// for concurrent use.
type Live struct {
	name string
	log  *slog.Logger

	now      atomic.Pointer[Policy]
	failures atomic.Int64

	mu     sync.Mutex
	looked time.Time
	seen   stamp
}

// A stamp tells one state of a file from another.
type stamp struct {
	changed time.Time
	size    int64
	mode    os.FileMode
}

// OpenLive reads a file for the first time; then it has to be in order.
func OpenLive(name string, log *slog.Logger) (*Live, error) {
	p, info, err := load(name)
	if err != nil {
		return nil, err
	}
	l := &Live{name: name, log: log, looked: time.Now(), seen: stampOf(info)}
	l.now.Store(p)
	return l, nil
}

func stampOf(info os.FileInfo) stamp {
	if info == nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size(), info.Mode()}
}

// Now returns the policy as it is now. The file is looked at once a second at most.
func (l *Live) Now() *Policy {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.looked) < lookEvery {
		return l.now.Load()
	}
	l.looked = time.Now()
	info, err := os.Stat(l.name)
	if err == nil && stampOf(info) == l.seen || err != nil && l.seen == (stamp{}) {
		return l.now.Load()
	}
	p, info, err := load(l.name)
	l.seen = stampOf(info)
	if err != nil {
		l.failures.Add(1)
		l.log.Error("policy: the file has changed and cannot be used; what it said before still counts",
			slog.Int64("failures", l.Failures()), slog.Any("err", err))
		return l.now.Load()
	}
	for _, w := range p.Warnings {
		l.log.Warn("policy: " + w)
	}
	l.log.Info("policy: the file was read again", slog.String("file", l.name))
	l.now.Store(p)
	return p
}

// Failures is how often a changed file could not be used.
func (l *Live) Failures() int64 { return l.failures.Load() }
