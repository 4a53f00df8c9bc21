package realclients_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A step is what the scripted model does in a turn: it calls a tool, or says its last words.
type step struct {
	tool      string // "" for the last words
	arguments map[string]any
}

// A script is a model that does its steps one after the other, whatever it is told, and keeps what it was told.
type script struct {
	mu    sync.Mutex
	steps []step
	page  string   // that a site answers, which the model reads in the place of the agent
	told  []string // the body of each request
}

func (s *script) next(body string) (int, step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, body)
	i := len(s.told) - 1
	if i >= len(s.steps) {
		return i, step{}
	}
	return i, s.steps[i]
}

// heard is everything that the model was told.
func (s *script) heard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.told, "\n")
}

// serve serves the model at a loopback address, by a function that writes the answer to a request.
func (s *script) serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body string)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer(w, r, string(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// openai answers as OpenAI's Responses API streams, as far as Codex needs it.
func (s *script) openai(w http.ResponseWriter, r *http.Request, body string) {
	if r.Method != http.MethodPost {
		fmt.Fprint(w, `{"object":"list","data":[],"models":[]}`)
		return
	}
	i, step := s.next(body)
	item := map[string]any{"type": "message", "role": "assistant", "id": fmt.Sprint("m", i), "content": []any{map[string]any{"type": "output_text", "text": "all done"}}}
	if step.tool != "" {
		item = map[string]any{"type": "function_call", "id": fmt.Sprint("f", i), "call_id": fmt.Sprint("c", i), "name": step.tool, "arguments": text(step.arguments)}
		if namespace, name, found := strings.Cut(step.tool, "/"); found { // that of an MCP server
			item["namespace"], item["name"] = namespace, name
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []map[string]any{
		{"type": "response.created", "response": map[string]any{"id": fmt.Sprint("r", i)}},
		{"type": "response.output_item.done", "item": item},
		{"type": "response.completed", "response": map[string]any{"id": fmt.Sprint("r", i), "usage": map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}},
	} {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], text(event))
	}
}

// gemini answers as Google's API for Gemini does, as far as Gemini CLI needs it. Requests without tools are those by which
// the CLI asks about itself.
func (s *script) gemini(w http.ResponseWriter, r *http.Request, body string) {
	part := map[string]any{"text": `{"complexity_reasoning":"x","complexity_score":1,"model_choice":"flash","reasoning":"x","next_speaker":"user"}`}
	if strings.Contains(body, "urlContext") {
		part = map[string]any{"text": s.page}
	}
	if strings.Contains(body, "functionDeclarations") {
		part = map[string]any{"text": "all done"}
		if _, step := s.next(body); step.tool != "" {
			part = map[string]any{"functionCall": map[string]any{"name": step.tool, "args": step.arguments}}
		}
	}
	answer := text(map[string]any{
		"totalTokens":   1,
		"candidates":    []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": map[string]any{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	})
	if strings.Contains(r.URL.Path, "stream") {
		w.Header().Set("Content-Type", "text/event-stream")
		answer = "data: " + answer + "\n\n"
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	fmt.Fprint(w, answer)
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made of maps and strings
	}
	return string(b)
}

// chat answers as OpenAI's API for chats streams, as far as opencode needs it. Requests without tools are those by which it
// names a session.
func (s *script) chat(w http.ResponseWriter, r *http.Request, body string) {
	delta, reason := map[string]any{"role": "assistant", "content": "all done"}, "stop"
	if strings.Contains(body, `"tools"`) {
		if i, step := s.next(body); step.tool != "" {
			call := map[string]any{"index": 0, "id": fmt.Sprint("c", i), "type": "function", "function": map[string]any{"name": step.tool, "arguments": text(step.arguments)}}
			delta, reason = map[string]any{"role": "assistant", "tool_calls": []any{call}}, "tool_calls"
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": reason}} {
		fmt.Fprintf(w, "data: %s\n\n", text(map[string]any{"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{choice}}))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
