package proxy_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// kills is how often each of the three is killed.
var kills = flag.Int("kills", 5, "how often server, client and proxy are each killed in the middle of a dangerous call")

// Whoever is killed in the middle of a dangerous call, with a signal that nobody can
// handle: the server never acts twice, and the record never lacks the call.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	program := programtest.Path(t)
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
	if err := os.WriteFile(rules, []byte(`{"rules": [{"tool": "server/delete_slowly", "decide": "allow", "class": "dangerous"}]}`), 0o600); err != nil {
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
	k.greet()
	k.call("delete_slowly", map[string]any{"id": i})
	until(t, "the server to begin", func() bool { return len(ledgerOf(t, ledger)) > 0 })
	kill(t, map[string]string{"server": dir + "/server", "client": dir + "/client", "proxy": ""}[victim], proxy)

	if victim == "server" { // the proxy lives, says so, and does not do it again
		text := k.listen(step{name: "the call"}, k.last)
		if !strings.Contains(text, "may or may not have happened") {
			t.Errorf("the client was told %s", text)
		}
		if text := k.listen(step{name: "a read"}, k.call("list_things", map[string]any{})); !strings.Contains(text, "a, b") {
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

// The proxy gets a signal at a random moment of a write that its policy allows. What the client was told, what the
// record says and what the server did agree, and the proxy that comes after it holds the same call if it may have happened.
func TestSignalAtEveryStageOfAWrite(t *testing.T) {
	t.Parallel()
	program, n, seed := programtest.Path(t), 2**kills, time.Now().UnixNano()
	if os.Getenv("FAIRLEAD_LONG") == "1" {
		n = 200
	}
	random, came, took := rand.New(rand.NewPCG(0, uint64(seed))), make(map[string]int), 5*time.Millisecond
	for i := range n {
		signal := []os.Signal{syscall.SIGTERM, syscall.SIGKILL}[i%2]
		after := time.Duration(random.Int64N(int64(2 * took)))
		told, recorded, now := signalled(t, program, signal, after)
		took = cmp.Or(now, took)
		came[fmt.Sprintf("%v: told %q, recorded %q", signal, told, recorded)]++
		if t.Failed() {
			t.Fatalf("seed %d, signal %d: %v after %v: told %q, recorded %q", seed, i, signal, after, told, recorded)
		}
	}
	t.Logf("seed %d: %v", seed, came)
}

// signalled makes a call, signals the proxy while it is made, and makes it again with the next proxy. It returns what the
// client was told and what the record says of the first, and how long the second took if it was not held.
func signalled(t *testing.T, program string, signal os.Signal, after time.Duration) (told, recorded string, took time.Duration) {
	t.Helper()
	dir, err := os.MkdirTemp("", "killed") //nolint:usetesting // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ledger, record, rules := dir+"/ledger", dir+"/calls.jsonl", dir+"/policy.json"
	if err := os.WriteFile(rules, []byte(`{"rules": [{"tool": "server/delete_thing", "decide": "allow", "class": "dangerous"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	lives, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", ledger+aliveSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer lives.Close()
	exe, key := mcptest.Child(t, "things")
	begin := func() (cmd *exec.Cmd, k *talk, ended func() (executed int)) {
		cmd = exec.CommandContext(t.Context(), program, "proxy", "--name", "server", "--policy", rules, "--approve", "deny", "--audit", record, "--", exe)
		cmd.Env = append(os.Environ(), key, ledgerKey+"="+ledger, "GORACE=atexit_sleep_ms=0") // the race detector sleeps for a second
		k = start(t, cmd)
		server, err := lives.Accept()
		if err != nil {
			t.Fatal(err)
		}
		k.greet()
		k.answer(k.call("list_things", map[string]any{}))
		return cmd, k, func() (executed int) {
			_, _, _ = k.in.Close(), cmd.Wait(), server.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := server.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("the server goes on: %v", err)
			}
			for _, line := range ledgerOf(t, ledger) {
				if strings.HasPrefix(line, "delete ") {
					executed++
				}
			}
			return executed
		}
	}
	cmd, k, ended := begin()
	id := k.call("delete_thing", map[string]any{"id": 7})
	time.Sleep(after)
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	told = outcomeOf(k.answer(id))
	executed := ended()
	recorded = lastOf(t, record)
	if told == "ok" && executed != 1 || told == "not" && executed != 0 || executed > 1 ||
		recorded == "ok" && executed != 1 || recorded == "" && executed != 0 || recorded != "ok" && recorded != "unknown" && executed != 0 {
		t.Errorf("executed %d times", executed)
	}
	_, k, ended = begin()
	began := time.Now()
	again := outcomeOf(k.answer(k.call("delete_thing", map[string]any{"id": 7})))
	held := told == "unknown" || recorded == "unknown"
	if (again == "held") != held || !held && again != "ok" {
		t.Errorf("the same call again: %s", again)
	}
	if took = time.Since(began); held {
		took = 0
	}
	if more := ended() - executed; more != 0 && held || more != 1 && !held {
		t.Errorf("the same call again was executed %d times", more)
	}
	return told, recorded, took
}

// outcomeOf is what an answer says about a call.
func outcomeOf(answer string) string {
	switch {
	case answer == "":
		return ""
	case strings.Contains(answer, "it is gone"):
		return "ok"
	case strings.Contains(answer, "may or may not have happened"):
		return "unknown"
	case strings.Contains(answer, "was not called: an earlier call with the same effect"):
		return "held"
	case strings.Contains(answer, "not"):
		return "not"
	}
	return answer
}

// lastOf is what the whole lines of a record say about the call that deletes: "" before its intent.
func lastOf(t *testing.T, name string) (outcome string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r audit.Record
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &r) != nil || r.Tool != "delete_thing" {
			continue
		}
		if outcome = string(r.Outcome); r.Kind == audit.Intent {
			outcome = "unknown"
		}
	}
	return outcome
}

// recorded looks for the one dangerous call in a record, after the start that mends it.
func recorded(t *testing.T, name string) (unknown, ended int) {
	t.Helper()
	file, err := audit.OpenFile(name, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	open := len(file.InDoubt())
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
		t.Errorf("the record has %d intents and %d ends (%d in doubt):\n%s", intents, ends, open, text)
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
