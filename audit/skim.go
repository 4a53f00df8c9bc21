package audit

import (
	"bytes"
	"strconv"
)

// skim reads the kind and the call of a line that is written as [File] writes it, follows the
// last record and needs no more. It reports false for every other line, which is decoded:
// decoding takes twenty times as long. The next hash covers the unread rest.
func (r *replay) skim(body []byte) bool {
	r.start = append(strconv.AppendInt(append(r.start[:0], `{"seq":`...), r.records+1, 10), `,"prev":"`...)
	r.start = append(append(r.start, r.hash...), `","time":"`...)
	body, follows := bytes.CutPrefix(body, r.start)
	if !follows || r.junk.Len() > 0 || !bytes.HasSuffix(body, []byte("}")) {
		return false
	}
	_, body, _ = bytes.Cut(body, []byte(`"`)) // the time
	kind, body := member(body, `,"kind":"`, '"')
	run, body := member(body, `,"run":"`, '"')
	n, body := member(body, `,"n":`, ',')
	if string(run) != r.short.Run {
		r.short.Run = string(run) // most lines have that of the line before
	}
	r.short.N, _ = strconv.ParseInt(string(n), 10, 64)
	if r.short.N <= 0 || bytes.IndexByte(run, '\\') >= 0 || bytes.HasSuffix(body, []byte("}}")) && bytes.Contains(body, []byte(`"found":`)) {
		return false
	}
	switch string(kind) {
	case string(Intent):
		r.short.Kind = Intent
		return true
	case string(End):
		r.short.Kind = End
		_, body, ended := bytes.Cut(body, []byte(`outcome":"`))
		return ended && !bytes.HasPrefix(body, []byte(Unknown)) && !bytes.Contains(body, []byte(`doubt"`))
	}
	return false
}

// member returns the value that follows, up to its end, and what comes after it; nil if something else follows.
func member(body []byte, name string, end byte) (value, rest []byte) {
	if at := bytes.IndexByte(body[min(len(name), len(body)):], end); at >= 0 && string(body[:len(name)]) == name {
		return body[len(name) : len(name)+at], body[len(name)+at+1:]
	}
	return nil, nil
}
