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

// Server connects the client to the target. The error names the target, what a
// command last wrote to its standard error, and what to do.
func Server(ctx context.Context, client *mcp.Client, t Target) (*mcp.ClientSession, error) {
	if len(t) == 0 || t[0] == "" {
		return nil, fmt.Errorf("%w: name one by an URL or by a command line", ErrUsage)
	}
	if u, ok := t.url(); ok {
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: u.String()}, nil)
		if err != nil {
			return nil, fmt.Errorf("no MCP server answers at %s: %w; check the URL and that the server is running", u, cause(ctx, err))
		}
		return session, nil
	}
	if strings.Contains(t[0], "://") {
		return nil, fmt.Errorf("%w: %q is no http or https URL", ErrUsage, t[0])
	}
	command := exec.Command(t[0], t[1:]...) //nolint:gosec // running the command that the person typed is the point
	var said tail
	command.Stderr = &said
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command, TerminateDuration: 2 * time.Second}, nil)
	if err != nil {
		if words := said.String(); words != "" {
			return nil, fmt.Errorf("the server %q did not start: %w; its last words: %s", t, cause(ctx, err), words)
		}
		return nil, fmt.Errorf("the server %q did not start: %w; run the command by hand to see what it says", t, cause(ctx, err))
	}
	return session, nil
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

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.text)), " ")
}
