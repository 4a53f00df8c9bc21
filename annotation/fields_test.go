package annotation_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
)

// The seed's invalid annotations, each by field. Its list of strings is one error here; each line
// names a field and its value.
func TestValidateNamesFieldAndValue(t *testing.T) {
	t.Parallel()
	type a = annotation.Annotations
	for _, c := range []struct {
		name string
		a    a
		want []string
	}{
		{"nothing", a{}, nil},
		{"everything", someFull(), nil},
		{"read-only to be confirmed", a{ReadOnly: yes, RequiresConfirmation: yes}, nil},
		{"a rate of zero means never", a{RateLimitHint: new(0.0), CostHint: new(0.0)}, nil},
		{"the seed's conflict", a{ReadOnly: yes, Destructive: yes}, []string{"readOnlyHint and destructiveHint are both yes"}},
		{"the seed's numbers", a{RateLimitHint: new(-5.0), CostHint: new(math.NaN())}, []string{"rateLimitHint: -5", "costHint: NaN"}},
		{"the seed's infinity, of a rate", a{RateLimitHint: new(math.Inf(1))}, []string{"rateLimitHint: +Inf"}},
		{"a negative duration", a{EstimatedDuration: -time.Second}, []string{"estimatedDuration: -1s"}},
		{"the seed's tags", a{Tags: []string{"valid-tag", "", "another-valid-tag"}}, []string{`tags: number 1, ""`}},
		{"a blank tag", a{Tags: []string{" \t"}}, []string{"tags: number 0"}},
		{"unknown words", a{Complexity: "extreme", SecurityLevel: "secret", Freshness: "forever"}, []string{`freshness: want one of stable, shared, volatile, got "forever"`, `, got "extreme"`, `, got "secret"`}},
		{"no hints", a{ReadOnly: 3, Destructive: 4, Idempotent: 5, OpenWorld: 6, RequiresConfirmation: 7, AuditRequired: 8}, []string{
			"readOnlyHint: want Unset, No or Yes, got 3", "destructiveHint: want Unset, No or Yes, got 4", "idempotentHint: want Unset, No or Yes, got 5",
			"openWorldHint: want Unset, No or Yes, got 6", "requiresConfirmation: want Unset, No or Yes, got 7", "auditRequired: want Unset, No or Yes, got 8",
		}},
		{"all at once", a{
			ReadOnly: yes, Destructive: yes, EstimatedDuration: -1, RateLimitHint: new(-1.0), CostHint: new(math.Inf(-1)),
			Tags: []string{""}, Complexity: "c", SecurityLevel: "s", AuditRequired: 9,
		}, []string{
			"auditRequired: want Unset, No or Yes, got 9", "both yes", "estimatedDuration: -1ns", "rateLimitHint: -1", "costHint: -Inf", "tags: number 0", `, got "c"`, `, got "s"`,
		}},
	} {
		err := c.a.Validate()
		if len(c.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(c.want) {
			t.Errorf("%s: %d faults, want %d: %v", c.name, len(lines), len(c.want), err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), "annotation: "+want) && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no fault has %q: %v", c.name, want, err)
			}
		}
	}
}

func ExampleAnnotations_Validate() {
	a := annotation.Annotations{ReadOnly: annotation.Yes, Destructive: annotation.Yes, Tags: []string{""}}
	fmt.Println(a.Validate())
	// Output:
	// annotation: readOnlyHint and destructiveHint are both yes: a tool that changes nothing cannot destroy
	// annotation: tags: number 0, "", is empty
}
