package dial

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// An entry is one server of a configuration file, before it is understood.
type entry struct {
	name string
	line int
	raw  json.RawMessage
}

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

	IncludeTools  []string `json:"includeTools"`   // Gemini
	EnabledTools  []string `json:"enabled_tools"`  // Codex
	Tools         choice   `json:"tools"`          // Copilot: a list; Codex and others: settings of each tool
	ExcludeTools  []string `json:"excludeTools"`   // Gemini
	DisabledTools []string `json:"disabledTools"`  // Windsurf and Roo
	WithoutTools  []string `json:"disabled_tools"` // Codex

	Source   string          `json:"source"` // Zed: "extension" for one that comes with an extension
	Settings json.RawMessage `json:"settings"`
}

// words is a command: a string, a list, or an object as Zed wrote it.
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
		return errors.New(`"command": want a string, a list of strings, or an object with "path"`)
	}
	w.list, w.env = append([]string{zed.Path}, zed.Args...), zed.Env
	return nil
}

// A scalar is a value of the environment, which some write as a number.
type scalar string

func (s *scalar) UnmarshalJSON(text []byte) error {
	if bytes.ContainsAny(text[:1], "{[n") { // null would be read as an empty string
		return errors.New("want a string")
	}
	var one string
	if json.Unmarshal(text, &one) != nil {
		one = string(text)
	}
	*s = scalar(one)
	return nil
}

// choice is a list of the tools that are offered, or an object with settings of tools, those that are switched off among
// them.
type choice struct{ only, without []string }

func (c *choice) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &c.only) == nil {
		return nil
	}
	var settings map[string]json.RawMessage
	if json.Unmarshal(text, &settings) != nil {
		return errors.New(`"tools": want a list of names, or an object with settings of each tool`)
	}
	for tool, its := range settings {
		if isFalse(its) || isFalse(object(its)["enabled"]) || string(object(its)["disabled"]) == "true" {
			c.without = append(c.without, tool)
		}
	}
	slices.Sort(c.without)
	return nil
}

// target returns what an entry names, with its variables expanded. Off reports whether it is switched off, also if
// there is an error.
func (e entry) target(path string, client kind) (t Target, off bool, err error) {
	var w written
	t = Target{ID: idOf(e.name), File: path, Line: e.line}
	if err := json.Unmarshal(e.raw, &w); err != nil {
		return t, false, fmt.Errorf("cannot be read: %w", unmarshalling(err))
	}
	off = w.Disabled || w.Enabled != nil && !*w.Enabled
	t.Tools = w.filter()
	x := expander{dir: filepath.Dir(path), client: client}
	if client == gemini {
		x.env = sync.OnceValue(func() map[string]string { return geminiVariables(geminiFolder(path)) })
	}
	form, err := w.form()
	if err != nil {
		return t, off, err
	}
	if form.URL != "" {
		t.URL, t.SSE = x.value(form.URL), form.SSE
		t.Header = x.values(w.Headers, w.HTTPHeaders)
		for name, variable := range w.EnvHTTPHeaders {
			t.Header[name] = x.variable(variable, variable)
		}
		if w.BearerEnvVar != "" {
			t.Header["Authorization"] = "Bearer " + x.variable(w.BearerEnvVar, w.BearerEnvVar)
		}
		return t, off, errors.Join(x.fault, t.Check())
	}
	for _, word := range form.Command {
		t.Command = append(t.Command, x.text(word))
	}
	t.Env, t.Dir = x.values(w.Env, w.Environment, w.Command.env), x.text(w.Cwd)
	if w.EnvFile != "" {
		if err := addVariables(t.Env, x.path(x.text(w.EnvFile))); err != nil {
			return t, off, fmt.Errorf(`has an "envFile" that cannot be read: %w`, err)
		}
	}
	return t, off, errors.Join(x.fault, t.Check())
}

// A Form is how an entry of a client's file names its server: by an URL, or by a command with its arguments. Variables
// are as they were written.
type Form struct {
	URL     string
	SSE     bool // the URL speaks the transport of 2024-11-05
	Command []string
}

// FormOf returns the form of an entry, which is the JSON of one server. The error is what a sentence about the server goes
// on with, such as "has neither ...".
func FormOf(entry []byte) (Form, error) {
	var w written
	if err := json.Unmarshal(entry, &w); err != nil {
		return Form{}, fmt.Errorf("cannot be read: %w", unmarshalling(err))
	}
	return w.form()
}

// form returns how the server is named.
func (w *written) form() (Form, error) {
	f := Form{URL: cmp.Or(w.URL, w.ServerURL, w.HTTPURL)}
	kind := strings.ToLower(cmp.Or(w.Type, w.Transport))
	switch {
	case f.URL != "" && len(w.Command.list) > 0:
		return Form{}, errors.New("has both an URL and a command; which is it?")
	case f.URL != "":
		f.SSE = kind == "sse"
	case len(w.Command.list) > 0:
		f.Command = slices.Concat(w.Command.list, w.Args)
	case w.Source == "extension" || w.Settings != nil:
		return Form{}, errors.New("is started by an extension of the editor; name it here by its command or URL")
	default:
		return Form{}, errors.New(`has neither "command" nor "url"`)
	}
	switch kind {
	case "", "stdio", "local", "http", "https", "sse", "streamable", "streamable-http", "streamablehttp", "streamable_http", "remote":
		return f, nil
	}
	return Form{}, fmt.Errorf("speaks %.60q; this program speaks stdio, http and sse", kind)
}

// filter returns which tools the entry offers.
func (w *written) filter() Filter {
	var f Filter
	for _, only := range [][]string{w.IncludeTools, w.EnabledTools, w.Tools.only} {
		if only == nil {
			continue
		}
		names := []string{}
		for _, name := range only {
			name, _, _ = strings.Cut(name, "(") // Gemini's may have arguments
			names = append(names, name)
		}
		f.Only = append(names, f.Only...)
	}
	f.Without = slices.Concat(w.ExcludeTools, w.DisabledTools, w.WithoutTools, w.Tools.without)
	return f
}

// addVariables adds those of a file that the entry does not set itself.
func addVariables(to map[string]string, file string) error {
	text, err := read(file)
	if err != nil {
		return err
	}
	for name, value := range variables(string(text)) {
		if _, set := to[name]; !set {
			to[name] = value
		}
	}
	return nil
}

// geminiFolder is that of the client's own files.
func geminiFolder(path string) string {
	if abs, err := filepath.Abs(path); err == nil && filepath.Base(filepath.Dir(abs)) == ".qwen" {
		return ".qwen"
	}
	return ".gemini"
}

// unmarshalling names the member of the wrong type, without its value.
func unmarshalling(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is a %s", safetext.Line(cmp.Or(wrong.Field, "it")), wrong.Value)
	}
	return err
}
