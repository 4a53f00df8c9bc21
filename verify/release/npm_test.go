package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain is also the MCP server that the installed program inspects.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		server := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "delete_customer", InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// withProgram returns the release of .ci/release, or one whose program for this platform is built from the checkout.
func withProgram(t *testing.T) release {
	t.Helper()
	if os.Getenv("FAIRLEAD_RELEASE") != "" {
		return published(t)
	}
	root, err := repo.Root()
	if err := errors.Join(err, repo.DependsOnCode()); err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	p := platform{runtime.GOOS, runtime.GOARCH}
	run(t, root+"/cmd/fairlead", append(os.Environ(), "CGO_ENABLED=0"),
		"go", "build", "-ldflags=-s -w", "-o", filepath.Join(programs, p.os+"_"+p.arch)+"/", ".", "./fairlead-hook")
	return standIn(t, programs)
}

func run(t *testing.T, dir string, env []string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// A registry is one of npm with the packages of a release. It counts the downloads of each.
type registry struct {
	t    *testing.T
	of   release
	mu   sync.Mutex
	sent []string
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if name, ok := strings.CutPrefix(req.URL.Path, "/tarballs/"); ok {
		r.mu.Lock()
		r.sent = append(r.sent, name)
		r.mu.Unlock()
		http.ServeFile(w, req, filepath.Join(r.of.out, filepath.Base(name)))
		return
	}
	name := strings.TrimPrefix(req.URL.Path, "/")
	archive, err := os.ReadFile(filepath.Join(r.of.out, r.of.npmFile(name)))
	if err != nil {
		http.NotFound(w, req)
		return
	}
	about := packageJSON(r.t, archive)
	sum := sha512.Sum512(archive)
	about["dist"] = map[string]string{
		"tarball":   "http://" + req.Host + "/tarballs/" + r.of.npmFile(name),
		"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
	}
	answer := map[string]any{"name": name, "dist-tags": map[string]string{"latest": r.of.version}, "versions": map[string]any{r.of.version: about}}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		r.t.Error(err)
	}
}

func packageJSON(t *testing.T, archive []byte) map[string]any {
	t.Helper()
	var about map[string]any
	for _, f := range unpacked(t, "", archive) {
		if f.name == "package/package.json" {
			if err := json.Unmarshal(f.content, &about); err != nil {
				t.Fatal(err)
			}
		}
	}
	return about
}

// installed installs the package of npm from its file into an empty folder, as a person without Go.
func installed(t *testing.T, r release) (dir string, env []string, sent []string) {
	t.Helper()
	for _, name := range []string{"node", "npm", "npx"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: there is no %s: the package of npm is not installed and not run; .ci/nightly --install installs it", name)
		}
	}
	packages := &registry{t: t, of: r}
	server := httptest.NewServer(packages)
	t.Cleanup(server.Close)
	dir, home := t.TempDir(), t.TempDir()
	env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "npm_config_registry=" + server.URL, "npm_config_update_notifier=false"}
	run(t, dir, env, "npm", "install", "--no-audit", "--no-fund", filepath.Join(r.out, r.npmFile(npmName)))
	packages.mu.Lock()
	defer packages.mu.Unlock()
	return dir, env, packages.sent
}

// The package of npm, installed into an empty folder, inspects a server by npx. Only the program for this platform is
// downloaded.
func TestInstalledByNpm(t *testing.T) {
	t.Parallel()
	r := withProgram(t)
	dir, env, sent := installed(t, r)
	t.Run("ended by a signal", func(t *testing.T) { endsBySignal(t, dir, env) })
	if want := r.npmFile(platform{runtime.GOOS, runtime.GOARCH}.npmName()); len(sent) != 1 || sent[0] != want {
		t.Errorf("npm downloaded %q, want only %s", sent, want)
	}
	out := run(t, dir, env, "npx", "fairlead", "inspect", "--fail-on", "none", "--", os.Args[0], "serve")
	if !strings.Contains(out, "delete_customer") || !strings.Contains(out, "1 tool: 1 dangerous") {
		t.Errorf("want the tool of the server as dangerous, got:\n%s", out)
	}
	if version := run(t, dir, env, "npx", "fairlead", "--version"); os.Getenv("FAIRLEAD_RELEASE") != "" && !strings.Contains(version, "v"+r.version+" ") {
		t.Errorf("the version is %q, want v%s", version, r.version)
	}
	faults(t, dir, env)
}

// The exit code is the program's, and a package that npm left out is named.
func faults(t *testing.T, dir string, env []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "npx", "fairlead", "inspect", "--no-such-flag")
	cmd.Dir, cmd.Env = dir, env
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("a mistake in the command line: %v, want exit status 2", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "node_modules", filepath.FromSlash(platform{runtime.GOOS, runtime.GOARCH}.npmName()))); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), "npx", "fairlead", "--version")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); !errors.As(err, &exit) || !strings.Contains(string(out), "without --omit=optional") {
		t.Errorf("without the program: %v, want the next step:\n%s", err, out)
	}
}

// Clients stop a server by a signal to the process that they started. The proxy and the server behind it end with it.
func endsBySignal(t *testing.T, dir string, env []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "fairlead"), "proxy", "--approve", "deny", "--", os.Args[0], "serve")
	cmd.Dir, cmd.Env = dir, env
	var logged bytes.Buffer
	cmd.Stderr = &logged
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(3*time.Minute, func() { _ = errors.Join(stdin.Close(), stdout.Close(), cmd.Process.Kill()) })
	lines := bufio.NewReader(stdout)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	answer, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no answer: %v\n%s", err, logged.String())
	}
	if !strings.Contains(answer, "protocolVersion") {
		t.Errorf("the answer to initialize is %s", answer)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil { // it ends when no process has the output
		t.Error(err)
	}
	_ = cmd.Wait() // it returns when no process has the standard error, which is also the server's
	if !stop.Stop() {
		t.Error("the proxy or the server went on after SIGTERM to the launcher")
	}
}
