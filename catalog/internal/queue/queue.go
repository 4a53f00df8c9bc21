// Package queue passes values to a listener, one by one, on goroutines of its own. A slow listener delays nothing.
package queue

import "sync"

// A Queue is the values that wait for a listener.
type Queue[T any] struct {
	Listener func(T)           // nil for none
	Most     int               // how many may wait; what comes then is dropped
	Dropped  func(count int) T // returns the value that reports it
	Panicked func(T, any)      // is called if the listener panics

	mu      sync.Mutex
	values  []T
	dropped int
	running bool
	closed  bool
}

// Add appends a value.
func (q *Queue[T]) Add(value T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.Listener == nil || q.closed:
		return
	case len(q.values) >= q.Most:
		q.dropped++
		return
	}
	if q.dropped > 0 { // one more than Most
		q.values = append(q.values, q.Dropped(q.dropped))
		q.dropped = 0
	}
	q.values = append(q.values, value)
	if !q.running {
		q.running = true
		go q.run()
	}
}

// run hands out one value and goes on with the next, even if the listener ends the goroutine.
func (q *Queue[T]) run() {
	value, ok := q.take()
	if !ok {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			q.Panicked(value, r)
		}
		go q.run()
	}()
	q.Listener(value)
}

// take returns the next value. Once there is none, running is false.
func (q *Queue[T]) take() (value T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.values) > 0:
		value, q.values = q.values[0], q.values[1:]
		return value, true
	case q.dropped > 0:
		value, q.dropped = q.Dropped(q.dropped), 0
		return value, true
	}
	q.values, q.running = nil, false
	return value, false
}

// Close drops what waits, and what comes.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.values, q.dropped = true, nil, 0
}
