// Package dial connects to MCP servers by URL, by command line, or from the files of known clients.
package dial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/fairlead-go/fairlead/cmd/fairlead/errtext"
	"github.com/fairlead-go/fairlead/cmd/fairlead/jsonc"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tail"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tailscale/hujson"
)

// ErrUsage is the error for a target that does not name a server.
var ErrUsage = errors.New("not a server")

// A Server is a session with the server that a target names.
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
	var err error
	if s.Session, err = client.Connect(ctx, mount.Transport(s.transport()), nil); err == nil {
		return s, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, s.Explain(err)
}

func (s *Server) transport() mcp.Transport {
	t := s.target
	if t.URL == "" {
		command := exec.Command(t.Command[0], t.Command[1:]...)
		command.Dir = t.Dir
		command.Env = os.Environ()
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

// maxConfig is how long a configuration file may be. Some clients keep their history in it.
const maxConfig = 64 << 20

// Configured returns the servers of a configuration file, in the order of the file, as the clients write it:
// "mcpServers" (Claude, Cursor, Windsurf, Cline, Gemini and others), "servers" (VS Code, in its settings within
// "mcp"), "context_servers" (Zed), "mcp" (opencode), or "mcp_servers" in a .toml file (Codex).
//
// With names, it returns those servers, switched off or not; otherwise all that are not switched off.
// The error names file and entry. A file without servers is an error too.
func Configured(path string, names ...string) ([]Target, error) {
	text, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	parse := jsonEntries
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		parse = codexEntries
	}
	entries, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUsage, path, err)
	}
	if err := missing(path, entries, names); err != nil {
		return nil, err
	}
	var found []Target
	for _, e := range entries {
		named := slices.Contains(names, e.name)
		if len(names) > 0 && !named {
			continue
		}
		t, off, err := e.target(path)
		switch {
		case off && !named:
			continue
		case err != nil:
			return nil, fmt.Errorf("%w: %s, line %d: the server %s %w", ErrUsage, path, e.line, quoted(e.name), err)
		}
		found = append(found, t)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s: every server is switched off; name one by --server", ErrUsage, path)
	}
	return Several(found), nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("%s has more than %d bytes", path, maxConfig)
	}
	return text, err
}

// ErrNoServer is the error for a server that a configuration file does not have.
var ErrNoServer = errors.New("has no server")

func missing(path string, all []entry, names []string) error {
	var there []string
	for _, e := range all {
		there = append(there, e.name)
	}
	for _, name := range names {
		if !slices.Contains(there, name) {
			return fmt.Errorf("%w: %s %w %s; it has %s", ErrUsage, path, ErrNoServer, quoted(name), quoted(there...))
		}
	}
	return nil
}

func quoted(names ...string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = `"` + safetext.Cut(safetext.Line(name), 100) + `"`
	}
	return strings.Join(shown, ", ")
}

type entry struct {
	name string
	line int
	raw  json.RawMessage
}

// places are where the clients keep their servers; the first that names any counts.
var places = [][]string{{"mcpServers"}, {"context_servers"}, {"servers"}, {"mcp", "servers"}, {"mcp", "mcpServers"}, {"amp.mcpServers"}, {"mcp"}}

const byteOrderMark = "\ufeff"

