package answers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/fairlead-go/fairlead/internal/jsontree"
)

// RoundTripper returns a round tripper under which results are looked at.
func RoundTripper(base http.RoundTripper, pick Picker) http.RoundTripper {
	return &roundTripper{base, pick}
}

type roundTripper struct {
	base http.RoundTripper
	pick Picker
}

func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	method := methodOf(req)
	var look Look
	if method != "" {
		look = t.pick(req.Context(), method, nil)
	}
	res, err := t.base.RoundTrip(req)
	if err != nil || look == nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "" {
		return res, err
	}
	b := &body{Closer: res.Body, in: bufio.NewReader(res.Body), method: method, look: look}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json":
		b.next = b.whole
	case "text/event-stream":
		b.next = b.event
	default:
		return res, nil
	}
	res.Body, res.ContentLength = b, -1
	res.Header.Del("Content-Length")
	return res, nil
}

// methodOf returns the method of the request in a POST, "" for anything else.
func methodOf(req *http.Request) string {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return ""
	}
	sent, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer sent.Close()
	var message struct {
		Method string `json:"method"`
	}
	if json.NewDecoder(sent).Decode(&message) != nil {
		return ""
	}
	return message.Method
}

// maxBody is how much of one answer is read. The SDK has no such limit.
const maxBody = 32 << 20

// body is the body of an answer on its way to the SDK, a message at a time.
type body struct {
	io.Closer

	in     *bufio.Reader
	method string
	look   Look
	next   func() ([]byte, error)
	out    []byte
	err    error
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.out, b.err = b.next()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

func (b *body) tooLong() error {
	return fmt.Errorf("mount: the answer to %s has more than %d bytes", b.method, maxBody)
}

// whole reads an answer that is one message.
func (b *body) whole() ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(b.in, maxBody+1))
	switch {
	case err != nil:
		return raw, err
	case len(raw) > maxBody:
		return nil, b.tooLong()
	}
	return b.message(raw), io.EOF
}

// line reads a line, or at least maxBody bytes of one.
func (b *body) line() (line []byte, err error) {
	for {
		part, err := b.in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > maxBody {
			return line, err
		}
	}
}

// event reads one server-sent event. Its data may be in several lines; if it changes it becomes one.
func (b *body) event() ([]byte, error) {
	var event, data, rest []byte
	for {
		line, err := b.line()
		if event = append(event, line...); len(event) > maxBody {
			return nil, b.tooLong()
		}
		whole := bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(whole, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		} else {
			rest = append(rest, line...)
		}
		if len(whole) > 0 && err == nil {
			continue
		}
		if changed := b.message(data); err == nil && !bytes.Equal(changed, data) {
			event = append(append(append([]byte("data: "), changed...), '\n'), rest...)
		}
		return event, err
	}
}

// message shows a message if it is a result, and returns it as the SDK is to see it.
func (b *body) message(raw []byte) []byte {
	raw = oneReading(Shallow(raw))
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m["result"] == nil {
		return raw
	}
	result := b.look(m["result"])
	if bytes.Equal(result, m["result"]) {
		return raw
	}
	m["result"] = result
	return []byte(jsontree.Encode(m))
}
