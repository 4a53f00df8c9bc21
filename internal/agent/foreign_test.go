package agent_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheMemoryServerAsAProcess plays a script against the SDK's own example
// server: what is safe is remembered until something is written, and a delete is
// asked about.
func TestTheMemoryServerAsAProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the server")
	}
	server := filepath.Join(t.TempDir(), "memory")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", server, "github.com/modelcontextprotocol/go-sdk/examples/server/memory")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("the server cannot be built here: %v\n%s", err, out)
	}
	path := script(t, `[
		{"tool": "create_entities", "arguments": {"entities": [{"name": "Ada", "entityType": "person", "observations": ["helm"]}]}},
		{"tool": "read_graph"},
		{"tool": "read_graph"},
		{"tool": "delete_entities", "arguments": {"entityNames": ["Ada"]}},
		{"tool": "read_graph"},
		{"tool": "read_graph"}
	]`)
	for _, c := range []struct{ yes, want string }{
		{"none", "server done; server done; memory done; nowhere denied; memory done; memory done"},
		{"safe", "server done; server done; memory done; nowhere denied; memory done; memory done"},
		{"all", "server done; server done; memory done; server done; server done; memory done"},
	} {
		r := playReal(t, nil, "--server", server, "--script", path, "--yes", c.yes, "--json")
		var got []string
		for _, e := range r.events(t) {
			if e["event"] == "call" {
				got = append(got, fmt.Sprint(e["from"], " ", e["state"]))
			}
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("--yes %s gives %q, want %q\n%s", c.yes, strings.Join(got, "; "), c.want, r.err)
		}
	}
}
