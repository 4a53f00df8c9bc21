package proxy_test

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/mcptest"
)

// kills is how often each of the three is killed.
var kills = flag.Int("kills", 5, "how often server, client and proxy are each killed in the middle of a dangerous call")

// Whoever is killed in the middle of a dangerous call, with a signal that nobody can
// handle: the server never acts twice, and the record never lacks the call.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	program := build(t)
	for _, victim := range []string{"server", "client", "proxy"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			unknown, ended := 0, 0
			for i := range *kills {
				u, e := killOnce(t, program, victim, i)
				unknown, ended = unknown+u, ended+e
			}
			t.Logf("%s killed %d times: acted once each time, recorded each time (%d with an unknown outcome, %d with another end)", victim, *kills, unknown, ended)
		})
	}
}

// build makes the program once.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "fairlead")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/fairlead-go/fairlead/cmd/fairlead")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// killOnce makes a call that deletes, kills the victim while the server is at it, and
// looks at what the server did and what was recorded.
func killOnce(t *testing.T, program, victim string, i int) (unknown, ended int) {
	t.Helper()
	dir, err := os.MkdirTemp("", "killed") //nolint:usetesting // t.TempDir fails where the server of a proxy that was killed writes on
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ledger, record, rules := dir+"/ledger", dir+"/calls.jsonl", dir+"/policy.json"
	if err := os.WriteFile(rules, []byte(`{"rules": [{"tool": "server/delete_slowly", "decide": "allow"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, key := mcptest.Child(t, "things")
	arguments := []string{"proxy", "--name", "server", "--policy", rules, "--audit", record, "--", exe}
	// The client is a shell that holds the proxy's ends, so that it can be killed too.
	client := exec.CommandContext(t.Context(), "sh", "-c", `echo $$ > "$1/client"; exec 3<"$1/in"; exec cat <&3`, "client", dir)
	proxy := exec.CommandContext(t.Context(), program, arguments...)
	proxy.Env = append(os.Environ(), key, ledgerKey+"="+ledger, pidKey+"="+dir+"/server")
	if out, err := exec.CommandContext(t.Context(), "mkfifo", dir+"/in").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: there are no named pipes: %v %s", err, out)
	}
	log, err := os.Create(dir + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	proxy.Stderr = log
	toProxy, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	proxy.Stdin = toProxy
	fromProxy, err := proxy.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{client, proxy} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill() }()
	}
	_ = toProxy.Close() // the proxy has it
	in, err := os.OpenFile(dir+"/in", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := newTalk(t, in, fromProxy)
	k.play([]step{{name: "i", method: "initialize", params: hello}, {name: "n", method: "notifications/initialized"}})
	k.last++
	k.send(map[string]any{"id": k.last, "method": "tools/call", "params": map[string]any{"name": "delete_slowly", "arguments": map[string]any{"id": i}}})
	until(t, "the server to begin", func() bool { return len(ledgerOf(t, ledger)) > 0 })
	kill(t, map[string]string{"server": dir + "/server", "client": dir + "/client", "proxy": ""}[victim], proxy)

	if victim == "server" { // the proxy lives, says so, and does not do it again
		text := k.listen(step{name: "the call"}, k.last)
		if !strings.Contains(text, "may or may not have happened") {
			t.Errorf("the client was told %s", text)
		}
		k.last++
		k.send(map[string]any{"id": k.last, "method": "tools/call", "params": map[string]any{"name": "list_things"}})
		if text := k.listen(step{name: "a read"}, k.last); !strings.Contains(text, "a, b") {
			t.Errorf("the server did not come back: %s", text)
		}
	}
	_ = in.Close()
	_ = client.Wait()
	_ = proxy.Wait()
	acted := 0
	for _, line := range ledgerOf(t, ledger) {
		if strings.HasPrefix(line, "delete ") {
			acted++
		}
	}
	if acted != 1 {
		t.Errorf("the server acted %d times", acted)
	}
	return recorded(t, record)
}

// recorded looks for the one dangerous call in a record, after the start that mends it.
func recorded(t *testing.T, name string) (unknown, ended int) {
	t.Helper()
	file, err := audit.OpenFile(name, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	open := len(file.Interrupted())
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(name)
	if err != nil || report.State != audit.Whole || len(report.Open) > 0 {
		t.Errorf("the record: %+v, %v", report, err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	intents, ends := 0, 0
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"tool":"delete_slowly"`) && strings.Contains(line, `"kind":"intent"`) {
			intents++
		}
		if strings.Contains(line, `"tool":"delete_slowly"`) && strings.Contains(line, `"kind":"end"`) {
			ends++
			if strings.Contains(line, `"outcome":"unknown"`) {
				unknown++
			} else {
				ended++
			}
		}
	}
	if intents != 1 || ends != 1 || open > 1 {
		t.Errorf("the record has %d intents and %d ends (%d were open):\n%s", intents, ends, open, text)
	}
	return unknown, ended
}

// kill kills the process whose number stands in a file, or the command.
func kill(t *testing.T, pidFile string, cmd *exec.Cmd) {
	t.Helper()
	process := cmd.Process
	if pidFile != "" {
		text, err := os.ReadFile(pidFile)
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Sscan(string(text), &pid); err != nil {
			t.Fatal(err)
		}
		if process, err = os.FindProcess(pid); err != nil {
			t.Fatal(err)
		}
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
