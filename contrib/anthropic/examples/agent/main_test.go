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

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	var req struct {
		Messages []struct {
			Content []struct {
				Type    string
				Content []struct{ Text string }
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/messages" {
		http.Error(w, "no request", http.StatusBadRequest)
		return
	}
	s.told = nil
	for _, m := range req.Messages {
		for _, block := range m.Content {
			if block.Type == "tool_result" && len(block.Content) == 1 {
				s.told = append(s.told, block.Content[0].Text)
			}
		}
	}
	content, stop := []any{map[string]any{"type": "text", "text": "That is all."}}, "end_turn"
	if len(s.turns) > 0 {
		content, stop = nil, "tool_use"
		for i, c := range s.turns[0] {
			id := fmt.Sprintf("toolu_%d_%d", len(s.turns), i)
			content = append(content, map[string]any{"type": "tool_use", "id": id, "name": c.tool, "input": json.RawMessage(c.arguments)})
		}
		s.turns = s.turns[1:]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": stop})
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
				{{"server__list_notes", `{}`}},
				{{"server__delete_note", `{"Name":"rope"}`}},
				{{"server__list_notes", `{}`}},
			}}
			web := httptest.NewServer(api)
			defer web.Close()
			server, left := notes(t)
			var out bytes.Buffer
			client := anthropic.NewClient(option.WithBaseURL(web.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
			if err := run(t.Context(), client, "Delete the rope.", server, c.confirm, &out); err != nil {
				t.Fatal(err)
			}
			if len(api.told) != 3 || api.told[0] != "rope, paint" || !strings.Contains(api.told[1], c.told) || api.told[2] != c.left {
				t.Errorf("the model read %q", api.told)
			}
			if strings.Join(*left, ", ") != c.left || out.String() != "That is all.\n" {
				t.Errorf("left is %q, printed %q", *left, out.String())
			}
		})
	}
}

func TestModelThatDoesNotFinishIsAnError(t *testing.T) {
	api := &standIn{}
	for range 2 * maxTurns {
		api.turns = append(api.turns, []call{{"server__list_notes", `{}`}})
	}
	web := httptest.NewServer(api)
	defer web.Close()
	server, _ := notes(t)
	client := anthropic.NewClient(option.WithBaseURL(web.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
	err := run(t.Context(), client, "Hello.", server, hitl.DangerouslyApproveEveryCallWithoutAsking(), new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "did not finish (tool_use) in 40 turns") {
		t.Errorf("got %v", err)
	}
}

func TestModelThatDoesNotAnswerIsAnError(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	server, _ := notes(t)
	client := anthropic.NewClient(option.WithBaseURL(web.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
	err := run(t.Context(), client, "Hello.", server, hitl.DangerouslyApproveEveryCallWithoutAsking(), new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "check ANTHROPIC_API_KEY") {
		t.Errorf("got %v", err)
	}
}
