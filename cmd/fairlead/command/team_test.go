package command

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The commands and the file of the page for a team run as they are printed, but for the addresses.
func TestTeamPageRunsAsPrinted(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/howto/run-for-a-team.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		_, rest, _ := strings.Cut(string(page), "```"+language+"\n")
		text, _, ok := strings.Cut(rest, "```")
		if !ok {
			t.Fatalf("the page has no block of %s", language)
		}
		return text
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	issuer := httptest.NewServer(keys)
	t.Cleanup(issuer.Close)
	keys.SetIssuer(issuer.URL)
	server := mcptest.New()
	mcptest.Add(server, mcptest.Tool("list_notes", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text("a"), nil })
	crm, _ := mcptest.HTTPTransport(t, server, mcptest.Legacy)
	here := strings.NewReplacer(":8808", "127.0.0.1:0", "redis://redis:6379/0", redistest.New(t).URL(), "https://crm.example/mcp", crm.Endpoint,
		"https://login.example", issuer.URL, `["fairlead.example"]`, `["127.0.0.1"]`)
	dir, program := t.TempDir(), programtest.Path(t)
	if err := os.WriteFile(filepath.Join(dir, "access.json"), []byte(here.Replace(block("json"))), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.Replace(here.Replace(block("sh")), "\nfairlead ", "\nexec fairlead ", 1))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "FAIRLEAD_STORE_KEY=")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	url := ""
	for lines := bufio.NewScanner(said); url == "" && lines.Scan(); {
		t.Log(lines.Text())
		_, url, _ = strings.Cut(lines.Text(), "serving MCP at ")
	}
	if url == "" {
		t.Fatal("it does not serve")
	}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/mcp": http.StatusUnauthorized} {
		res, err := http.Get(strings.TrimSuffix(url, "/mcp") + path)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != want {
			t.Errorf("%s: got %s", path, res.Status)
		}
	}
}
