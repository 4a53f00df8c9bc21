package preflight_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
)

var below = preflight.Paths{Folder: "/srv/app", Home: "/home/me", Read: []string{"~/notes"}, Write: []string{"scratch"}}

func withPaths(p preflight.Paths) preflight.Options {
	return preflight.Options{Paths: func(tool *middleware.Tool) *preflight.Paths {
		if tool.Server != "files" {
			return nil
		}
		return &p
	}}
}

// The class of a call follows from where the files are that it names.
func TestPaths(t *testing.T) {
	t.Parallel()
	posix := command
	posix.Language = "posix-shell"
	run, reads, adds, deletes := worst(dangerous, posix), worst(safe), worst(moderate), worst(dangerous)
	for _, tt := range []struct {
		name      string
		tool      annotation.Annotations
		arguments string
		want      annotation.Safety
	}{
		{"a read inside", run, `{"command":"cat main.go"}`, safe},
		{"a read outside", run, `{"command":"cat /etc/passwd"}`, dangerous},
		{"a write inside", run, `{"command":"echo x > scratch/a"}`, moderate},
		{"a write outside", run, `{"command":"echo x > a"}`, dangerous},
		{"another folder", run, `{"command":"cat ../main.go","cwd":"src"}`, safe},
		{"another folder that is left", run, `{"command":"cat ../../main.go","cwd":"src"}`, dangerous},
		{"another folder outside", run, `{"command":"ls","workingDirectory":"/etc"}`, dangerous},
		{"a folder to write in", run, `{"command":"echo x > a","cwd":"/srv/app/scratch/sub"}`, moderate},
		{"a folder outside, and no path", run, `{"command":"echo hi","cwd":"/srv/other"}`, dangerous},
		{"a folder that is no text", run, `{"command":"ls","cwd":["/etc"]}`, dangerous},
		{"two folders", run, `{"command":"ls","cwd":"src","dir":"src"}`, dangerous},

		{"a file inside", reads, `{"path":"main.go"}`, safe},
		{"a file outside", reads, `{"path":"/etc/passwd"}`, dangerous},
		{"a file that is left for", reads, `{"path":"src/../../x"}`, dangerous},
		{"a file at home", reads, `{"path":"~/notes/x"}`, safe},
		{"a secret inside", reads, `{"path":"/srv/app/.env"}`, dangerous},
		{"a key", reads, `{"file_path":"deploy/server.pem"}`, dangerous},
		{"the profile of a browser", reads, `{"path":"/srv/app/.config/google-chrome/Default/Cookies"}`, dangerous},
		{"a list of files", reads, `{"paths":["main.go","go.mod"]}`, safe},
		{"a list with one outside", reads, `{"paths":["main.go","../x"]}`, dangerous},
		{"a file in an object", reads, `{"options":{"sourceFile":"/etc/passwd"}}`, dangerous},
		{"a URL of a file", reads, `{"uri":"file:///etc/passwd"}`, dangerous},
		{"a URL of a file inside", reads, `{"uri":"file:///srv/app/main.go"}`, safe},
		{"a URL of a file in disguise", reads, `{"uri":"file:///srv/app/%2e%2e/%2e%2e/etc/passwd"}`, dangerous},
		{"a URL of a page", reads, `{"url":"https://example.com/etc/passwd"}`, safe},
		{"a text that is no path", reads, `{"query":"/etc/passwd"}`, safe},
		{"a variable", reads, `{"path":"$HOME/x"}`, dangerous},
		{"a path of Windows", reads, `{"path":"C:\\Users\\me"}`, dangerous},
		{"no file", reads, `{}`, safe},

		{"an addition inside", adds, `{"path":"scratch/a"}`, moderate},
		{"an addition outside", adds, `{"path":"main.go"}`, dangerous},
		{"what is dangerous stays so", deletes, `{"path":"scratch/a"}`, dangerous},
	} {
		o := judged(t.Context(), preflight.New(withPaths(below)), middleware.Call{Tool: act(t, tt.tool, false), Arguments: json.RawMessage(tt.arguments)})
		o.check(t, tt.name+" "+tt.arguments, tt.want)
	}
	o := judged(t.Context(), preflight.New(withPaths(preflight.Paths{Folder: "relative"})), middleware.Call{Tool: act(t, reads, false), Arguments: json.RawMessage(`{}`)})
	o.check(t, "paths that are wrong", dangerous)
	o = judged(t.Context(), preflight.New(preflight.Options{Paths: func(*middleware.Tool) *preflight.Paths { return nil }}),
		middleware.Call{Tool: act(t, reads, false), Arguments: json.RawMessage(`{"path":"/etc/passwd"}`)})
	o.check(t, "no paths for the tool", safe)
}

