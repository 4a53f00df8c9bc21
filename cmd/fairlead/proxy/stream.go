package proxy

import (
	"bufio"
	"bytes"
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

// stream reads the events of a request's answer, and resumes a stream that breaks if it can.
func (r *remote) stream(ctx context.Context, m *message, res *http.Response) error {
	answered := false
	last, delay := "", resumptionDelay
	for try := 0; ; try++ {
		err := readEvents(res.Body, func(e event) bool {
			if e.id != "" {
				last, try = e.id, 0
			}
			if e.retry > 0 {
				delay = e.retry
			}
			if all, err := parse(e.data); err == nil {
				answered = r.take(m, all) || answered
			}
			return !answered
		})
		_ = res.Body.Close()
		switch {
		case answered:
			return nil
		case last == "" || try >= resumptions || ctx.Err() != nil:
			if err == nil || errors.Is(err, io.EOF) { // it was not finished, whether or not it looks like that
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("the answer broke off: %w", err)
		}
		if res, err = r.resume(ctx, last, delay); err != nil {
			return fmt.Errorf("the answer broke off, and could not be taken up again: %w", err)
		}
	}
}

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
		_ = res.Body.Close()
		return nil, fmt.Errorf("HTTP %s", res.Status)
	}
	return res, nil
}

// listen holds a stream open for the server's own messages, if it has one. A proxy may close a silent
// one again and again: one that was open for long is not a failure.
func (r *remote) listen() {
	last, delay := "", time.Duration(0)
	for try := 0; try <= resumptions; try++ {
		res, err := r.resume(r.ctx, last, delay)
		delay = resumptionDelay
		if r.ctx.Err() != nil || err != nil && try == 0 && last == "" {
			return // it has none
		}
		if err != nil {
			delay = resumptionDelay << try
			continue
		}
		opened := time.Now()
		_ = readEvents(res.Body, func(e event) bool { // it is taken up again, whatever ended it
			try = 0
			if e.id != "" {
				last = e.id
			}
			if all, err := parse(e.data); err == nil {
				for _, m := range all {
					r.to.message(m, "")
				}
			}
			return true
		})
		_ = res.Body.Close()
		if time.Since(opened) > longOpen {
			try = 0
		}
	}
	r.log.Warn("proxy: the server no longer says anything on its own; its stream cannot be opened again", slog.String("server", r.Name))
}

type event struct {
	id    string
	retry time.Duration
	data  []byte
}

// readEvents hands over each event of a stream until the func has enough.
func readEvents(in io.Reader, take func(event) bool) error {
	var e event
	seen := false
	r := bufio.NewReader(in)
	for {
		line, err := readLine(r)
		if err != nil {
			return err // an event that was cut off is none
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if seen && !take(e) {
				return nil
			}
			e, seen = event{}, false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data, seen = append(e.data, value...), true
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
