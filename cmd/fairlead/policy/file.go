package policy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
)

// Load reads a policy file. One that others may write, or another user's but root's, is an error.
func Load(name string) (*Policy, error) {
	text, err := read(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

func read(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // it is the file that the person named
	if err != nil {
		return nil, fmt.Errorf("policy: the file cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("policy: the file cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() { // a pipe would hold the next call until somebody writes
		return nil, fmt.Errorf("policy: %s is not a regular file", name)
	}
	if err := owned.Info(name, info); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("policy: the file cannot be read: %w", err)
	}
	return text, nil
}

// lookEvery is how often a [Live] looks at its file at most.
const lookEvery = time.Second

// A Live is a policy file that is read again when it has changed. One that is invalid changes nothing.
// It is safe for concurrent use.
type Live struct {
	name string
	log  *slog.Logger

	mu       sync.Mutex
	now      *Policy
	looked   time.Time
	seen     look
	reloads  int   // how often a changed file was used
	failures int   // how often it could not be
	fault    error // why the file as it is now cannot be used
}

// Reloads returns how often a changed file was used, how often it could not be, and whether the policy is that of the
// file as it is now.
func (l *Live) Reloads() (used, failed int, current bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reloads, l.failures, l.fault == nil
}

// A look is the text of the file, or why it could not be read. To compare its time and size would cost less, and would
// miss an edit that keeps both: of the same size within a tick of the file system's clock, or one that sets the time.
type look struct{ text, fault string }

// OpenLive reads a file for the first time; then it has to be in order.
func OpenLive(name string, log *slog.Logger) (*Live, error) {
	text, err := read(name)
	if err != nil {
		return nil, err
	}
	p, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	return &Live{name: name, log: log, now: p, looked: time.Now(), seen: look{text: string(text)}}, nil
}

// Current returns the policy of the file as it is now, or why that cannot be used. It looks at the file as Now does.
func (l *Live) Current() (*Policy, error) {
	l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		return nil, l.fault
	}
	return l.now, nil
}

// Reload has the file looked at by the next call of Now, however short ago that was.
func (l *Live) Reload() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked = time.Time{}
}

// Now returns the policy as it is now. The file is looked at once a second at most.
func (l *Live) Now() *Policy {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.looked) < lookEvery {
		return l.now
	}
	l.looked = time.Now()
	text, err := read(l.name)
	found := look{text: string(text)}
	if err != nil {
		found.fault = err.Error()
	}
	if found == l.seen {
		return l.now
	}
	l.seen = found
	var p *Policy
	if err == nil {
		p, err = Parse(l.name, text)
	}
	if err != nil {
		l.failures++
		l.fault = err
		l.log.Error("policy: the file has changed and cannot be used; what it said before still counts",
			slog.Int("failures", l.failures), slog.Any("err", err))
		return l.now
	}
	for _, w := range p.Warnings {
		l.log.Warn("policy: " + w)
	}
	level := slog.LevelInfo
	if l.fault != nil { // the end of a trouble, which is as visible as its begin
		level = slog.LevelWarn
	}
	l.log.Log(context.Background(), level, "policy: the file was read again", slog.String("file", l.name))
	l.reloads++
	l.fault = nil
	l.now = p
	return p
}

// maxFile is the most bytes of a file.
const maxFile = 8 << 20
