package dial

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/redact"
)

// A Target names a server: an http or https URL, or a command that speaks MCP on its standard streams.
type Target struct {
	ID      string            // what the server is called here; a catalogue takes it
	URL     string            // "" for a command
	SSE     bool              // the URL speaks the transport of 2024-11-05 and no streamable HTTP
	Header  map[string]string // of each request to the URL
	Command []string          // with its arguments
	Env     map[string]string // beside the environment of this process
	Dir     string            // where the command runs; "" for here
	File    string            // the configuration that names it, "" for none
	Line    int               // its place there
}

// Words is the target of a command line: one word with a scheme is a URL. Connect checks it. The ID
// is that of the host, or of the program.
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

// Command is the target of a command and its arguments.
func Command(words ...string) Target { return Target{ID: program(words), Command: words} }

const defaultID = "server"

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
		return fmt.Errorf("%w: %q is no http or https URL", ErrUsage, t.String())
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

var (
	notOfIDs = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)
	doubled  = regexp.MustCompile(`__+`)
)

// idOf makes of any name one that a catalogue takes.
func idOf(name string) string {
	id := doubled.ReplaceAllString(notOfIDs.ReplaceAllString(name, "-"), "_")
	return cmp.Or(strings.Trim(id[:min(len(id), 60)], "-"), defaultID)
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

// program names a server by its command line: by the package or file that a runner is given, else by the command.
// The name is the host's, before anything runs: what a server calls itself could claim the rules, the
// approvals and the accepted definitions of another.
func program(words []string) string {
	if len(words) == 0 {
		return defaultID
	}
	for i, word := range words {
		value := i > 0 && valueFlag(words[i-1])
		if value || strings.HasPrefix(word, "-") || strings.Contains(word, "=") || word == "/c" || slices.Contains(runners, base(word)) {
			continue
		}
		if i == 0 || slices.Contains(runners, base(words[0])) {
			return idOf(telling(word))
		}
	}
	return idOf(base(words[0]))
}

// runners start what their arguments name, and are no names of servers.
var runners = strings.Fields(`bun bunx cmd deno docker env go java node npm npx pipx pnpm pnpx podman py python python3 uv uvx yarn
	dlx exec run tool x`)

// switches are flags of runners that no value follows.
var switches = strings.Fields("-A -d -i -it -jar -m -q -t -y --init --interactive --offline --quiet --rm --yes")

func valueFlag(word string) bool {
	return strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && !slices.Contains(switches, word)
}

var ending = regexp.MustCompile(`(.)(@.*|:[^:]*|\.(?:exe|[cm]?js|ts|py|go|jar))$`)

// base is a word without folders, version and extension.
func base(word string) string {
	return ending.ReplaceAllString(path.Base(strings.ReplaceAll(word, `\`, "/")), "$1")
}

// common are names of files and folders of any server.
var common = strings.Fields(". .. / __main__ app bin build cli cmd dist index lib main mod out server src")

// telling is the last part of a path that is not common.
func telling(word string) string {
	word = strings.ReplaceAll(word, `\`, "/")
	for at := word; at != "." && at != "/"; at = path.Dir(at) {
		if name := base(at); !slices.Contains(common, name) {
			return name
		}
	}
	return defaultID
}
