package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fairlead-go/fairlead/internal/agent/agenttest"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/option"
)

// A model that asks for what the rules ask for does what they do.
func TestTheSummaryIsThatOfTheRules(t *testing.T) {
	want, script := agenttest.Summary(t, nil), agenttest.Script(t)
	turn := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/models" {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"scripted","object":"model"}]}`)
			return
		}
		message := map[string]any{"role": "assistant", "content": "That is all."}
		if turn < len(script) {
			var calls []any
			for i, c := range script[turn] {
				calls = append(calls, map[string]any{"id": fmt.Sprintf("call_%d_%d", turn, i), "type": "function", "function": map[string]any{"name": c.Tool, "arguments": string(c.Arguments)}})
			}
			message = map[string]any{"role": "assistant", "tool_calls": calls}
		}
		turn++
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "chat.completion", "choices": []any{map[string]any{"message": message}}})
	}))
	t.Cleanup(server.Close)
	got := agenttest.Summary(t, newModel(option.WithBaseURL(server.URL), option.WithAPIKey("none")))
	if diff := cmp.Diff(want, got); diff != "" || turn != len(script)+1 {
		t.Errorf("after %d turns of %d, rules → model:\n%s", turn, len(script), diff)
	}
}
