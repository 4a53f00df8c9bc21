// Package deploy checks that the files for operators work: the image is built, and runs as they say.
package deploy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/verify/internal/repo"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// files returns the folder of what is deployed, see package repo.
func files(t *testing.T) string {
	t.Helper()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root + "/cmd/fairlead/deploy"
}

// manifest reads the example for Kubernetes strictly.
func manifest(t *testing.T) (config core.ConfigMap, deployment apps.Deployment, service core.Service) {
	t.Helper()
	text, err := os.ReadFile(files(t) + "/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "\n---\n")
	if len(parts) != 3 {
		t.Fatalf("the file has %d objects", len(parts))
	}
	for i, into := range []any{&config, &deployment, &service} {
		if err := yaml.UnmarshalStrict([]byte(parts[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	return config, deployment, service
}

func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, errs.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// image builds the image as the Containerfile says, and returns the folder with its files and its user.
func image(t *testing.T) (root, user string) {
	t.Helper()
	for _, program := range []string{"podman", "bwrap", "redis-server"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("SKIPPED: the image is not built, since there is no", program)
		}
	}
	if err := repo.DependsOnCode(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run(t, []string{"CGO_ENABLED=0"}, "go", "-C", "../../cmd/fairlead", "build", "-trimpath", "-o", dir+"/fairlead", ".")
	for _, name := range []string{files(t) + "/Containerfile", "/etc/ssl/certs/ca-certificates.crt"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	podman := func(args ...string) string {
		return run(t, nil, "podman", append([]string{"--root", dir + "/store", "--runroot", dir + "/run", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"}, args...)...)
	}
	podman("build", "--isolation", "chroot", "--tag", "fairlead", dir)
	user = podman("image", "inspect", "--format", "{{.Config.User}}", "fairlead")
	return podman("image", "mount", "fairlead"), user
}

// local replaces the addresses of the example by those of this test.
func local(t *testing.T, text string, addresses map[string]string) string {
	t.Helper()
	for from, to := range addresses {
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}

// The image runs the example for Kubernetes as a user without rights on a read-only file system: it is probed, lets in
// one user and not another, and at its end lets a write finish that the server has.
func TestImage(t *testing.T) {
	root, user := image(t)
	config, deployment, service := manifest(t)
	pod := deployment.Spec.Template.Spec
	main := pod.Containers[0]
	if service.Spec.Ports[0].TargetPort.String() != main.Ports[0].Name || !*pod.SecurityContext.RunAsNonRoot || !*main.SecurityContext.ReadOnlyRootFilesystem || user != "65532:65532" {
		t.Errorf("the example or the image is not as it says: user %s", user)
	}

	began, goOn := make(chan struct{}), make(chan struct{})
	upstream := mcptest.New()
	mcptest.Add(upstream, mcptest.Tool("list_notes", "Lists the notes."), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return mcptest.Text("a, b"), nil
	})
	mcptest.Add(upstream, mcptest.Tool("create_note", "Creates a note."), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		close(began)
		<-goOn
		return mcptest.Text("created"), nil
	})
	crm, _ := mcptest.HTTPTransport(t, upstream, mcptest.Legacy)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	issuer := httptest.NewServer(keys)
	t.Cleanup(issuer.Close)
	keys.SetIssuer(issuer.URL)

	addresses := map[string]string{
		"=:8808": "=127.0.0.1:0", "https://crm.example/mcp": crm.Endpoint, "redis://redis:6379/0": redistest.New(t).URL(),
		"https://login.example": issuer.URL, `["fairlead.example"]`: `["127.0.0.1"]`,
	}
	dir := t.TempDir()
	for name, text := range config.Data {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(local(t, text, addresses)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root+main.VolumeMounts[0].MountPath, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--ro-bind", root, "/", "--ro-bind", dir, main.VolumeMounts[0].MountPath, "--unshare-user", "--unshare-pid", "--die-with-parent", "--cap-drop", "ALL", "--clearenv",
		"--uid", strings.Split(user, ":")[0], "--gid", strings.Split(user, ":")[1], "--setenv", main.Env[0].Name, strings.Repeat("ab", 32), "/fairlead",
	}
	for _, arg := range main.Args {
		args = append(args, local(t, arg, addresses))
	}
	proxy := exec.CommandContext(t.Context(), "bwrap", args...)
	said, errs := io.Pipe()
	proxy.Stderr = errs
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- proxy.Wait()
		_ = errs.Close()
	}()
	address := make(chan string, 1)
	go func() {
		var all bytes.Buffer
		for part := make([]byte, 4096); ; {
			n, err := said.Read(part)
			all.Write(part[:n])
			if found := regexp.MustCompile(`serving MCP at (\S+)/mcp\n`).FindSubmatch(all.Bytes()); found != nil && len(address) == 0 {
				address <- string(found[1])
			}
			if err != nil {
				fmt.Fprintf(t.Output(), "%s", all.Bytes())
				return
			}
		}
	}()
	var at string
	select {
	case at = <-address:
	case err := <-ended:
		t.Fatal("it ended: ", err)
	case <-time.After(time.Minute):
		t.Fatal("it does not serve")
	}
	for path, want := range map[string]int{main.LivenessProbe.HTTPGet.Path: 200, main.ReadinessProbe.HTTPGet.Path: 200, "/mcp": 401} {
		res, err := http.Get(at + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: got %s", path, res.Status)
		}
	}
	token := oidctest.SignIDToken(key, "k", oidc.ES256, fmt.Sprintf(`{"iss":%q,"aud":"https://fairlead.example/mcp","sub":"1","email":"bob@example.com","email_verified":true,"scope":"crm.*","exp":%d}`, issuer.URL, time.Now().Add(time.Hour).Unix()))
	cs := mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: at + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}}, mcptest.Legacy)
	tools, err := cs.ListTools(mcptest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "list_notes" }) {
		t.Errorf("the tools: %v", tools.Tools)
	}
	written := make(chan string, 1)
	go func() {
		res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "create_note"})
		if err != nil {
			written <- err.Error()
			return
		}
		written <- res.Content[0].(*mcp.TextContent).Text
	}()
	mcptest.Wait(t, "the write at the server", began)
	// The first process in the image is the program, whose parent is bwrap.
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", proxy.Process.Pid, proxy.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for child := range strings.FieldsSeq(string(children)) {
		of, _ := os.ReadFile("/proc/" + child + "/task/" + child + "/children")
		var pid int
		if _, err := fmt.Sscan(string(of), &pid); err == nil {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Signal(syscall.SIGTERM)
			}
		}
	}
	for end := time.Now().Add(time.Minute); ; { // until it is not ready any more
		c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		if err != nil {
			break
		}
		_ = c.Close()
		res, err := http.Get(at + "/readyz")
		if err != nil {
			break
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it takes calls after SIGTERM")
		}
	}
	close(goOn)
	if got := mcptest.Wait(t, "the write", written); got != "created" {
		t.Errorf("the write that the server had: %s", got)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error("its end:", err)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
