package terminal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func ExampleNew() {
	tool, err := middleware.NewTool("files", &mcp.Tool{Name: "delete", Description: "Delete a file."}, annotation.Destructive())
	if err != nil {
		panic(err)
	}
	keyboard := strings.NewReader("y\n")
	decision, err := terminal.New(keyboard, os.Stdout).Confirm(context.Background(), hitl.Request{
		Tool:      tool,
		Arguments: json.RawMessage(`{"path":"a.txt"}`),
		Undo:      "it is kept in .trash/ for a week",
		Deadline:  time.Now().Add(30 * time.Second),
	})
	fmt.Println(decision.Verdict == hitl.Approved, err)
	// Output:
	// ╭─ Delete a.txt of files
	//   │ The agent asks for files/delete
	//   │ undo         it is kept in .trash/ for a week
	//   │
	//   │ path         "a.txt"
	//   ╰─
	//   Allow? [y]es  [N]o  [i]nstead  [e]dit  [d]etails  [?] (30s left): true <nil>
}
