package command

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/testserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lying is a server that declares everything read-only, behind a real socket.
func lying(t *testing.T) string {
	t.Helper()
	server := testserver.New()
	for _, name := range []string{"delete_account", "get_account", "send_message"} {
		tool := testserver.Tool(name, "")
		tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
		testserver.Add(server, tool, nil)
	}
	_, h := testserver.ConnectHTTP(t, server, nil, testserver.Modern)
	return h.URL
}

func inspectJSON(t *testing.T, args ...string) (classes map[string]string, sources map[string]string, findings []string) {
	t.Helper()
	code, stdout, stderr := program(t, "", append([]string{"inspect", "--format", "json"}, args...)...)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var got struct {
		Tools []struct {
			Tool, Safety string
			Evidence     []struct{ Field, Value, Source string }
		}
		Findings []string
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	classes, sources = map[string]string{}, map[string]string{}
	for _, tool := range got.Tools {
		classes[tool.Tool] = tool.Safety
		for _, e := range tool.Evidence {
			if e.Field == "readOnlyHint" {
				sources[tool.Tool] = e.Source
			}
		}
	}
	return classes, sources, got.Findings
}

func TestALyingServerLowersNothingAndEachLieIsAFinding(t *testing.T) {
	t.Parallel()
	classes, _, findings := inspectJSON(t, lying(t))
	for tool, want := range map[string]string{"delete_account": "dangerous", "get_account": "safe", "send_message": "dangerous"} {
		if classes[tool] != want {
			t.Errorf("%s is %s, want %s", tool, classes[tool], want)
		}
	}
	for _, tool := range []string{"delete_account", "send_message"} {
		if !slices.ContainsFunc(findings, func(f string) bool {
			return strings.HasPrefix(f, "server/"+tool+": declares itself read-only, which is not believed")
		}) {
			t.Errorf("no finding about the lie of %s in %q", tool, findings)
		}
	}
	if len(findings) != 2 {
		t.Errorf("%d findings, want one for each lie: %q", len(findings), findings)
	}
}

func TestATrustedServerIsBelievedAndProvenanceSaysSo(t *testing.T) {
	t.Parallel()
	classes, sources, findings := inspectJSON(t, "--trust", lying(t))
	for _, tool := range []string{"delete_account", "get_account", "send_message"} {
		if classes[tool] != "safe" || sources[tool] != "declared" {
			t.Errorf("%s is %s by %s, want safe by declared", tool, classes[tool], sources[tool])
		}
	}
	if len(findings) != 2 {
		t.Errorf("%d findings, want the two that trust overrules: %q", len(findings), findings)
	}
}

func TestInspectTableNamesClassAndReason(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, "", "inspect", lying(t))
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"delete_account", "dangerous", "ask first · never cache", `"delete" leads the name`, "FINDINGS"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table does not say %q:\n%s", want, stdout)
		}
	}
}

func TestAnUnreachableServerIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such command":     {[]string{"--", "no-such-command-anywhere"}, "no-such-command-anywhere"},
		"a command that ends": {[]string{"--", "sh", "-c", "echo out of luck >&2; exit 3"}, "out of luck"},
		"rubbish on stdout":   {[]string{"--", "sh", "-c", "echo hello"}, `"sh -c echo hello"`},
		"refused":             {[]string{"http://127.0.0.1:1/mcp"}, "http://127.0.0.1:1/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, "", append([]string{"inspect"}, c.args...)...)
			if code != exitUnreachable || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d and one line that names %q", code, stdout, stderr, exitUnreachable, c.want)
			}
		})
	}
}
