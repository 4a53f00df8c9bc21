package main

import (
	"errors"
	"fmt"
	"sync"
)

// A law counts what breaks it, and keeps the first few.
type law struct {
	mu     sync.Mutex
	broken int
	first  []error
}

func (l *law) brokef(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken++; l.broken <= 10 {
		l.first = append(l.first, fmt.Errorf(format, args...))
	}
}

// verdict is nil where nothing was broken and nothing has grown.
func (l *law) verdict(grown error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken > len(l.first) {
		l.first = append(l.first, fmt.Errorf("and %d more", l.broken-len(l.first)))
	}
	return errors.Join(append(l.first, grown)...)
}
