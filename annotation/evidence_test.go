package annotation_test

import (
	"fmt"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
)

func TestEvidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    annotation.Evidence
		want string
	}{
		{annotation.Evidence{}, "host"},
		{annotation.Evidence{Source: annotation.Inferred, Word: "delete", Place: "leads the name"}, `inferred: "delete" leads the name`},
		{annotation.Evidence{Source: annotation.Declared, By: "github"}, "declared by github"},
		{annotation.Evidence{Source: annotation.Rule, By: "files/*"}, "host rule by files/*"},
		{annotation.Evidence{Source: annotation.Resolved, Place: "for these arguments"}, "resolved: for these arguments"},
	} {
		if got := c.e.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if annotation.Strong.String() != "strong" || annotation.Weak.String() != "weak" {
		t.Error("the strengths print wrongly")
	}
	a := someFull().Attribute(annotation.Declared, "files")
	if len(a.Evidence) != len(allFields) {
		t.Errorf("evidence for %d of %d fields", len(a.Evidence), len(allFields))
	}
	if got := (annotation.Annotations{Title: "t"}).SourceOf(annotation.Title); got != annotation.Host {
		t.Errorf("without evidence a field is %v's, want the host's", got)
	}
}

func ExampleAnnotations_Attribute() {
	a := annotation.Write().Attribute(annotation.Declared, "github")
	fmt.Println(a.Evidence[0].Field, a.Evidence[0].Value, a.Evidence[0])
	// Output: readOnlyHint no declared by github
}

func TestDoubtful(t *testing.T) {
	t.Parallel()
	inferred := func(a annotation.Annotations, s annotation.Strength) annotation.Annotations {
		a = a.Attribute(annotation.Inferred, "")
		for i := range a.Evidence {
			a.Evidence[i].Strength = s
		}
		return a
	}
	conditional := inferred(annotation.Destructive(), annotation.Weak)
	conditional.Conditions = []annotation.Condition{{Argument: "/a", Absent: annotation.Safe, Other: annotation.Dangerous}}
	for name, c := range map[string]struct {
		a    annotation.Annotations
		want bool
	}{
		"a word in passing":        {inferred(annotation.Destructive(), annotation.Weak), true},
		"a word of weight":         {inferred(annotation.Destructive(), annotation.Strong), false},
		"declared":                 {annotation.Destructive().Attribute(annotation.Declared, "s"), false},
		"set by the host in Go":    {annotation.Destructive(), false},
		"explained by a condition": {conditional, false},
		"nothing understood":       {annotation.Annotations{Evidence: []annotation.Evidence{{Field: annotation.ReadOnlyHint, Source: annotation.Inferred}}}, false},
		"a weak no beside a strong yes": {annotation.Annotations{
			ReadOnly: annotation.No, Destructive: annotation.Yes,
			Evidence: []annotation.Evidence{
				{Field: annotation.ReadOnlyHint, Source: annotation.Inferred},
				{Field: annotation.DestructiveHint, Source: annotation.Inferred, Strength: annotation.Strong},
			},
		}, false},
	} {
		if got := c.a.Doubtful(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
