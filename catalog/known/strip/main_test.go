package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestReviewedToolsLoseTheirDefinitions(t *testing.T) {
	t.Parallel()
	lock := new(pins.Lock)
	tools := catalog.New(catalog.Options{Lock: lock})
	defer tools.Close()
	for _, name := range []string{"decided", "by_a_model", "only_accepted"} {
		if err := tools.AddTools(name, noExecutor, mcptest.Tool(name, "Someone's words.")); err != nil {
			t.Fatal(err)
		}
	}
	changes := lock.Changes(tools)
	if err := lock.Accept(tools, changes...); err != nil {
		t.Fatal(err)
	}
	digest := ""
	for _, c := range changes {
		d := pins.Decision{
			Class: annotation.Dangerous, Reason: "writes <a file>", Date: time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC),
			Model: "m", Prompt: "Someone's words.", Answer: "a",
		}
		switch c.Tool {
		case "decided":
			d.Reviewer, digest = "Ada", c.Now.Digest.String()
			d.Conditions = []annotation.Condition{{Argument: "/a", Absent: annotation.Safe, Other: annotation.Dangerous}}
		case "only_accepted":
			continue
		}
		if err := lock.Decide(tools, c.Now, d); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "new.lock")
	if err := lock.Save(path); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(&out, "npm it 1.0.0", path); err != nil {
		t.Fatal(err)
	}
	want := `{
  "version": 1,
  "from": "npm it 1.0.0",
  "tools": {
    "decided/decided": {
      "class": "dangerous",
      "digest": "` + digest + `",
      "review": {
        "class": "dangerous",
        "reason": "writes <a file>",
        "reviewer": "Ada",
        "date": "2026-03-01T00:00:00Z",
        "conditions": [
          {
            "argument": "/a",
            "absent": "safe",
            "other": "dangerous"
          }
        ]
      }
    }
  }
}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if err := run(&out, "", path); err == nil || !strings.Contains(err.Error(), "-from") {
		t.Errorf("without -from: %v", err)
	}
}

// noExecutor is never called.
var noExecutor = middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, nil })
