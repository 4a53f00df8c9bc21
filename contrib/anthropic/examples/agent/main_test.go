package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/fairlead-go/fairlead/internal/agent/agenttest"
	"github.com/google/go-cmp/cmp"
)

// A model that asks for what the rules ask for does what they do.
func TestTheSummaryIsThatOfTheRules(t *testing.T) {
	want, script := agenttest.Summary(t, nil), agenttest.Script(t)
	turn := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"scripted","type":"model"}]}`)
			return
		}
		content, stop := []any{map[string]any{"type": "text", "text": "That is all."}}, "end_turn"
		if turn < len(script) {
			content, stop = nil, "tool_use"
			for i, c := range script[turn] {
				content = append(content, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", turn, i), "name": c.Tool, "input": c.Arguments})
			}
		}
		turn++
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": stop})
	}))
	t.Cleanup(server.Close)
	got := agenttest.Summary(t, newModel(option.WithBaseURL(server.URL), option.WithAPIKey("none"), option.WithMaxRetries(0)))
	if diff := cmp.Diff(want, got); diff != "" || turn != len(script)+1 {
		t.Errorf("after %d turns of %d, rules → model:\n%s", turn, len(script), diff)
	}
}
