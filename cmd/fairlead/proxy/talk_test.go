package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// A talk speaks to a server, or to a proxy before it, by the lines of the wire.
type talk struct {
	t    testing.TB
	in   io.WriteCloser
	got  chan map[string]any
	last int
	gone map[string]bool // the requests that were cancelled, and may be answered at any time
}

func newTalk(t testing.TB, in io.WriteCloser, out io.Reader) *talk {
	t.Helper()
	k := &talk{t: t, in: in, got: make(chan map[string]any, 1000), gone: make(map[string]bool)}
	go func() {
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			var m map[string]any
			if json.Unmarshal(line, &m) == nil {
				k.got <- m
			}
			if err != nil {
				close(k.got)
				return
			}
		}
	}()
	t.Cleanup(func() { _ = in.Close() })
	return k
}

// direct speaks to a command.
func direct(t testing.TB, s proxy.Server) *talk {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.Command[0], s.Command[1:]...)
	cmd.Env = append(os.Environ(), s.Env...)
	k := start(t, cmd)
	t.Cleanup(func() { _ = cmd.Wait() })
	return k
}

// start starts a command, to speak to it.
func start(t testing.TB, cmd *exec.Cmd) *talk {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return newTalk(t, in, out)
}

// greet initializes the session.
func (k *talk) greet() {
	k.t.Helper()
	k.play([]step{{name: "i", method: "initialize", params: hello}, {name: "n", method: "notifications/initialized"}})
}

// call sends a call, and returns the request's ID.
func (k *talk) call(tool string, arguments map[string]any) int {
	k.t.Helper()
	k.last++
	k.send(map[string]any{"id": k.last, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	return k.last
}

// through speaks to a proxy before the command.
func through(t testing.TB, o proxy.Options) *talk {
	t.Helper()
	log := newLines(t)
	o.Stderr, o.Logger = log, slog.New(slog.NewTextHandler(log, nil))
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- p.ServeLines(context.Background(), in, out)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = toProxy.Close()
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return newTalk(t, toProxy, fromProxy)
}

func (k *talk) send(m map[string]any) {
	k.t.Helper()
	m["jsonrpc"] = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := k.in.Write(append(text, '\n')); err != nil {
		k.t.Fatal(err)
	}
}

// answer waits for an answer, and returns it with its message; "" if the other side goes without it.
func (k *talk) answer(id int) string {
	k.t.Helper()
	for { // others come first
		switch m := mcptest.Wait(k.t, "an answer", k.got); {
		case m == nil:
			return ""
		case fmt.Sprint(m["id"]) == strconv.Itoa(id):
			return fmt.Sprint(m)
		}
	}
}

// A step is one request of a script, or a notification.
type step struct {
	name, method string
	params       string
	// settle is how long is waited for what comes besides the answer.
	settle time.Duration
	// cancel cancels the request at once; whether it is answered is then a matter of chance.
	cancel bool
	// open is that no answer comes while it goes on; a notification reports that it does.
	open bool
	// only compares which methods came, and not how often.
	only bool
}

var answers = map[string]map[string]any{
	"sampling/createMessage": {"role": "assistant", "model": "m", "content": map[string]any{"type": "text", "text": "sampled"}},
	"roots/list":             {"roots": []any{map[string]any{"uri": "file:///root", "name": "root"}}},
	"elicitation/create":     {"action": "accept", "content": map[string]any{"name": "Ada", "color": "red", "check": true}},
	"ping":                   {},
}

// play plays a script, and tells of each step what came of it.
func (k *talk) play(script []step) map[string]string {
	k.t.Helper()
	result := make(map[string]string)
	for _, s := range script {
		m := map[string]any{"method": s.method}
		if s.params != "" {
			m["params"] = json.RawMessage(s.params)
		}
		if !strings.HasPrefix(s.method, "notifications/") {
			k.last++
			m["id"] = k.last
		}
		k.send(m)
		if s.cancel {
			k.gone[fmt.Sprint(k.last)] = true
			k.send(map[string]any{"method": "notifications/cancelled", "params": map[string]any{"requestId": k.last}})
		}
		began := time.Now()
		result[s.name] = k.listen(s, m["id"])
		if took := time.Since(began); took > time.Second+s.settle {
			k.t.Logf("%s took %v", s.name, took)
		}
	}
	return result
}

// listen waits for the answer to a step, and for what comes with it.
func (k *talk) listen(s step, id any) string {
	k.t.Helper()
	var came []string
	wait := time.After(s.settle)
	patience := time.After(2 * time.Minute)
	for answered := id == nil || s.cancel; ; {
		var settled <-chan time.Time
		if answered {
			settled = wait
			if s.settle == 0 {
				settled = time.After(50 * time.Millisecond)
			}
		}
		select {
		case m, ok := <-k.got:
			if !ok {
				k.t.Fatalf("%s: the other side has gone", s.name)
			}
			switch method, _ := m["method"].(string); {
			case method == "" && k.gone[fmt.Sprint(m["id"])]:
			case method == "" && fmt.Sprint(m["id"]) == fmt.Sprint(id):
				answered = true
				came = append(came, "0 answer "+normal(m["result"], m["error"]))
			case method == "":
				came = append(came, "an answer to something else: "+fmt.Sprint(m["id"], " ", id))
			default:
				answered = answered || s.open
				if m["id"] != nil {
					k.send(map[string]any{"id": m["id"], "result": answers[method]})
				}
				text := "1 " + method
				if !s.only {
					text += " " + normal(m["params"])
				}
				came = append(came, text)
			}
		case <-settled:
			slices.Sort(came)
			if s.only {
				came = slices.Compact(came)
			}
			return strings.Join(came, "\n")
		case <-patience:
			k.t.Fatalf("%s: no answer", s.name)
		}
	}
}

var (
	uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}`)
	// The everything server puts the time into texts that it encodes.
	blob  = regexp.MustCompile(`"blob":"[^"]*"`)
	stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|\d{1,2}:\d\d:\d\d(\.\d+)?( [AP]M)?`)
)

// normal is a value without what is another one each time.
func normal(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		return err.Error()
	}
	if strings.Contains(string(text), "demo://") {
		text = blob.ReplaceAll(text, []byte(`"blob":"BLOB"`))
	}
	return stamp.ReplaceAllString(uuid.ReplaceAllString(string(text), "UUID"), "TIME")
}
