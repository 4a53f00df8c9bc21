// Package dial reaches an MCP server that is named by an URL or a command line.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/escape"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrUsage says that a target does not name a server.
var ErrUsage = errors.New("not a server")

// A Target names a server: an http or https URL for streamable HTTP, or a command
// with its arguments that speaks MCP on its standard input and output.
type Target []string

// String returns the target as a person would type it.
func (t Target) String() string { return strings.Join(t, " ") }

func (t Target) url() (*url.URL, bool) {
	if len(t) != 1 {
		return nil, false
	}
	u, err := url.Parse(t[0])
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// A Server is a session with the server that a target names.
type Server struct {
	Session *mcp.ClientSession

	target Target
	said   *tail // nil for an URL
}

// Connect connects the client to the target, over a transport that is prepared for a
// catalogue. The error names the target, what a
// command last wrote to its standard error, and what to do.
func Connect(ctx context.Context, client *mcp.Client, t Target) (*Server, error) {
	s := &Server{target: t}
	var transport mcp.Transport
	switch u, isURL := t.url(); {
	case len(t) == 0 || t[0] == "":
		return nil, fmt.Errorf("%w: name one by an URL or by a command line", ErrUsage)
	case isURL:
		transport = &mcp.StreamableClientTransport{Endpoint: u.String()}
	case strings.Contains(t[0], "://"):
		return nil, fmt.Errorf("%w: %q is no http or https URL", ErrUsage, t[0])
	default:
		command := exec.Command(t[0], t[1:]...)
		s.said = new(tail)
		command.Stderr = s.said
		transport = &mcp.CommandTransport{Command: command, TerminateDuration: 2 * time.Second}
	}
	var err error
	if s.Session, err = client.Connect(ctx, mount.Transport(transport), nil); err != nil {
		return nil, s.Explain(cause(ctx, err))
	}
	return s, nil
}

// Explain says which server failed, what it said last, and what to do.
func (s *Server) Explain(err error) error {
	switch {
	case s.said == nil:
		return fmt.Errorf("the server %s failed: %w; check that the address is that of an MCP server and that it runs", s.target, err)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("the server cannot be started: %w; install it, or check the command line %q", err, s.target)
	}
	return fmt.Errorf("the server %q failed: %w%s; run the command by hand to see more", s.target, err, s.said.lastWords())
}

func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// A tail keeps the end of what was written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// lastWords are the last line that is not empty.
func (t *tail) lastWords() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return " (it said: " + escape.Line(last) + ")"
	}
	return ""
}
