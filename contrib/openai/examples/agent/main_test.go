package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// A call is a call of the fake model.
type call struct{ tool, arguments string }

// A standIn answers over a socket as the API does, one turn after the other, and keeps the result
// of each call.
type standIn struct {
	turns [][]call
	told  []string
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/models" {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"scripted","object":"model"}]}`)
		return
	}
	var req struct {
		Model    string
		Messages []struct {
			Role    string
			Content string
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Model != "scripted" {
		http.Error(w, "no request", http.StatusBadRequest)
		return
	}
	s.told = nil
	for _, m := range req.Messages {
		if m.Role == "tool" {
			s.told = append(s.told, m.Content)
		}
	}
	message := map[string]any{"role": "assistant", "content": "That is all."}
	if len(s.turns) > 0 {
		var calls []any
		for i, c := range s.turns[0] {
			id := fmt.Sprintf("call_%d_%d", len(s.turns), i)
			calls = append(calls, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": c.tool, "arguments": c.arguments}})
		}
		message, s.turns = map[string]any{"role": "assistant", "tool_calls": calls}, s.turns[1:]
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "chat.completion", "choices": []any{map[string]any{"message": message}}})
}

// notes is a server with a list that can be read and deleted from.
func notes(t *testing.T) (transport mcp.Transport, left *[]string) {
	t.Helper()
	list := []string{"rope", "paint"}
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	text := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	mcp.AddTool(server, &mcp.Tool{Name: "list_notes"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return text(strings.Join(list, ", ")), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "delete_note"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct{ Name string }) (*mcp.CallToolResult, any, error) {
		list = slices.DeleteFunc(list, func(name string) bool { return name == in.Name })
		return text("deleted"), nil, nil
	})
	here, there := mcp.NewInMemoryTransports()
	session, err := server.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return here, &list
}

func TestModelWorksThroughTheChain(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "")
	for name, c := range map[string]struct {
		confirm hitl.Confirmer
		told    string
		left    string
	}{
		"approved": {hitl.DangerouslyApproveEveryCallWithoutAsking(), "deleted", "paint"},
		"denied": {hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			return hitl.Decision{Reason: "keep the rope"}, nil
		}), "keep the rope", "rope, paint"},
	} {
		t.Run(name, func(t *testing.T) {
			api := &standIn{turns: [][]call{
				{{"server__list_notes", `{}`}, {"no_such_tool", `{}`}},
				{{"server__delete_note", `{"Name":"rope"}`}},
				{{"server__list_notes", `{}`}},
			}}
			web := httptest.NewServer(api)
			defer web.Close()
			server, left := notes(t)
			var out bytes.Buffer
			client := openai.NewClient(option.WithBaseURL(web.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
			if err := run(t.Context(), client, "Delete the rope.", server, c.confirm, &out); err != nil {
				t.Fatal(err)
			}
			if len(api.told) != 4 || api.told[0] != "rope, paint" || !strings.Contains(api.told[1], "no such tool") ||
				!strings.Contains(api.told[2], c.told) || api.told[3] != c.left {
				t.Errorf("the model read %q", api.told)
			}
			if strings.Join(*left, ", ") != c.left || out.String() != "That is all.\n" {
				t.Errorf("left is %q, printed %q", *left, out.String())
			}
		})
	}
}

func TestModelThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "scripted")
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	server, _ := notes(t)
	client := openai.NewClient(option.WithBaseURL(web.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
	err := run(t.Context(), client, "Hello.", server, hitl.DangerouslyApproveEveryCallWithoutAsking(), new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "check OPENAI_BASE_URL") {
		t.Errorf("got %v", err)
	}
}
