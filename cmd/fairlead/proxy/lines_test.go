package proxy_test

import (
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