// A probe of the host's judges its texts alone.
func TestPathsWithAProbeOfTheHost(t *testing.T) {
	t.Parallel()
	o := withPaths(below)
	o.Texts = map[string]preflight.Probe{"shell": func(string) preflight.Verdict { return preflight.Verdict{Why: "no"} }}
	judged(t.Context(), preflight.New(o), middleware.Call{Tool: act(t, worst(dangerous, command), false), Arguments: json.RawMessage(`{"command":"ls"}`)}).
		check(t, "a probe of the host's", dangerous)
}

// A host lets the writes of a named tool pass below its scratch folder.
func TestRulesOfPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		rule      preflight.Rule
		arguments string
		want      annotation.Safety
	}{
		{"a write inside", below.Writes("path"), `{"path":"scratch/a"}`, moderate},
		{"a write outside", below.Writes("path"), `{"path":"a"}`, dangerous},
		{"a write of a hook", below.Writes("path"), `{"path":"scratch/.git/hooks/pre-commit"}`, dangerous},
		{"a write of many", below.Writes("paths"), `{"paths":["scratch/a","b"]}`, dangerous},
		{"a move", below.Writes("source", "destination"), `{"source":"scratch/a","destination":"scratch/b"}`, moderate},
		{"a move from outside", below.Writes("source", "destination"), `{"source":"a","destination":"scratch/b"}`, dangerous},
		{"another case", below.Writes("path"), `{"Path":"scratch/a"}`, dangerous},
		{"another type", below.Writes("path"), `{"path":1}`, dangerous},
		{"a read inside", below.Reads("path"), `{"path":"a"}`, safe},
		{"a read outside", below.Reads("path"), `{"path":"/a"}`, dangerous},
		{"a read of a secret", below.Reads("path"), `{"path":"id_ed25519"}`, dangerous},
		{"nothing is named", below.Reads("path"), `{}`, dangerous}, // as the tool
	} {
		j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": tt.rule}})
		judged(t.Context(), j, middleware.Call{Tool: act(t, worst(dangerous), false), Arguments: json.RawMessage(tt.arguments)}).check(t, tt.name, tt.want)
	}
}

// On this machine a link counts as what it leads to.
func TestLocalPaths(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root := filepath.Join(base, "root")
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "outside"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "outside"), filepath.Join(root, "link")); err != nil {
		t.Skipf("SKIPPED: no links: %v", err)
	}
	if err := os.Symlink(filepath.Join(root, ".env"), filepath.Join(root, "settings")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".env"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, local := range []bool{true, false} {
		p := preflight.Paths{Folder: root, Read: []string{"."}, Local: local}
		for text, want := range map[string]bool{"cat link": local, "cat settings": local, "cat file": false, "cat ../outside": true} {
			v := p.Shell(text)
			if asks := v.Annotations.Safety() != safe; asks != want {
				t.Errorf("local %v: %s asks: %v (%s), want %v", local, text, asks, v.Why, want)
			}
		}
	}
}

func TestPathsThatAreWrong(t *testing.T) {
	t.Parallel()
	wrong := preflight.Paths{Folder: "app"}
	if err := wrong.Check(); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("a relative folder: %v", err)
	}
	if v := wrong.Shell("ls"); v.Annotations.Safety() != dangerous {
		t.Errorf("a probe with paths that are wrong: %v", v)
	}
	defer func() {
		if recover() == nil {
			t.Error("a rule with paths that are wrong does not panic")
		}
	}()
	wrong.Reads("path")
}
