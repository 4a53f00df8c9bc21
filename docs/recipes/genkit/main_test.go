package main

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/batch/batchtest"
	"github.com/fairlead-go/fairlead/loop"
	"github.com/firebase/genkit/go/genkit"
)

func TestAToolOfGenkitIsCalledThroughTheChain(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	g := genkit.Init(t.Context())
	if _, err := define(g, loop.New(desk.Tools, desk.Caller, loop.Options{})); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"notes__get_note": batchtest.Structured, "notes__delete_note": batchtest.Reason} {
		out, err := genkit.LookupTool(g, name).RunRaw(t.Context(), map[string]any{"id": "1"})
		if text, _ := out.(string); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: got %v, %v", name, out, err)
		}
	}
}
