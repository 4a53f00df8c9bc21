package replaytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A test connects to the file of a recorded session.
func ExampleConnect() {
	_ = func(t *testing.T) { // func TestAgent(t *testing.T)
		session := replaytest.Connect(t, "testdata/notes.json", replaytest.Options{
			Real: func(context.Context) (mcp.Transport, error) { return mcptest.ChildTransport(t, "notes"), nil },
		})
		_ = session // the session of the agent under test
	}
	// Output:
}

// A session with a server is recorded.
func ExampleNewRecorder() {
	ctx := context.Background()
	server := mcptest.New()
	mcptest.Add(server, mcptest.Tool("get_note", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return mcptest.Text("buy milk"), nil
	})
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	file := filepath.Join(dir, "notes.json")
	recorder := replaytest.NewRecorder(file, func(warning string) { fmt.Println(warning) })
	session, err := mcptest.NewClient().Connect(ctx, recorder.Transport(ours), nil)
	if err != nil {
		panic(err)
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_note", Arguments: map[string]any{"id": 1}}); err != nil {
		panic(err)
	}
	_ = session.Close()
	if err := recorder.Close(); err != nil {
		panic(err)
	}
	_, err = replaytest.Load(file)
	fmt.Println(err)
	// Output: <nil>
}

// A recording is a server.
func ExampleLoad() {
	ctx := context.Background()
	recording, err := replaytest.Load("testdata/notes.json")
	if err != nil {
		panic(err)
	}
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := recording.Server(replaytest.Rules{}).Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}
	session, err := mcptest.NewClient().Connect(ctx, ours, nil)
	if err != nil {
		panic(err)
	}
	for _, id := range []int{1, 7} {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_note", Arguments: map[string]any{"id": id}})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(output.Text(res))
	}
	// Output:
	// buy milk
	// calling "tools/call": replay: get_note was not recorded: it differs in /id: recorded 1, now 7; it is the nearest recorded call, calls/0: ask as recorded, or record anew
}
