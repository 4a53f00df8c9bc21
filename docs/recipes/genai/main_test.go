package main

import (
	"context"
	"encoding/json"
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

// A number that the SDK may have rounded is not sent: nothing is executed, and the other calls of the turn are.
func TestRoundedNumberIsNotSent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{"id":"1","n":9007199254740993}`: 1, `{"id":"1","n":-9007199254740993}`: 1, `{"id":"1","n":9007199254740991}`: 2, `{"id":"1","n":18446744073709551616}`: 1,
		`{"id":"1","n":[{"n":9007199254740992}]}`: 1, `{"id":"1","n":1.10}`: 2, `{"id":"1","n":-0}`: 2, `{"id":"1","n":"9007199254740993"}`: 2, `{"id":"1"}`: 2,
	} {
		desk := batchtest.New(t)
		desk.Yes = true
		var call genai.FunctionCall
		if err := json.Unmarshal([]byte(`{"id":"a","name":"notes__delete_note","args":`+text+`}`), &call); err != nil {
			t.Fatal(err)
		}
		parts, err := answer(t.Context(), batch.NewHost(desk.Tools, desk.Caller, batch.HostOptions{}), []*genai.FunctionCall{&call, {ID: "b", Name: "notes__get_note", Args: map[string]any{"id": "2"}}})
		if err != nil || len(parts) != 2 || parts[0].FunctionResponse.ID != "a" || parts[1].FunctionResponse.ID != "b" {
			t.Fatalf("%s: %v, %v", text, parts, err)
		}
		failure, _ := parts[0].FunctionResponse.Response["error"].(string)
		if calls := desk.Calls(); len(calls) != want || (want == 1) != strings.Contains(failure, "Send it as a text") {
			t.Errorf("%s: executed %v, told %v", text, calls, parts[0].FunctionResponse.Response)
		}
	}
}
