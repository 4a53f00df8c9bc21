package dial

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/fairlead-go/fairlead/audit/redact"
)

// A Target names a server: an http or https URL, or a command that speaks MCP on its standard streams. It may come from
// a file, so [Connect] checks it first; see [Target.Check].
type Target struct {
	ID      string            // what the server is called here; a catalog takes it
	URL     string            // "" for a command
	SSE     bool              // the URL speaks the transport of 2024-11-05 and no streamable HTTP
	Header  map[string]string // of each request to the URL
	Command []string          // with its arguments
	Env     map[string]string // beside the environment of this process
	Dir     string            // where the command runs; "" for here
	Tools   Filter            // which of its tools the client offers
	Fault   error             // why it cannot be used, as it is configured; nil for nothing
	File    string            // the configuration that names it, "" for none
	Line    int               // its place there
}

// Words returns the target of a command line: one word with a scheme is a URL, others are a command. The ID is made of
// the host, or of the program.
func Words(words ...string) Target {
	if len(words) == 1 && strings.Contains(words[0], "://") {
		host := defaultID
		if u, err := url.Parse(words[0]); err == nil {
			host = idOf(u.Host)
		}
		return Target{ID: host, URL: words[0]}
	}
	return Command(words...)
}

// Command returns the target of a command and its arguments. The ID is made of the program.
func Command(words ...string) Target { return Target{ID: program(words), Command: words} }

// String returns the target as a person would type it, without recognizable secrets. It may hold any character.
func (t Target) String() string {
	text := strings.Join(t.Command, " ")
	if t.URL != "" {
		text = t.URL
		if u, err := url.Parse(t.URL); err == nil {
			text = u.Redacted()
		}
	}
	return new(redact.Redactor).Text(text)
}

// ids are what a catalog accepts, and unambiguous in "server/tool" and "server__tool".
var ids = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Check returns an error for a target that does not name a server.
func (t Target) Check() error {
	if t.Fault != nil {
		return t.Fault
	}
	if !ids.MatchString(t.ID) || strings.Contains(t.ID, "__") {
		return fmt.Errorf("%w: %q cannot be a server's name here: use 1 to 64 letters, digits, '.', '-' and single '_'", ErrUsage, t.ID)
	}
	if t.URL == "" {
		if len(t.Command) == 0 || t.Command[0] == "" {
			return fmt.Errorf("%w: name one by an URL, by a command line, or out of a configuration file", ErrUsage)
		}
		return nil
	}
	if u, err := url.Parse(t.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%w: want an http or https URL, got %q", ErrUsage, t.String())
	}
	return nil
}

// Several gives targets from several places different ids: each keeps its own if it can.
func Several(targets []Target) []Target {
	taken := make(map[string]bool)
	for i := range targets {
		id := targets[i].ID
		for n := 2; taken[id]; n++ {
			id = fmt.Sprintf("%s-%d", targets[i].ID, n)
		}
		taken[id] = true
		targets[i].ID = id
	}
	return targets
}
