package answers

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Stray are the lines of a server's standard output that are not messages, such as a banner or a log. They are left
// out, where the SDK would end the session. Only their number and the first one are kept. The zero value is ready.
type Stray struct {
	mu    sync.Mutex
	lines int
	first string
	log   func(lines int, text string)
}

// Lines returns how many lines were left out until now, and the first of them. A nil Stray has none.
func (s *Stray) Lines() (n int, first string) {
	if s == nil {
		return 0, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines, s.first
}

// Log sets what is called with lines from now on, and how many there were with it. It is called for the first ten, and
// then each time that their number has doubled, since a server may write them without end.
func (s *Stray) Log(log func(lines int, text string)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = log
}

// leaveOut counts a line, and returns nothing in place of it.
func (s *Stray) leaveOut(line []byte) {
	text := safetext.Line(safetext.Cut(string(line[:min(len(line), 1000)]), 200))
	s.mu.Lock()
	if s.lines++; s.lines == 1 {
		s.first = text
	}
	lines, log := s.lines, s.log
	s.mu.Unlock()
	if log != nil && (lines <= 10 || lines&(lines-1) == 0) {
		log(lines, text)
	}
}

// isMessage reports whether the SDK can read a line as a message or as a batch of them.
func isMessage(line []byte) bool {
	if !json.Valid(line) { // the SDK decodes the first value of a line, and ends the session if there is more
		return false
	}
	if line[0] != '[' {
		_, err := jsonrpc.DecodeMessage(line)
		return err == nil
	}
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil {
		return false
	}
	for _, one := range batch {
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			return false
		}
	}
	return len(batch) > 0
}

// messages returns what the SDK gets of a line, nothing for one that is not a message. The end of
// the output without a line feed is left to the SDK, which has an error for it.
func (s *Stray) messages(line []byte, err error) []byte {
	line = oneReading(Shallow(line))
	text := bytes.TrimSpace(line)
	switch {
	case err != nil:
		return line
	case isMessage(text):
		return append(text, '\n') // the SDK takes no blanks before the end of the line
	}
	if len(text) > 0 {
		s.leaveOut(text)
	}
	return nil
}
