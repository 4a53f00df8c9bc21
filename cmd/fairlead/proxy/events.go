package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// An event is one of a stream of server-sent events.
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

// readLine reads a line without its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(long)+len(part) > maxLine {
			return nil, fmt.Errorf("a line has more than %d bytes", maxLine)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimRight(append(long, part...), "\r\n"), nil
	}
}
