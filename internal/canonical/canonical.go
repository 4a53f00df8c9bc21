// Package canonical writes JSON in one form, whatever the order of members, the white space and the escapes.
//
// It refuses what two parsers might read differently, since the text that a person approved must be the text that
// runs: duplicate members, ill-formed UTF-8 and lone surrogates. Numbers are kept as they are written.
package canonical

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
)

// Limits on what is looked at.
const (
	MaxBytes = 4 << 20 // of one text
	MaxDepth = 512     // levels of nesting
)

// An Error reports what is wrong with a text and where. It was not sent.
type Error struct {
	Reason string
	Offset int // in bytes from the begin of the text
}

func (e *Error) Error() string   { return fmt.Sprintf("%s (at byte %d)", e.Reason, e.Offset) }
func (e *Error) NotSent() bool   { return true }
func (e *Error) Permanent() bool { return true }

// AppendObject appends the canonical form of the arguments of a call to dst, {} for none. It refuses members of
// one object whose names differ only in case, at any depth. Where it fails, dst comes back as it was.
func AppendObject(dst, src []byte) ([]byte, error) {
	switch begin := skipSpace(src, 0); {
	case begin == len(src):
		return append(dst, "{}"...), nil
	case src[begin] != '{':
		return dst, &Error{Reason: "not a JSON object"}
	}
	return appendForm(dst, src, true)
}

// Check returns the error of [AppendObject], and makes no form.
func Check(src []byte) error {
	room := rooms.Get().(*[]byte)
	form, err := AppendObject((*room)[:0], src)
	if *room = form; cap(form) <= keptRoom {
		rooms.Put(room)
	}
	return err
}

// rooms are for forms that nothing reads. A long one does not pin its room.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

const keptRoom = 64 << 10

// Same reports whether two texts are the same JSON value.
func Same(a, b []byte) bool {
	x, errX := Append(nil, a)
	y, errY := Append(nil, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Append appends the canonical form of any JSON value to dst. Where it fails, dst comes back as it was.
func Append(dst, src []byte) ([]byte, error) { return appendForm(dst, src, false) }

func appendForm(dst, src []byte, strict bool) ([]byte, error) {
	if len(src) > MaxBytes {
		return dst, &Error{Reason: fmt.Sprintf("%d bytes, more than the limit of %d", len(src), MaxBytes), Offset: MaxBytes}
	}
	s := scanners.Get().(*scanner)
	s.src, s.pos, s.run, s.dst, s.strict = src, 0, 0, slices.Grow(dst, len(src)), strict
	err := s.document()
	if err == nil {
		dst = s.dst
	}
	s.release()
	return dst, err
}
