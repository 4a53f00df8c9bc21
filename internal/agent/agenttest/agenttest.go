// Package agenttest runs the example agent for the tests of the mains that give it a
// model of their own.
package agenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/agent"
	"github.com/fairlead-go/fairlead/internal/agent/inbox"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
)

// Summary runs the agent on a copy of its inbox, with a yes to everything, and returns
// its last event. Without a model the rules plan.
func Summary(t *testing.T, model plan.API) map[string]any {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var out, errs bytes.Buffer
	p := &agent.Program{
		Args: []string{"--json", "--yes", "all"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Inbox: inbox.FS(), Model: model,
	}
	if code := p.Run(t.Context()); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out.String(), errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last["event"] != "summary" {
		t.Fatalf("the last event is no summary: %v, %s", err, lines[len(lines)-1])
	}
	return last
}

// Script returns the calls that the rules ask for on that inbox, turn by turn, under
// the names that a model knows.
func Script(t *testing.T) [][]plan.Request {
	t.Helper()
	r := &recorder{rules: plan.NewTidy()}
	Summary(t, r)
	return r.script
}

// A recorder is the rules as if they were a model.
type recorder struct {
	rules  *plan.Tidy
	turn   plan.Turn
	script [][]plan.Request
}

func (*recorder) Service() string                          { return "the rules" }
func (*recorder) Models(context.Context) ([]string, error) { return []string{"rules"}, nil }
func (r *recorder) Begin(_ string, turn plan.Turn, _ string) {
	r.turn = turn
}

func (r *recorder) Answer(last []plan.Outcome) { r.turn.Last = last }
func (r *recorder) Reply(ctx context.Context) (string, []plan.Request, error) {
	step, err := r.rules.Next(ctx, r.turn)
	for i := range step.Calls {
		for _, tool := range r.turn.Tools {
			if tool.Name() == step.Calls[i].Tool {
				step.Calls[i].Tool = tool.ModelName()
			}
		}
	}
	if len(step.Calls) > 0 {
		r.script = append(r.script, step.Calls)
	}
	return step.Say, step.Calls, err
}