// jsonEntries reads JSON with comments and trailing commas, as editors keep their settings.
func jsonEntries(text []byte) ([]entry, error) {
	if line := jsonc.Deep(text); line > 0 {
		return nil, fmt.Errorf("line %d: it is nested too deeply", line)
	}
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	file, err := hujson.Parse(text)
	if err != nil { // which has the line
		return nil, err
	}
	if _, ok := file.Value.(*hujson.Object); !ok {
		return nil, errors.New("it is no JSON object")
	}
	file.Standardize() // which moves nothing
	var found []entry
	there := false
	dir, _ := os.Getwd() // without one this is no project
	for _, place := range append(places, []string{"projects", dir, "mcpServers"}) {
		beside := place[0] == "projects" // Claude Code keeps those of one project beside those for all
		opencode := len(place) == 1 && place[0] == "mcp"
		if len(found) > 0 && !beside || there && opencode {
			continue
		}
		list, is, err := entriesAt(file, text, place)
		if err != nil {
			return nil, err
		}
		there, found = there || is, append(found, list...)
	}
	switch {
	case !there:
		return nil, errors.New(`it has none of "mcpServers", "servers", "context_servers" and "mcp", which is where clients keep their servers`)
	case len(found) == 0:
		return nil, errors.New("it names no server")
	}
	i, last := 0, make(map[string]int, len(found)) // the last of a name takes the place of the others
	for i, e := range found {
		last[e.name] = i
	}
	return slices.DeleteFunc(found, func(e entry) bool {
		i++
		return last[e.name] != i-1
	}), nil
}

// entriesAt returns the servers of one place, in their order, and whether it is there.
func entriesAt(v hujson.Value, text []byte, place []string) (list []entry, there bool, err error) {
	for _, key := range place {
		all, _ := members(v)
		found := false
		for _, m := range all { // the last of a name counts
			if nameOf(m) == key {
				v, found = m.Value, true
			}
		}
		if !found {
			return nil, false, nil
		}
	}
	all, ok := members(v)
	if !ok {
		return nil, true, fmt.Errorf("%q is no object", strings.Join(place, "."))
	}
	for _, m := range all {
		list = append(list, entry{nameOf(m), 1 + bytes.Count(text[:m.Value.StartOffset], []byte("\n")), bytes.TrimSpace(m.Value.Pack())})
	}
	return list, true, nil
}

func members(v hujson.Value) ([]hujson.ObjectMember, bool) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, false
	}
	return o.Members, true
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

const codexKey = "mcp_servers"

// codexEntries returns the servers of a TOML file of Codex, in their order, each as JSON.
func codexEntries(text []byte) ([]entry, error) {
	if err := checkTOML(text); err != nil {
		return nil, err
	}
	var file map[string]any
	meta, err := toml.Decode(string(bytes.TrimPrefix(text, []byte(byteOrderMark))), &file)
	if err != nil {
		return nil, fmt.Errorf("it is no TOML: %w", err)
	}
	servers, ok := file[codexKey].(map[string]any)
	switch {
	case !ok:
		return nil, fmt.Errorf("it has no table %q, which is where Codex keeps its servers", codexKey)
	case len(servers) == 0:
		return nil, errors.New("it names no server")
	}
	var found []entry
	seen := make(map[string]bool, len(servers))
	for _, key := range meta.Keys() {
		if len(key) < 2 || key[0] != codexKey || seen[key[1]] {
			continue
		}
		name := key[1]
		seen[name] = true
		raw, err := json.Marshal(servers[name])
		if err != nil {
			return nil, fmt.Errorf("the server %s cannot be read: %w", quoted(name), err)
		}
		found = append(found, entry{name, codexLine(text, name), raw})
	}
	return found, nil
}

// codexLine is the line in which the server is first named, for people who look for it.
func codexLine(text []byte, name string) int {
	names := regexp.MustCompile(`(?m)^[ \t]*(\[?[ \t]*` + codexKey + `[ \t]*\.[ \t]*)?["']?` + regexp.QuoteMeta(name) + `["']?[ \t]*[].=]`)
	if at := names.FindIndex(text); at != nil {
		return 1 + bytes.Count(text[:at[0]], []byte("\n"))
	}
	return 1
}

// Limits on a file of TOML. Its parser calls itself for each level and could run out of stack.
const (
	maxTOML      = 1 << 20
	maxTOMLDepth = 100 // lists and tables within each other, and words of one key
)

