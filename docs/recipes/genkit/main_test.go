package main

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/loop"
	"github.com/fairlead-go/fairlead/loop/looptest"
	"github.com/firebase/genkit/go/genkit"
)

func TestAToolOfGenkitIsCalledThroughTheChain(t *testing.T) {
	t.Parallel()
	desk := looptest.New(t)
	g := genkit.Init(t.Context())
	if _, err := define(g, loop.New(desk.Tools, desk.Caller, loop.Options{})); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"notes__get_note": looptest.Structured, "notes__delete_note": looptest.Reason} {
		out, err := genkit.LookupTool(g, name).RunRaw(t.Context(), map[string]any{"id": "1"})
		if text, _ := out.(string); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: got %v, %v", name, out, err)
		}
	}
}
