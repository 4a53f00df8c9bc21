package command_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A proxy that is killed while a question is open leaves nothing behind that is executed or
// approved but what a person has decided: the same call, made again of the next one, is a question of its own, which
// fairlead approve finds.
func TestApproveAfterAKill(t *testing.T) {
	t.Parallel()
	program := programtest.Path(t)
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("kept %t", kept), func(t *testing.T) {
			t.Parallel()
			approveAfterAKill(t, program, kept)
		})
	}
	for _, trimmed := range []string{"proxy", "approve"} {
		// Before the others, which would find its page: that of one is in /run/user.
		t.Run("without XDG_RUNTIME_DIR at "+trimmed, func(t *testing.T) {
			approveFromAnotherEnvironment(t, program, trimmed)
		})
	}
	for _, kind := range []string{"a folder", "Redis"} {
		t.Run("decided, "+kind, func(t *testing.T) {
			t.Parallel()
			store := filepath.Join(t.TempDir(), "store")
			if kind == "Redis" {
				store = redistest.New(t).URL()
			}
			decidedBeforeAKill(t, program, store)
		})
	}
}

// A call ends as waiting, a person approves it on the page, and the proxy is killed. Of the
// identical calls of two other proxies with the store, one is made without a question, and the other one is not made.
func decidedBeforeAKill(t *testing.T, program, store string) {
	t.Helper()
	exe, key := mcptest.Child(t, "lying")
	env := append(os.Environ(), key, "XDG_RUNTIME_DIR="+t.TempDir())
	record := filepath.Join(t.TempDir(), "calls")
	policy := file(t, "policy.json", `{"approvals": {"patience": "1s"}}`)
	call := func(client *mcp.ClientSession) string {
		res, err := client.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_account", Arguments: map[string]any{"id": 7}})
		if err != nil {
			t.Error(err)
			return ""
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	start := func() (client *mcp.ClientSession, kill func() error, links <-chan string) {
		cmd := exec.CommandContext(t.Context(), program, "proxy", "--policy", policy, "--store", store, "--store-can-approve", "--approve", "web", "--reach", "none", "--audit", record, "--", exe)
		cmd.Env = env
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		found := make(chan string, 10)
		go func() {
			for lines := bufio.NewScanner(said); lines.Scan(); {
				if _, link, ok := strings.Cut(lines.Text(), "waits for approval at "); ok {
					found <- strings.Fields(link)[0]
				}
			}
		}()
		client = mcptest.Dial(t, nil, &mcp.CommandTransport{Command: cmd}, mcptest.Legacy)
		return client, func() error { return cmd.Process.Kill() }, found
	}
	list := func() string {
		cmd := exec.CommandContext(t.Context(), program, "approvals", "list", "--store", store, "--store-can-approve", "--", exe)
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	const waits = "was not called yet: it waits for the user's approval on the approvals page"
	first, kill, links := start()
	if got := call(first); !strings.Contains(got, waits) {
		t.Fatalf("got %s", got)
	}
	decide(t, mcptest.Wait(t, "the link", links))
	listed := list()
	for end := time.Now().Add(time.Minute); listed == "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		listed = list() // the page answers before the decision is in the store
	}
	if !strings.Contains(listed, "/delete_account with exactly the arguments that were shown, for one call") {
		t.Fatalf("the store has %q", listed)
	}
	if err := kill(); err != nil {
		t.Fatal(err)
	}
	second, _, _ := start()
	third, _, _ := start() // before a call of the other, which would be in doubt for it
	told := make(chan string, 2)
	for _, client := range []*mcp.ClientSession{second, third} {
		go func() { told <- call(client) }()
	}
	both := []string{mcptest.Wait(t, "an answer", told), mcptest.Wait(t, "an answer", told)}
	slices.SortFunc(both, func(a, b string) int { return len(a) - len(b) })
	// With Redis the other call may come while the first is under way at its proxy: it is in doubt until that has ended.
	const held = "an earlier call with the same effect, "
	if !strings.HasPrefix(both[0], "done") || !strings.Contains(both[1], waits) && !strings.Contains(both[1], held) {
		t.Errorf("the two calls got %q, want one that is made and one that waits or is held", both)
	}
	if got := list(); got != "" {
		t.Errorf("the store has %q", got)
	}
	text, err := os.ReadFile(record)
	if made := strings.Count(string(text), `"kind":"intent"`); err != nil || made != 1 || !strings.Contains(string(text), "earlier, while no call waited") {
		t.Errorf("%d calls were made, %v:\n%s", made, err, text)
	}
}

func approveAfterAKill(t *testing.T, program string, kept bool) {
	t.Helper()
	dir, store := t.TempDir(), filepath.Join(t.TempDir(), "store")
	runtime, err := os.MkdirTemp("", "run") //nolint:usetesting // the name of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) })
	browser := "#!/bin/sh\nprintf '%s' \"$1\" > " + dir + "/opened\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(browser), 0o700); err != nil {
		t.Fatal(err)
	}
	exe, key := mcptest.Child(t, "lying")
	env := append(os.Environ(), key, "XDG_RUNTIME_DIR="+runtime, "PATH="+dir+":"+os.Getenv("PATH"))
	approve := func() string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, "approve")
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	intents := func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "calls"))
		return strings.Count(string(text), `"kind":"intent"`)
	}
	if got := approve(); got != "no call waits on an approvals page\n" {
		t.Errorf("without a proxy: %s", got)
	}
	for _, killed := range []bool{true, false} {
		args := []string{"proxy", "--approve", "web", "--reach", "none", "--audit", filepath.Join(dir, "calls"), "--", exe}
		if kept {
			args = slices.Insert(args, 1, "--store", store)
		}
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = env
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		client := mcptest.Dial(t, nil, &mcp.CommandTransport{Command: cmd}, mcptest.Legacy)
		told := make(chan string, 1)
		go func() {
			res, err := client.CallTool(context.Background(), &mcp.CallToolParams{Name: "delete_account", Arguments: map[string]any{"id": 7}})
			if err != nil {
				told <- err.Error()
				return
			}
			told <- res.Content[0].(*mcp.TextContent).Text
		}()
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if strings.Contains(lines.Text(), "waits for approval at ") {
				break
			}
		}
		if got := intents(); got != 0 {
			t.Errorf("%d calls were made without an approval", got)
		}
		if killed {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-told
			continue
		}
		listed := approve()
		for end := time.Now().Add(time.Minute); !strings.Contains(listed, "delete_account") && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			listed = approve() // the line with the link is written before the question stands on the page
		}
		link, err := os.ReadFile(filepath.Join(dir, "opened"))
		if err != nil || !strings.HasPrefix(listed, `command.test/delete_account {"id":7}, until `) || strings.Contains(listed, "token") {
			t.Fatalf("%v: %s", err, listed)
		}
		if left, _ := filepath.Glob(runtime + "/fairlead/*.sock"); len(left) != 1 {
			t.Errorf("there are %v, want the socket of the one that lives", left)
		}
		decide(t, string(link))
		if got := <-told; !strings.HasPrefix(got, "done") || intents() != 1 {
			t.Errorf("%d calls were made: %s", intents(), got)
		}
		if !kept {
			continue
		}
		files, _ := filepath.Glob(store + "/approvals-*.jsonl")
		record, err := os.ReadFile(files[0])
		for change, want := range map[string]int{`"op":"asked"`: 2, `"to":"void","by":"restart"`: 1, `"to":"approved"`: 1, `"to":"spent"`: 1, `"to":"done"`: 1} {
			if got := strings.Count(string(record), change); got != want || err != nil {
				t.Errorf("%s is in the store %d times, want %d:\n%s", change, got, want, record)
			}
		}
	}
}