func checkTOML(text []byte) error {
	if len(text) > maxTOML {
		return fmt.Errorf("it has more than %d bytes", maxTOML)
	}
	text = opaque.ReplaceAllFunc(text, func(part []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(part, []byte("\n"))) })
	line, depth, words := 1, 0, 0
	for _, c := range text {
		switch c {
		case '[', '{':
			depth, words = depth+1, 0
		case ']', '}':
			depth, words = depth-1, 0
		case '.':
			words++
		case '=', ',':
			words = 0
		case '\n':
			line, words = line+1, 0
		}
		if depth > maxTOMLDepth || words > maxTOMLDepth {
			return fmt.Errorf("line %d: it is nested too deeply, more than %d levels", line, maxTOMLDepth)
		}
	}
	return nil
}

// opaque matches the texts and comments of TOML, which have no structure, whether or not they end.
var opaque = regexp.MustCompile(`(?s)"""(\\.|[^\\])*?("{3,5}|\z)|'''.*?('{3,5}|\z)|"(\\[^\n]|[^"\\\n])*"?|'[^'\n]*'?|#[^\n]*`)

// A written is one server as the clients write it, all their dialects in one.
type written struct {
	Type      string `json:"type"`
	Transport string `json:"transport"` // another word for type

	Command words             `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]scalar `json:"env"`
	EnvFile string            `json:"envFile"`
	Cwd     string            `json:"cwd"`

	Environment map[string]scalar `json:"environment"` // opencode

	URL       string            `json:"url"`
	ServerURL string            `json:"serverUrl"` // Windsurf
	HTTPURL   string            `json:"httpUrl"`   // Gemini
	Headers   map[string]scalar `json:"headers"`

	HTTPHeaders    map[string]scalar `json:"http_headers"`         // Codex
	EnvHTTPHeaders map[string]string `json:"env_http_headers"`     // Codex: the variables that hold them
	BearerEnvVar   string            `json:"bearer_token_env_var"` // Codex

	Disabled bool  `json:"disabled"`
	Enabled  *bool `json:"enabled"`

	Source   string          `json:"source"` // Zed: "extension" for one that comes with an extension
	Settings json.RawMessage `json:"settings"`
}

// words is a command: a text, a list, or an object as Zed wrote it.
type words struct {
	list []string
	env  map[string]scalar
}

func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		if one != "" {
			w.list = []string{one}
		}
		return nil
	}
	if json.Unmarshal(text, &w.list) == nil {
		return nil
	}
	var zed struct {
		Path string            `json:"path"`
		Args []string          `json:"args"`
		Env  map[string]scalar `json:"env"`
	}
	if err := json.Unmarshal(text, &zed); err != nil || zed.Path == "" {
		return errors.New(`"command" is no text, no list and has no "path"`)
	}
	w.list, w.env = append([]string{zed.Path}, zed.Args...), zed.Env
	return nil
}

// A scalar is a value of the environment, which some write as a number.
type scalar string

func (s *scalar) UnmarshalJSON(text []byte) error {
	if bytes.ContainsAny(text[:1], "{[n") { // null would be read as an empty text
		return errors.New("a value is no text")
	}
	var one string
	if json.Unmarshal(text, &one) != nil {
		one = string(text)
	}
	*s = scalar(one)
	return nil
}

// target makes of an entry what can be connected to; off where it is switched off.
func (e entry) target(path string) (t Target, off bool, err error) {
	var w written
	if err := json.Unmarshal(e.raw, &w); err != nil {
		return t, false, fmt.Errorf("cannot be read: %w", unmarshalling(err))
	}
	off = w.Disabled || w.Enabled != nil && !*w.Enabled
	x := expander{dir: filepath.Dir(path)}
	t = Target{ID: idOf(e.name), File: path, Line: e.line}
	kind := strings.ToLower(cmp.Or(w.Type, w.Transport))
	url := cmp.Or(w.URL, w.ServerURL, w.HTTPURL)
	command := slices.Concat(w.Command.list, w.Args)
	switch {
	case w.EnvFile != "":
		return t, off, errors.New(`has an "envFile", which is not read; set its variables and start again without it`)
	case url != "" && len(w.Command.list) > 0:
		return t, off, errors.New("has both an URL and a command; which is it?")
	case url != "":
		t.URL, t.SSE = x.text(url), kind == "sse"
		t.Header = x.values(w.Headers, w.HTTPHeaders)
		for name, variable := range w.EnvHTTPHeaders {
			t.Header[name] = x.variable(variable, variable)
		}
		if w.BearerEnvVar != "" {
			t.Header["Authorization"] = "Bearer " + x.variable(w.BearerEnvVar, w.BearerEnvVar)
		}
	case len(w.Command.list) > 0:
		for _, word := range command {
			t.Command = append(t.Command, x.text(word))
		}
		t.Env, t.Dir = x.values(w.Env, w.Environment, w.Command.env), x.text(w.Cwd)
	case w.Source == "extension" || w.Settings != nil:
		return t, off, errors.New("is started by an extension of the editor; name it here by its command or URL")
	default:
		return t, off, errors.New(`has neither "command" nor "url"`)
	}
	switch kind {
	case "", "stdio", "local", "http", "https", "sse", "streamable", "streamable-http", "streamablehttp", "streamable_http", "remote":
	default:
		return t, off, fmt.Errorf("speaks %.60q; this program speaks stdio, http and sse", kind)
	}
	return t, off, errors.Join(x.fault, t.Check())
}

// unmarshalling names the member of the wrong type, without its value.
func unmarshalling(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is a %s", safetext.Line(cmp.Or(wrong.Field, "it")), wrong.Value)
	}
	return err
}

// An expander replaces what a configuration only names. The first that is missing is its fault,
// since a server with an empty key fails later and elsewhere.
type expander struct {
	dir   string
	fault error
}

func (x *expander) values(all ...map[string]scalar) map[string]string {
	out := make(map[string]string)
	for _, some := range all {
		for name, value := range some {
			out[name] = x.text(string(value))
		}
	}
	return out
}

// named matches ${env:X}, ${X} and ${X:-default}, the folders of editors, and opencode's {env:X} and {file:X}.
var named = regexp.MustCompile(`\$\{[^}]*\}|\{(?:env|file):[^}]*\}`)

func (x *expander) text(s string) string {
	return named.ReplaceAllStringFunc(s, func(written string) string {
		return x.variable(strings.TrimSuffix(strings.TrimLeft(written, "${"), "}"), written)
	})
}

// variable is what the name stands for, which a fault shows as it was written.
func (x *expander) variable(name, written string) string {
	name, fallback, hasFallback := strings.Cut(name, ":-")
	kind, rest, qualified := strings.Cut(name, ":")
	switch {
	case name == "workspaceFolder":
		return x.workspace()
	case name == "workspaceFolderBasename":
		return filepath.Base(x.workspace())
	case name == "userHome":
		home, err := os.UserHomeDir()
		x.failed(err)
		return home
	case name == "pathSeparator" || name == "/":
		return string(filepath.Separator)
	case qualified && kind != "env":
		x.failed(fmt.Errorf("needs %.100q, which its client asks for or knows; write the value in its place, or the name of a variable that is set", written))
		return ""
	case qualified:
		name = rest
	}
	value, set := os.LookupEnv(name)
	switch {
	case hasFallback && value == "":
		return fallback
	case !set:
		x.failed(fmt.Errorf("needs the variable %.100q, which is not set", name))
	}
	return value
}

func (x *expander) failed(err error) {
	if x.fault == nil {
		x.fault = err
	}
}

// workspace is the folder of a project's configuration file, or its parent if that is hidden.
func (x *expander) workspace() string {
	dir, err := filepath.Abs(x.dir)
	x.failed(err)
	if strings.HasPrefix(filepath.Base(dir), ".") {
		return filepath.Dir(dir)
	}
	return dir
}
