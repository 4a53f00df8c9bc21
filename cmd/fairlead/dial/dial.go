// Package dial connects to MCP servers by URL, by command line, or from the files of known clients.
package dial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"time"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/cmd/fairlead/childenv"
	"github.com/fairlead-go/fairlead/cmd/fairlead/errtext"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tail"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrUsage is the error for a target that does not name a server.
var ErrUsage = errors.New("not a server")

// A Server is a session with the server that a target names. Its owner closes the session.
type Server struct {
	Session *mcp.ClientSession

	target Target
	said   *tail.Tail // nil for an URL
}

// Connect connects the client to the target, over a transport that is prepared for a catalog. The
// error names the target, the last line on its standard error, and what to do.
func Connect(ctx context.Context, client *mcp.Client, t Target) (*Server, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	s := &Server{target: t}
	if t.URL == "" {
		if err := checkDir(t.Dir); err != nil {
			return nil, s.Explain(err)
		}
	}
	var err error
	if s.Session, err = client.Connect(ctx, mount.Transport(s.transport()), nil); err == nil {
		return s, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, s.Explain(err)
}

// checkDir returns an error if a command cannot run in a folder, which is not "" for that of this process. The operating
// system names the command in its own.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("its folder (cwd): %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("its folder (cwd) %q is a file", dir)
	}
	return nil
}

// transport returns the transport to a target that was checked.
func (s *Server) transport() mcp.Transport {
	t := s.target
	if t.URL == "" {
		command := exec.Command(t.Command[0], t.Command[1:]...)
		command.Dir = t.Dir
		command.Env = childenv.Environ()
		for name, value := range t.Env {
			command.Env = append(command.Env, name+"="+value)
		}
		s.said = new(tail.Tail)
		command.Stderr = s.said
		return &mcp.CommandTransport{Command: command, TerminateDuration: 2 * time.Second}
	}
	u, _ := url.Parse(t.URL) // it was checked
	client := &http.Client{Transport: headers{next: http.DefaultTransport, url: u, header: t.Header}}
	if t.SSE {
		return &mcp.SSEClientTransport{Endpoint: t.URL, HTTPClient: client}
	}
	return &mcp.StreamableClientTransport{Endpoint: t.URL, HTTPClient: client}
}

// headers adds a server's headers to requests to it, but not to another host or without TLS.
type headers struct {
	next   http.RoundTripper
	url    *url.URL
	header map[string]string
}

func (h headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != h.url.Host || req.URL.Scheme != h.url.Scheme {
		return h.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for name, value := range h.header {
		req.Header.Set(name, value)
	}
	return h.next.RoundTrip(req)
}

// Explain names the server that failed, its last words, and what to do, without recognizable secrets.
func (s *Server) Explain(err error) error {
	err = &explained{err}
	switch {
	case s.said == nil:
		err = fmt.Errorf("the server %s failed: %w; check that the address is that of an MCP server and that it runs", s.target, err)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("the server cannot be started: %w; install it, or check the command line %q", err, s.target)
	case errors.Is(err, mcp.ErrConnectionClosed):
		err = fmt.Errorf("the server %q ended, or wrote something other than MCP to its standard output%s; run the command by hand to see more", s.target, s.said.LastWords())
	default:
		err = fmt.Errorf("the server %q failed: %w%s; run the command by hand to see more", s.target, err, s.said.LastWords())
	}
	return redact.Error(err)
}

// explained is an error with the text that it has for a person.
type explained struct{ err error }

func (e *explained) Error() string { return errtext.Of(e.err) }
func (e *explained) Unwrap() error { return e.err }