// A client starts the proxy with few variables, and the person runs fairlead approve in a session that has others.
func approveFromAnotherEnvironment(t *testing.T, program, trimmed string) {
	t.Helper()
	if trimmed == "approve" && runtime.GOOS != "linux" {
		t.Skip("SKIPPED: there is no /run/user here")
	}
	home, err := os.MkdirTemp("", "home") //nolint:usetesting // the name of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	exe, key := mcptest.Child(t, "lying")
	few := []string{key, "HOME=" + home, "PATH=" + os.Getenv("PATH")}
	many := append(slices.Clone(few), "XDG_RUNTIME_DIR="+filepath.Join(home, "run"), "XDG_CACHE_HOME="+filepath.Join(home, "elsewhere"))
	envs := map[string][]string{"proxy": many, "approve": many}
	envs[trimmed] = few
	if trimmed == "approve" { // the session's folder is found by the user's number
		me := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
		if os.MkdirAll(me, 0o700) != nil {
			t.Skip("SKIPPED: " + me + " is not there and cannot be made")
		}
		envs["proxy"] = append(slices.Clone(few), "XDG_RUNTIME_DIR="+me)
	}
	cmd := exec.CommandContext(t.Context(), program, "proxy", "--approve", "web", "--reach", "none", "--", exe)
	cmd.Env = envs["proxy"]
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	client := mcptest.Dial(t, nil, &mcp.CommandTransport{Command: cmd}, mcptest.Legacy)
	go func() {
		_, _ = client.CallTool(context.Background(), &mcp.CallToolParams{Name: "delete_account", Arguments: map[string]any{"id": 4711}})
	}()
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if strings.Contains(lines.Text(), "waits for approval at ") {
			break
		}
	}
	var listed []byte
	for end := time.Now().Add(time.Minute); !strings.Contains(string(listed), "4711") && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		approve := exec.CommandContext(t.Context(), program, "approve")
		approve.Env = envs["approve"]
		listed, _ = approve.CombinedOutput() // without a browser and a terminal it fails once it has listed the call
	}
	if !strings.Contains(string(listed), `delete_account {"id":4711}`) {
		t.Errorf("the call that waits is not found: %s", listed)
	}
}
