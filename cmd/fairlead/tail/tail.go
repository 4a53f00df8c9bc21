// Package tail keeps the end of what a process has said, for who explains why it ended.
package tail

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// most is how many bytes are kept.
const most = 2000

// A Tail keeps the end of what was written to it. It is safe for concurrent use.
type Tail struct {
	// Out gets all of it by lines, without control characters, since a question may be on the terminal;
	// nil gets nothing. Empty lines are left out, which would push other lines off the screen.
	Out io.Writer
	// Mark is in front of each line that Out gets, so that it is taken for nothing else.
	Mark string

	mu   sync.Mutex
	text []byte
	line []byte // that has not ended
}

// Write keeps the end of p and passes whole lines on. An error is that of Out.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - most; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	if t.Out == nil {
		return len(p), nil
	}
	for part := range bytes.Lines(p) {
		t.line = append(t.line, part...)
		if part[len(part)-1] != '\n' && len(t.line) < longest {
			continue
		}
		clean := safetext.Line(string(colors.ReplaceAll(bytes.TrimRight(t.line, "\r\n"), nil)))
		t.line = t.line[:0]
		if strings.TrimSpace(clean) == "" {
			continue
		}
		if _, err := io.WriteString(t.Out, t.Mark+clean+"\n"); err != nil {
			return len(p), err
		}
	}
	return len(p), nil
}

// longest is the most bytes of a line; a longer one is passed on in parts.
const longest = 16 << 10

// colors are the sequences that change how a terminal shows letters.
var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// LastWords are the last line that is not empty, as the end of a sentence.
func (t *Tail) LastWords() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return " (it said: " + safetext.Line(last) + ")"
	}
	return ""
}
