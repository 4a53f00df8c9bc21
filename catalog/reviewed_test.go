package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// review is what package known would have of a tool.
func review(a annotation.Annotations) annotation.Annotations {
	a = a.Attribute(annotation.Reviewed, "")
	for i := range a.Evidence {
		a.Evidence[i].Place = "we read it"
	}
	return a
}

var (
	safeReview      = annotation.Annotations{ReadOnly: annotation.Yes, Destructive: annotation.No, RequiresConfirmation: annotation.No}
	dangerousReview = annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.Yes}
)

func TestAReviewRanksBetweenTheServerAndTheHost(t *testing.T) {
	t.Parallel()
	destructive, readOnly := &mcp.ToolAnnotations{DestructiveHint: new(true)}, &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(false)}
	everything := func(a annotation.Annotations) func(*catalog.Catalog) error {
		return func(c *catalog.Catalog) error { _, err := c.OverrideMatching("*/*", a); return err }
	}
	trust := func(c *catalog.Catalog) error { c.Trust("crm"); return nil }
	for name, c := range map[string]struct {
		tool     string
		declared *mcp.ToolAnnotations
		review   annotation.Annotations
		host     func(*catalog.Catalog) error
		want     annotation.Safety
	}{
		"it lowers what inference calls dangerous":   {"delete_a", nil, safeReview, nil, annotation.Safe},
		"it raises what inference calls safe":        {"get_a", nil, dangerousReview, nil, annotation.Dangerous},
		"an untrusted server does not raise it":      {"get_a", destructive, safeReview, nil, annotation.Safe},
		"a trusted server does not raise it":         {"get_a", destructive, safeReview, trust, annotation.Safe},
		"a trusted server does not lower it":         {"get_a", readOnly, dangerousReview, trust, annotation.Dangerous},
		"a pattern of the host raises it":            {"get_a", nil, safeReview, everything(annotation.Destructive()), annotation.Dangerous},
		"a pattern does not lower what is dangerous": {"get_a", nil, dangerousReview, everything(annotation.ReadOnly()), annotation.Dangerous},
		"a pattern lowers what the review has lowered": {
			"delete_a", nil, annotation.Write(), everything(annotation.ReadOnly()), annotation.Safe,
		},
		"an override of the host lowers it": {
			"get_a", nil, dangerousReview, func(c *catalog.Catalog) error { return c.Override("crm", "get_a", annotation.ReadOnly()) }, annotation.Safe,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := mcptest.Tool(c.tool, "")
			tool.Annotations = c.declared
			tools := catalog.New(catalog.Options{})
			defer tools.Close()
			catalog.Reviewed(tools, func(*middleware.Tool) annotation.Annotations { return review(c.review) })
			if c.host != nil {
				if err := c.host(tools); err != nil {
					t.Fatal(err)
				}
			}
			if err := tools.Add(t.Context(), "crm", listing(tool)); err != nil {
				t.Fatal(err)
			}
			got, ok := tools.Lookup("crm", c.tool)
			if !ok || got.Safety() != c.want {
				t.Errorf("got %s, want %s", got.Explain(), c.want)
			}
			for _, f := range tools.Findings() {
				if strings.Contains(f.Text, "its words say") {
					t.Errorf("the finding names the words in place of the review: %v", f)
				}
			}
		})
	}
}

// A decision of a person is not asked about again, whatever the server declares.
func TestADecidedWriteIsOnlyNoted(t *testing.T) {
	t.Parallel()
	override := func(a annotation.Annotations) func(*catalog.Catalog) error {
		return func(c *catalog.Catalog) error { return c.Override("crm", "delete_a", a) }
	}
	trust := func(c *catalog.Catalog) error { c.Trust("crm"); return nil }
	const noted = "crm/delete_a: declares itself read-only; it is decided otherwise "
	for name, c := range map[string]struct {
		review annotation.Annotations
		host   func(*catalog.Catalog) error
		kind   finding.Kind
		want   string
	}{
		"nobody decided":          {annotation.Annotations{}, nil, finding.Suspect, `crm/delete_a: declares itself read-only, which does not count; its words say otherwise (inferred: "delete" leads the name)`},
		"a review":                {dangerousReview, nil, finding.Overruled, noted + "(reviewed: we read it)"},
		"a review, and the trust": {dangerousReview, trust, finding.Overruled, noted + "(reviewed: we read it)"},
		"the host":                {annotation.Annotations{}, override(annotation.Destructive()), finding.Overruled, noted + "(host)"},
		"the host over a review":  {safeReview, override(annotation.Destructive()), finding.Overruled, noted + "(host)"},
		"a review that agrees":    {safeReview, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools := catalog.New(catalog.Options{})
			defer tools.Close()
			catalog.Reviewed(tools, func(*middleware.Tool) annotation.Annotations { return review(c.review) })
			if c.host != nil {
				if err := c.host(tools); err != nil {
					t.Fatal(err)
				}
			}
			tool := mcptest.Tool("delete_a", "")
			tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
			if err := tools.Add(t.Context(), "crm", listing(tool)); err != nil {
				t.Fatal(err)
			}
			var got finding.Finding
			for _, f := range tools.Findings() {
				if f.Kind != finding.Unprepared {
					got = f
				}
			}
			if text := got.String(); got.Kind != c.kind || c.want != "" && text != c.want {
				t.Errorf("got %s %q, want %s %q", got.Kind, text, c.kind, c.want)
			}
		})
	}
}

func TestConditionsOfAReviewOutlastTheServersClaim(t *testing.T) {
	t.Parallel()
	unless := dangerousReview
	unless.Conditions = []annotation.Condition{{Argument: "/filename", Absent: annotation.Safe, Other: annotation.Dangerous}}
	tool := mcptest.Tool("get_a", "")
	tool.Annotations = &mcp.ToolAnnotations{DestructiveHint: new(true)}
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	catalog.Reviewed(tools, func(*middleware.Tool) annotation.Annotations { return review(unless) })
	if err := tools.Add(t.Context(), "crm", listing(tool)); err != nil {
		t.Fatal(err)
	}
	got, _ := tools.Lookup("crm", "get_a")
	for arguments, want := range map[string]annotation.Safety{
		`{}`: annotation.Safe, `{"filename":"a"}`: annotation.Dangerous, `{"Filename":"a"}`: annotation.Dangerous,
	} {
		a, _ := got.Annotations.For(json.RawMessage(arguments), nil)
		if a.Safety() != want {
			t.Errorf("%s: %s, want %s: %s", arguments, a.Safety(), want, got.Explain())
		}
		if e, _ := a.EvidenceOf(annotation.ReadOnlyHint); e.Source != annotation.Reviewed {
			t.Errorf("%s: the source is %s", arguments, e)
		}
	}
}
