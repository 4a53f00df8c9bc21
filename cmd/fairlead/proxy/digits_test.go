package proxy_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client gets a definition with long digits as the server wrote it.
func TestListKeepsLongDigits(t *testing.T) {
	t.Parallel()
	const tool = `{"name":"pay","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993,"minimum":1.0}}}}`
	s := newPlain(tool)
	c := s.client(t, s.proxy(t, proxy.Options{}))
	if got := c.ask(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`, `"list"`); !strings.Contains(got, tool) {
		t.Errorf("the client is shown %s", got)
	}
}

// A definition that changes only in digits past 2^53 is refused by its lock file, and a client gets its digits.
func TestLockRefusesAChangeOfLongDigits(t *testing.T) {
	t.Parallel()
	limited := func(most string) string {
		return `{"name":"pay","description":"Pays.","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":` + most + `},"x":{"default":1.0}}}}`
	}
	s := newPlain(limited("9007199254740993"))
	lock := new(pins.Lock)
	open := func() *proxy.Proxy { return s.proxy(t, proxy.Options{Lock: lock, Confirm: approve(true)}) }
	c := s.client(t, open())
	c.call(`{"name":"pay"}`)
	if n := len(s.calls()); n != 0 {
		t.Fatalf("a tool that was not accepted was executed %d times", n)
	}
	accepted := catalog.New(catalog.Options{Lock: lock})
	direct, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	cs := mcptest.Dial(t, mcptest.NewClient(), mount.Transport(&mcp.IOTransport{Reader: direct, Writer: direct}), mcptest.Legacy)
	if err := accepted.Add(t.Context(), "plain", cs); err != nil {
		t.Fatal(err)
	}
	if err := lock.Accept(accepted, lock.Changes(accepted)...); err != nil {
		t.Fatal(err)
	}
	c = s.client(t, open())
	if got := c.ask(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`, `"list"`); !strings.Contains(got, "9007199254740993") {
		t.Errorf("the client is shown %s", got)
	}
	c.call(`{"name":"pay"}`)
	if n := len(s.calls()); n != 1 {
		t.Errorf("the accepted tool was executed %d times", n)
	}
	s.redefine(limited("9007199254740992"))
	if got := c.call(`{"name":"pay"}`); len(s.calls()) != 1 || !strings.Contains(got, "accept") {
		t.Errorf("the changed tool was executed %d times: %s", len(s.calls()), got)
	}
}
