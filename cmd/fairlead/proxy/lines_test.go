package proxy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// Bytes on a server's output that are no MCP are left out, and said.
func TestBytesThatAreNoMessage(t *testing.T) {
	t.Parallel()
	exe, key := mcptest.Child(t, "things")
	noise := `echo 'Welcome to the server!'; printf '\033[2Jhello\n'; echo '{"half": '; echo '[]'; echo '{"jsonrpc":"2.0"}'; exec env "$1" "$2"`
	f := connect(t, mcptest.Legacy, proxy.Options{Servers: []proxy.Server{{Name: "things", Command: []string{"sh", "-c", noise, "sh", key, exe}}}}, nil)
	if got := text(t, f.call(t, "list_things", nil)); got != "a, b" {
		t.Errorf("got %q", got)
	}
	log := f.log.String()
	if got := strings.Count(log, "is not a message"); got != 5 {
		t.Errorf("%d lines were reported as not a message, want 5", got)
	}
	if strings.Contains(log, "\x1b") {
		t.Error("the log has a control character of the server's")
	}
}

// A line of a server is a message here if the SDK reads it as one behind mount.Transport, whose test has the same lines.
// The version of JSON-RPC is not among them: the SDK wants it, and the proxy encodes each message anew with it.
func TestStrayLinesAreThoseOfMount(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(here + "/../../../internal/answers/testdata/lines.json") // by way of the module: go test notes changes of such files only
	if err != nil {
		t.Fatal(err)
	}
	var lines struct{ Stray, Messages map[string]string }
	if err := json.Unmarshal(text, &lines); err != nil || len(lines.Stray) < 15 || len(lines.Messages) < 5 {
		t.Fatalf("%v, %d and %d lines", err, len(lines.Stray), len(lines.Messages))
	}
	for name, line := range lines.Stray {
		if n := proxy.Messages(line); n != 0 {
			t.Errorf("%s: %q is read as %d messages", name, line, n)
		}
	}
	for name, line := range lines.Messages {
		if n := proxy.Messages(line); n != 1 {
			t.Errorf("%s: %q is read as %d messages, want 1", name, line, n)
		}
	}
}

// A client that goes without having read what was written for it is not waited for.
func TestClientThatGoesAndDoesNotRead(t *testing.T) {
	t.Parallel()
	s, dir := moody(t, "a", `
		*flood*) i=0; while [ $i -lt 2000 ]; do [ $i -eq 500 ] && touch flooding; say "\"method\":\"notifications/$i\""; i=$((i+1)); done;;`)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{s}})
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","method":"notifications/flood"}`)
	exists(t, filepath.Join(dir, "flooding"))
	_ = r.in.Close()
	if err := mcptest.Wait(t, "the proxy to end", r.done); err != nil {
		t.Error(err)
	}
}
