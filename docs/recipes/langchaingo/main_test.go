package main

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/batch/batchtest"
	"github.com/fairlead-go/fairlead/loop"
	"github.com/tmc/langchaingo/llms"
)

// scripted asks for two calls, and then says what it was told.
type scripted struct{}

func (scripted) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	choice := new(llms.ContentChoice)
	if len(messages) == 1 {
		for _, name := range []string{"notes__get_note", "notes__delete_note"} {
			choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{ID: name, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: `{"id":"1"}`}})
		}
	}
	for _, message := range messages[1:] {
		for _, part := range message.Parts {
			if r, ok := part.(llms.ToolCallResponse); ok {
				choice.Content += r.ToolCallID + ": " + r.Content + "\n"
			}
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

func (scripted) Call(context.Context, string, ...llms.CallOption) (string, error) { return "", nil }

func TestTheModelIsToldWhatBecameOfItsCalls(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	text, err := talk(t.Context(), scripted{}, loop.New(desk.Tools, desk.Caller, loop.Options{}), "go")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"notes__get_note: " + batchtest.Text, batchtest.Structured, "notes__delete_note: ", batchtest.Reason} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
