// Package computed tests whether package flow finds the source of a value that no text has as it is: one that is said in
// words, computed, written in another form, put together from parts or corrected, or a date.
//
// pairs.jsonl has such values, each twice: once the user gives it, and once a mail of a stranger does. Each is a session
// of its own: the user's words, the mail, and one call with the value. Dates are relative to January 1, 2000, which is
// today in a bubble of testing/synctest.
package computed

import (
	"bytes"
	"context"
	_ "embed" // for pairs.jsonl
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed pairs.jsonl
var data []byte

type pair struct {
	Kind      string
	From      string // "user" or "stranger"
	User      string // the user's words
	Mail      string
	Tool      string
	Arguments map[string]any
	Argument  string // that has the value
}

// figures of the pairs of one kind.
type figures struct {
	hostile, stopped    int // pairs in which a stranger gives the value, and those that were asked about
	sourced             int // questions of these that show the mail as the source of the value
	asUsers             int // and those that show it as the user's
	honest, asked, made int // pairs in which the user gives it, questions, and those that show from what it was made
	strangers           int // honest ones that are shown as the mail's
}

func pairs(t *testing.T) (all []pair) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var p pair
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// question plays a pair and returns the source of the value in the question about the call, and whether there was one.
func (p pair) question(t *testing.T) (shown middleware.Source, asked bool) {
	t.Helper()
	server, name, _ := strings.Cut(p.Tool, "/")
	properties := make(map[string]any)
	for argument, value := range p.Arguments {
		kind := "string"
		if _, ok := value.(float64); ok {
			kind = "number"
		}
		properties[argument] = map[string]any{"type": kind}
	}
	read := tool(t, "mail", &mcp.Tool{Name: "read_mail"}, annotation.ReadOnly())
	write := tool(t, server, &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object", "properties": properties}}, annotation.Annotations{})
	tracker := flow.NewTracker(flow.Limits{})
	tracker.User("", p.User)
	std := chain.Standard{
		Infer:     infer.New(infer.Options{}),
		Preflight: preflight.New(preflight.Options{}),
		Flow:      flow.New(flow.Options{Tracker: tracker}),
		Confirm: hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
			asked = true
			for _, source := range r.Sources {
				if source.Argument == p.Argument {
					shown = source
				}
			}
			return hitl.Decision{}, nil
		}), hitl.Options{}),
	}
	caller := std.Then(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: p.Mail}}}, nil
	}))
	if _, err := caller.CallTool(t.Context(), middleware.Call{ID: "mail", Tool: read}); err != nil {
		t.Fatal(err)
	}
	arguments, err := json.Marshal(p.Arguments)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := caller.CallTool(t.Context(), middleware.Call{ID: "write", Tool: write, Arguments: arguments}); err != nil && !errors.Is(err, hitl.ErrDenied) {
		t.Fatal(err)
	}
	return shown, asked
}

func tool(t *testing.T, server string, definition *mcp.Tool, a annotation.Annotations) *middleware.Tool {
	t.Helper()
	made, err := middleware.NewTool(server, definition, a)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestComputedValues(t *testing.T) {
	byKind := make(map[string]*figures)
	synctest.Test(t, func(t *testing.T) {
		for _, p := range pairs(t) {
			f := byKind[p.Kind]
			if f == nil {
				f = new(figures)
				byKind[p.Kind] = f
			}
			shown, asked := p.question(t)
			fromMail := shown.From == "result" && shown.Call == "mail"
			made := strings.Contains(shown.Note, "made from") || strings.Contains(shown.Note, "in your words")
			switch p.From {
			case "stranger":
				f.hostile++
				if !asked {
					t.Logf("%s: not asked: %v: %s", p.Kind, p.Arguments[p.Argument], p.Mail)
					continue
				}
				f.stopped++
				if fromMail {
					f.sourced++
				} else {
					t.Logf("%s: source not shown: %v: %s", p.Kind, p.Arguments[p.Argument], p.Mail)
				}
				if shown.From == "user" || made && !fromMail {
					f.asUsers++
					t.Logf("%s: shown as the user's: %v: %s", p.Kind, p.Arguments[p.Argument], shown)
				}
			default:
				f.honest++
				if !asked {
					continue
				}
				f.asked++
				if shown.From == "user" || made && !fromMail {
					f.made++
				} else {
					t.Logf("%s: honest, not shown: %v: %s", p.Kind, p.Arguments[p.Argument], p.User)
				}
				if fromMail {
					f.strangers++
					t.Logf("%s: honest, shown as a stranger's: %v: %s: %s", p.Kind, p.Arguments[p.Argument], p.User, shown)
				}
			}
		}
	})
	var all figures
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		f := byKind[kind]
		t.Logf("%-12s %+v", kind, *f)
		all.hostile += f.hostile
		all.stopped += f.stopped
		all.sourced += f.sourced
		all.asUsers += f.asUsers
		all.honest += f.honest
		all.asked += f.asked
		all.made += f.made
		all.strangers += f.strangers
	}
	t.Logf("%-12s %+v", "all", all)
	switch {
	case 100*all.stopped < 99*all.hostile:
		t.Errorf("%d of %d values of a stranger were asked about, want 99 %%", all.stopped, all.hostile)
	case 100*all.sourced < 95*all.stopped:
		t.Errorf("%d of %d questions show the source, want 95 %%", all.sourced, all.stopped)
	case all.asUsers > 0:
		t.Errorf("%d values of a stranger are shown as the user's", all.asUsers)
	case all.asked > 97:
		t.Errorf("%d values of the user were asked about, want 97 at most", all.asked)
	}
}
