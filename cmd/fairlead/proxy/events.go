package proxy

// A response over HTTP may be a stream of server-sent events, one message each. A stream may break off while a call
// runs, so it is resumed after the last event that has an ID, if the server gives them any. The call itself is never
// sent again.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// How often a broken stream is taken up again, and after which time at first.
const (
	resumptions     = 5
	resumptionDelay = time.Second
	longOpen        = 10 * time.Second
)

// A position is where a stream of events is taken up again if it breaks.
type position struct {
	last  string // the ID of the last event that has one
	delay time.Duration
	try   int // since the last event
}

// read passes on the messages of a stream until one of them answers the request, and reports whether one has.
func (r *remote) read(ctx context.Context, res *http.Response, m *message, at *position) (answered bool, err error) {
	defer func() { _ = res.Body.Close() }()
	err = readEvents(res.Body, func() *held { return r.to.hold(ctx) }, func(e event) bool {
		at.last, at.delay, at.try = cmp.Or(e.id, at.last), cmp.Or(e.retry, at.delay), 0
		if all, err := parseAll(e.data); err == nil {
			answered = r.take(m, all, e.held) || answered
		}
		return !answered
	})
	return answered, err
}

// stream reads the events of a request's answer, and resumes a stream that breaks if it can.
func (r *remote) stream(ctx context.Context, m *message, res *http.Response) error {
	for at := (position{delay: resumptionDelay}); ; at.try++ {
		answered, err := r.read(ctx, res, m, &at)
		switch {
		case answered:
			return nil
		case at.last == "" || at.try >= resumptions || ctx.Err() != nil:
			if err == nil || errors.Is(err, io.EOF) { // it was not finished, whether or not it looks like that
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("the answer broke off: %w", err)
		}
		if res, err = r.resume(ctx, at.last, at.delay); err != nil {
			return fmt.Errorf("the answer broke off, and could not be taken up again: %w", err)
		}
	}
}

// resume opens a stream after a delay, from the event last if there is one.
func (r *remote) resume(ctx context.Context, last string, delay time.Duration) (*http.Response, error) {
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	res, err := r.do(ctx, http.MethodGet, nil, last)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxReason)) // without it there is no reason
		_ = res.Body.Close()
		return nil, &notResumedError{r.refusal(res, body, false)}
	}
	return res, nil
}

// A notResumedError is the status in the place of a stream that was to be opened again. It hides the status from those
// who ask whether a request was executed: that request was another one, and may have been.
type notResumedError struct{ why *httpError }

func (e *notResumedError) Error() string { return e.why.Error() }

// listen holds a stream open for the server's own messages, if it has one. A proxy may close a silent
// one again and again: one that was open for long is not a failure. If the server no longer has the session when the
// stream is to be opened again, the next session begins at once: there, what the server announced meanwhile is read.
func (r *remote) listen() {
	for at := (position{}); at.try <= resumptions; at.try++ {
		res, err := r.resume(r.ctx, at.last, at.delay)
		if r.ctx.Err() != nil || err != nil && at == (position{}) {
			return // it has none
		}
		if not, ok := errors.AsType[*notResumedError](err); ok && not.why.ended {
			r.gone(not.why)
			return
		}
		if err != nil {
			at.delay = resumptionDelay << at.try
			continue
		}
		at.delay = resumptionDelay
		opened := time.Now()
		_, _ = r.read(r.ctx, res, new(message), &at) // it is taken up again, whatever ended it
		if time.Since(opened) > longOpen {
			at.try = 0
		}
	}
	r.log.Warn("proxy: the server no longer sends anything on its own; its stream cannot be opened again", slog.String("server", r.Name))
}

// An event is one of a stream, as the HTML standard has them. Its data are the lines of its fields "data".
type event struct {
	id    string
	retry time.Duration
	data  []byte
	held  *held // the room of its data
}

// readEvents passes each event of a stream to take until that returns false, and then returns nil. It returns io.EOF at
// the end of the stream. An event takes its room of what hold returns, which may be nil.
func readEvents(in io.Reader, hold func() *held, take func(event) bool) error {
	e := event{held: hold()}
	defer func() { e.held.handed() }()
	seen := false
	r := bufio.NewReader(in)
	for {
		line, err := readLine(r, e.held)
		if err != nil {
			return err // an event that was cut off does not count
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if seen && !take(e) {
				return nil
			}
			e.held.handed()
			e, seen = event{held: hold()}, false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if seen = true; e.data == nil {
				e.data = value // nearly always the only line
				continue
			}
			if e.data, err = extend(append(e.data, '\n'), value, e.held, nil); err != nil {
				return err
			}
		case "id":
			e.id, seen = string(value), true
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil && ms > 0 {
				e.retry, seen = min(time.Duration(ms)*time.Millisecond, time.Minute), true
			}
		}
		if len(e.data) > maxLine {
			return fmt.Errorf("an event has more than %d bytes", maxLine)
		}
	}
}
