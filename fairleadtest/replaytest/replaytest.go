// Package replaytest records what an MCP server answers in one session, in a file without secrets that is reviewed
// like code, and answers from that file, so that a test needs no server. Tests use [Connect]; the commands fairlead
// record and fairlead replay are made of the rest. Resources and prompts are not recorded.
//
// A test records anew with FAIRLEAD_RECORD=1 in its environment, and compares the tools of the real server with the
// recorded ones with FAIRLEAD_RECORD=check. This is not a flag, since a package under test may have one called -update.
package replaytest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [Connect]. The zero value replays only.
type Options struct {
	Rules

	// Real returns the way to the real server; over HTTP, what it sends outside of calls does not arrive. Nil means
	// that the file is never recorded anew.
	Real func(context.Context) (mcp.Transport, error)
	// Client connects; nil means one without options.
	Client *mcp.Client
}

// Connect returns a session with a server that answers from a file, such as testdata/notes.json, until the test ends. A
// call that was not recorded fails the test.
//
// When the file is recorded anew, or checked, the session is with the real server, and a tool whose definition has
// changed since fails the test.
func Connect(tb testing.TB, file string, o Options) *mcp.ClientSession {
	tb.Helper()
	mode := os.Getenv("FAIRLEAD_RECORD")
	if mode == "" || o.Real == nil {
		recorded, err := Load(file)
		if err != nil {
			tb.Fatal(err)
		}
		theirs, ours := mcp.NewInMemoryTransports()
		session, err := recorded.serve(o.Rules, func(err error) { tb.Error(err) }).Connect(context.Background(), theirs, nil)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = session.Close() })
		return dial(tb, o.Client, ours)
	}
	if mode != "1" && mode != "check" {
		tb.Fatalf("replaytest: FAIRLEAD_RECORD is %q; write 1 or check", mode)
	}
	before, err := Load(file)
	if err != nil && (mode == "check" || !os.IsNotExist(err)) {
		tb.Log(err)
	}
	server, err := o.Real(tb.Context())
	if err != nil {
		tb.Fatalf("replaytest: the real server: %v", err)
	}
	written := file
	if mode == "check" {
		written = filepath.Join(tb.TempDir(), "check.json")
	}
	r := NewRecorder(written, func(text string) { tb.Log("replaytest: " + text) })
	tb.Cleanup(func() {
		if before != nil {
			for _, change := range before.changes(&r.recording) {
				tb.Error("replaytest: " + file + ": " + change)
			}
		}
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	session := dial(tb, o.Client, r.Transport(server))
	if _, err := session.ListTools(tb.Context(), nil); err != nil { // the test may not list them
		tb.Fatalf("replaytest: the tools of the real server: %v", err)
	}
	return session
}

// dial connects a client, and ends the session with the test.
func dial(tb testing.TB, client *mcp.Client, transport mcp.Transport) *mcp.ClientSession {
	tb.Helper()
	if client == nil {
		client = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	}
	session, err := client.Connect(tb.Context(), transport, nil)
	if err != nil {
		tb.Fatalf("replaytest: %v", err)
	}
	tb.Cleanup(func() { _ = session.Close() })
	return session
}

// changes lists the definitions that differ in a later recording.
func (r *Recording) changes(now *Recording) (all []string) {
	named := func(tools []json.RawMessage) map[string]any {
		by := make(map[string]any)
		for _, tool := range tools {
			by[nameOf(tool)] = tree(tool)
		}
		return by
	}
	for _, d := range differences(named(r.tools), named(now.tools), "") {
		all = append(all, "the definition of "+strings.TrimPrefix(d, "/"))
	}
	slices.Sort(all)
	return all
}
