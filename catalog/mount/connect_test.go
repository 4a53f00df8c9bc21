package mount_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var implementation = &mcp.Implementation{Name: "host", Version: "1"}

// Connect prepares the client, which hears of changed tools, and the transport, which keeps a malformed tool from failing
// the list.
func TestConnectPreparesBoth(t *testing.T) {
	discovered := make(chan string, 100)
	tools := catalog.New(catalog.Options{OnEvent: func(e catalog.Event) {
		if e.Kind == catalog.EventDiscovered {
			discovered <- e.After.Name()
		}
	}})
	defer tools.Close()
	server := newBackend().server
	session, err := mount.Connect(mcptest.Context(t), tools, "files", implementation, mcptest.MemoryTransport(t, server))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range tools.List() {
		mcptest.Wait(t, "a tool of the first list", discovered)
	}
	if got := tools.Findings(); len(got) != 0 {
		t.Errorf("got the findings %v, want none", got)
	}
	mcptest.Add(server, mcptest.Tool("list_new", ""), nil)
	if got := mcptest.Wait(t, "the new tool", discovered); got != "list_new" {
		t.Errorf("got %s", got)
	}

	odd, err := mount.Connect(mcptest.Context(t), tools, "odd", implementation, mcptest.MemoryTransport(t, untypedServer(always(untyped))))
	if err != nil {
		t.Fatal(err)
	}
	defer odd.Close()
	for _, f := range tools.Findings() {
		if strings.Contains(f.String(), "not prepared") {
			t.Errorf("got the finding %v", f)
		}
	}
}

// After an error the caller has no session, so Connect closes it.
func TestConnectLeavesNoSessionBehind(t *testing.T) {
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	first, err := mount.Connect(mcptest.Context(t), tools, "files", implementation, mcptest.MemoryTransport(t, newBackend().server))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()

	theirs, ours := mcp.NewInMemoryTransports()
	other, err := newBackend().server.Connect(mcptest.Context(t), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mount.Connect(mcptest.Context(t), tools, "files", implementation, ours)
	if session != nil || err == nil || !strings.Contains(err.Error(), `there is a server "files" already`) {
		t.Fatalf("got %v, %v", session, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	mcptest.Wait(t, "the end of the second session", ended)
	if got := len(tools.List()); got != 5 {
		t.Errorf("got %d tools, want the 5 of the first server", got)
	}
}

func TestConnectNamesTheServer(t *testing.T) {
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	theirs, ours := mcp.NewInMemoryTransports()
	away, err := theirs.Connect(mcptest.Context(t))
	if err != nil || away.Close() != nil {
		t.Fatal(err)
	}
	session, err := mount.Connect(mcptest.Context(t), tools, "files", implementation, ours)
	if session != nil || err == nil || !strings.HasPrefix(err.Error(), `mount: cannot connect to the server "files": `) || errors.Unwrap(err) == nil {
		t.Errorf("got %v, %v", session, err)
	}
	if got := tools.List(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
