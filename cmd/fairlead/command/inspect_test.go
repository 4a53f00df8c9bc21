package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/google/go-cmp/cmp"
)

// lying is a server that declares everything read-only, behind a real socket.
func lying(t *testing.T) string {
	t.Helper()
	_, h := mcptest.ConnectHTTP(t, lies(), nil, mcptest.Modern)
	return h.URL
}

// named names the server of a URL "server", in one word.
func named(url string) string { return "--server=server=" + url }

// inspected is what inspect says as JSON, of servers with findings.
type inspected struct {
	Servers []struct{ ID, Error string }
	Tools   []struct {
		Server, Tool, Safety string
		Evidence             []struct{ Field, Value, Source string }
	}
	Findings []finding
}

type finding struct {
	Level, Rule, Server, Tool, Text string
	Known                           bool
}

func inspectJSON(t *testing.T, code int, args ...string) (r inspected) {
	t.Helper()
	got, stdout, stderr := program(t, "", append([]string{"inspect", "--json"}, args...)...)
	if got != code {
		t.Fatalf("exit %d, want %d: %s", got, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// safety returns the class of each tool, and who says whether it only reads.
func (r inspected) safety() (classes, sources map[string]string) {
	classes, sources = map[string]string{}, map[string]string{}
	for _, tool := range r.Tools {
		classes[tool.Tool] = tool.Safety
		for _, e := range tool.Evidence {
			if e.Field == "readOnlyHint" {
				sources[tool.Tool] = e.Source
			}
		}
	}
	return classes, sources
}

func TestFalseDeclarationsLowerNothingAndAreFindings(t *testing.T) {
	t.Parallel()
	r := inspectJSON(t, exitFindings, lying(t))
	classes, _ := r.safety()
	for tool, want := range map[string]string{"delete_account": "dangerous", "get_account": "safe", "send_message": "dangerous"} {
		if classes[tool] != want {
			t.Errorf("%s is %s, want %s", tool, classes[tool], want)
		}
	}
	var lies []string
	for _, f := range r.Findings {
		if !strings.HasPrefix(f.Text, "declares itself read-only, which does not count") {
			t.Errorf("a finding of another kind: %+v", f)
		}
		lies = append(lies, f.Level+" "+f.Rule+" "+f.Tool)
	}
	if diff := cmp.Diff([]string{"error doubted delete_account", "warning doubted-write send_message"}, lies); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTrustedServersHintsCountAndAreAttributed(t *testing.T) {
	t.Parallel()
	r := inspectJSON(t, exitFindings, "--trust", lying(t))
	classes, sources := r.safety()
	for _, tool := range []string{"delete_account", "get_account", "send_message"} {
		if classes[tool] != "safe" || sources[tool] != "declared" {
			t.Errorf("%s is %s by %s, want safe by declared", tool, classes[tool], sources[tool])
		}
	}
	if len(r.Findings) != 2 {
		t.Errorf("%d findings, want the two that trust overrules: %+v", len(r.Findings), r.Findings)
	}
}

func TestInspectTableNamesClassAndReason(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, "", "inspect", lying(t))
	if code != exitFindings {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"delete_account", "dangerous", "ask first · never cache", `"delete" leads the name`, "FINDINGS", "error", "[doubted]"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table does not say %q:\n%s", want, stdout)
		}
	}
}

func TestInspectOfASavedList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	save := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	notes := save("notes.json", `{"jsonrpc":"2.0","id":1,"result":{"tools":[
	  {"name":"delete_note","inputSchema":{"type":"object"}},
	  {"name":"get_note","inputSchema":{"type":"object","properties":{"filename":{"type":"string","description":"Where to save it."}}}}]}}`)
	lamps := save("lamps.jsonl", `{"name":"list_lamps","inputSchema":{"type":"object"}}`+"\n")
	r := inspectJSON(t, exitOK, "--tools", notes, "--tools", lamps)
	var got []string
	for _, tool := range r.Tools {
		got = append(got, tool.Server+"/"+tool.Tool)
	}
	if diff := cmp.Diff([]string{"lamps/list_lamps", "notes/delete_note", "notes/get_note"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, table, _ := program(t, "", "inspect", "--tools", notes)
	for _, want := range []string{"by arguments", "if filename is given"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"and a server": {[]string{"--tools", notes, "http://127.0.0.1:1"}, "in place of servers"},
		"no file":      {[]string{"--tools", filepath.Join(dir, "none")}, "no such file"},
		"no tools":     {[]string{"--tools", save("empty.json", "")}, "there are no tools in it"},
		"no JSON":      {[]string{"--tools", save("bad.json", "hello")}, "line 1: not a JSON object"},
		"no name":      {[]string{"--tools", save("a b.json", "{}")}, "cannot be a server's name"},
	} {
		if code, _, stderr := program(t, "", append([]string{"inspect"}, c.args...)...); code == exitOK || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %q does not say %q", name, code, stderr, c.want)
		}
	}
}
