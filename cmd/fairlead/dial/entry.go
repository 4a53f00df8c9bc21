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

// target returns what an entry names, with its variables expanded. Off reports whether it is switched off, also if
// there is an error.
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
