// Package tail keeps the end of what a process has said, for who explains why it ended.
package tail

import (
	"io"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/safetext"
)

const most = 2000

// A Tail keeps the end of what was written to it. It is safe for concurrent use.
type Tail struct {
	Out io.Writer // where all of it goes on to; nil for nowhere

	mu   sync.Mutex
	text []byte
}

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
	return t.Out.Write(p)
}

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
