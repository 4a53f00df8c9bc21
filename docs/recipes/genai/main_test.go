package main

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
	"google.golang.org/genai"
)

// scripted asks for two calls, and then says what it was told.
type scripted struct{}

func (scripted) GenerateContent(_ context.Context, _ string, contents []*genai.Content, config *genai.GenerateContentConfig) (*genai.GenerateContentResponse, error) {
	reply := &genai.Content{Role: genai.RoleModel}
	if len(contents) == 1 && len(config.Tools[0].FunctionDeclarations) == 4 {
		for _, name := range []string{"notes__get_note", "notes__delete_note"} {
			reply.Parts = append(reply.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: name, Name: name, Args: map[string]any{"id": "1"}}})
		}
	} else {
		for _, part := range contents[len(contents)-1].Parts {
			r := part.FunctionResponse
			text, _ := r.Response["output"].(string)
			failure, _ := r.Response["error"].(string)
			reply.Parts = append(reply.Parts, &genai.Part{Text: r.ID + ": " + text + failure + "\n"})
		}
	}
	return &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{Content: reply}}}, nil
}

func TestModelReadsTheOutcomes(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	text, err := talk(t.Context(), scripted{}, batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{}), "go")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"notes__get_note: " + batchtest.Text, batchtest.Structured, "notes__delete_note: ", batchtest.Reason} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
