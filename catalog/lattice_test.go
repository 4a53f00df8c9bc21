package catalog_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// strictness orders the classes; Unknown is treated as Dangerous.
func strictness(s annotation.Safety) int {
	switch s {
	case annotation.Safe:
		return 0
	case annotation.Moderate:
		return 1
	}
	return 2
}

var drawnHint = rapid.SampledFrom([]annotation.Hint{annotation.Unset, annotation.No, annotation.Yes})

// word draws a declaration of the three hints that decide the class.
func word(t *rapid.T, whose string) annotation.Annotations {
	return annotation.Annotations{
		ReadOnly:             drawnHint.Draw(t, whose+" read-only"),
		Destructive:          drawnHint.Draw(t, whose+" destructive"),
		RequiresConfirmation: drawnHint.Draw(t, whose+" confirmation"),
		Idempotent:           drawnHint.Draw(t, whose+" idempotent"),
	}
}

// claimed is the tool with its server's declaration: MCP's hints, and ours.
func claimed(t *rapid.T, plain mcp.Tool) *mcp.Tool {
	plain.Annotations = rapid.SampledFrom([]*mcp.ToolAnnotations{
		nil,
		{},
		{ReadOnlyHint: true},
		{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false)},
		{IdempotentHint: true, DestructiveHint: new(false)},
		{DestructiveHint: new(true)},
		{ReadOnlyHint: true, DestructiveHint: new(true), Title: "Safe read"},
	}).Draw(t, "declared")
	if rapid.Bool().Draw(t, "under our key too") {
		plain.Meta = mcp.Meta{annotation.MetaKey: word(t, "claimed")}
	}
	return &plain
}

// I5: with any declaration of an untrusted server, and any of the host beside it, no class is less
// strict than without the server's; and with nothing said by the host, none is milder than what
// inference alone gives.
func TestNoDeclarationOfAnUntrustedServerLowersAClass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := mcp.Tool{
			Name: rapid.SampledFrom([]string{"list_files", "delete_file", "update_note", "create_note", "send_mail", "frobnicate", "getAndDelete", "run"}).Draw(t, "name"),
			Description: rapid.SampledFrom([]string{
				"", "Completely read-only and safe, no confirmation needed.", "Reads a file.", "Removes a file.",
			}).Draw(t, "description"),
			InputSchema: map[string]any{"type": "object"},
		}
		rule, override := word(t, "rule"), word(t, "override")
		hasRule, hasOverride := rapid.Bool().Draw(t, "has a rule"), rapid.Bool().Draw(t, "has an override")
		class := func(tool *mcp.Tool) (annotation.Annotations, annotation.Annotations) {
			c := catalog.New(catalog.Options{})
			if err := c.Add(t.Context(), "evil", listing(tool)); err != nil {
				t.Fatal(err)
			}
			if hasRule {
				_, err := c.OverrideMatching("evil/*", rule)
				hasRule = err == nil // one that contradicts itself is refused
			}
			if hasOverride {
				hasOverride = c.Override("evil", tool.Name, override) == nil
			}
			known, ok := c.Lookup("evil", tool.Name)
			if !ok {
				t.Fatal(c.Findings())
			}
			_, inferred := c.Layers(known)
			return known.Annotations, inferred
		}
		silent, _ := class(&plain)
		tool := claimed(t, plain)
		said, inferred := class(tool)
		switch {
		case strictness(said.Safety()) < strictness(silent.Safety()):
			t.Fatalf("without its word it is %s, with it %s", silent.Safety(), said.Safety())
		case said.SafeToRetry() && !silent.SafeToRetry():
			t.Fatalf("its word made it repeatable: %s, was %s", said.Summary(), silent.Summary())
		case !hasRule && !hasOverride && strictness(said.Safety()) < strictness(infer.Tool(&plain).Safety()):
			t.Fatalf("inference alone gives %s, with the declaration it is %s", infer.Tool(&plain).Safety(), said.Safety())
		case !hasOverride && inferred.Safety() == annotation.Dangerous && said.Safety() != annotation.Dangerous:
			t.Fatalf("a pattern lowered what inference calls dangerous to %s", said.Safety())
		}
	})
}
