package annotation_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	type a = annotation.Annotations
	for _, c := range []struct {
		name string
		a    a
		want string
	}{
		{"the seed's", a{
			Title: "Delete User Account", Destructive: yes, RequiresConfirmation: yes, Complexity: annotation.Simple,
			EstimatedDuration: 250 * time.Millisecond, Tags: []string{"user-management", "admin"},
		}, "[Delete User Account | DESTRUCTIVE | requires confirmation | simple complexity | ~250ms | tags: user-management, admin]"},
		{"the seed's empty one", a{}, "[no annotations]"},
		{"every field", someFull(), "[Add | not read-only | not destructive | idempotent | closed world | no confirmation required | " +
			"medium complexity | ~250ms | at most 60/min | cost 2.5 | no audit required | internal | category: files | tags: a, b]"},
		{"the other side", a{ReadOnly: yes, Idempotent: no, OpenWorld: yes, AuditRequired: yes, RateLimitHint: new(0.0)},
			"[read-only | not idempotent | open world | at most 0/min | audit required]"},
	} {
		if got := c.a.Summary(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestSummaryShowsEverySetField(t *testing.T) {
	t.Parallel()
	full := someFull()
	for _, f := range allFields {
		if full.Without(f).Summary() == full.Summary() {
			t.Errorf("%s does not show in %s", f, full.Summary())
		}
	}
}

// The seed's two sentences, for what it calls destructive and for a write that is known not to be.
// The seed has no question for an undescribed tool and asks nothing; our question states that its
// effect is unknown.
func TestConfirmationMessageOfTheSeedAndAQuestionWhereItHasNone(t *testing.T) {
	t.Parallel()
	type a = annotation.Annotations
	const deletes = "Permanently delete a customer and all associated records. Cannot be undone."
	for _, c := range []struct {
		name, description string
		a                 a
		want              string
	}{
		{"destructive", deletes, annotation.Destructive(), "This action is irreversible. Permanently delete a customer and all associated records. Cannot be undone. Proceed?"},
		{"a write", "create a new customer", annotation.Write(), "About to create a new customer. OK?"},
		{"an update", " set a value. ", annotation.Update(), "About to set a value. OK?"},
		{"a read", "List customers", annotation.ReadOnly(), ""},
		{"unknown", "Frobnicate", a{}, "It is unknown what this action changes. Frobnicate. Proceed?"},
		{"a read to be confirmed", "Read the salary list", a{ReadOnly: yes, RequiresConfirmation: yes}, "This action needs your confirmation. Read the salary list. Proceed?"},
		{"a conflict", "x", a{ReadOnly: yes, Destructive: yes}, "This action is irreversible. x. Proceed?"},
		{"paying", "Pay", a{RequiresConfirmation: yes, Destructive: no}, "This action is irreversible. Pay. Proceed?"},
		{"destructive, no description", "", annotation.Destructive(), "This action is irreversible. Proceed?"},
		{"a write, no description", " . ", annotation.Write(), "About to change something. OK?"},
		{"unknown, no description", "", a{}, "It is unknown what this action changes. Proceed?"},
	} {
		if got := c.a.ConfirmationMessage(c.description); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if ask := c.a.ConfirmationMessage(c.description) != ""; c.a.MustConfirm() && !ask {
			t.Errorf("%s must be confirmed, and has no question", c.name)
		}
	}
}

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
		{"unknown words", a{Complexity: "extreme", SecurityLevel: "secret", Freshness: "forever"}, []string{`freshness: "forever"`, `complexity: "extreme"`, `securityLevel: "secret"`}},
		{"no hints", a{ReadOnly: 3, Destructive: 4, Idempotent: 5, OpenWorld: 6, RequiresConfirmation: 7, AuditRequired: 8}, []string{
			"readOnlyHint: 3", "destructiveHint: 4", "idempotentHint: 5", "openWorldHint: 6", "requiresConfirmation: 7", "auditRequired: 8",
		}},
		{"all at once", a{
			ReadOnly: yes, Destructive: yes, EstimatedDuration: -1, RateLimitHint: new(-1.0), CostHint: new(math.Inf(-1)),
			Tags: []string{""}, Complexity: "c", SecurityLevel: "s", AuditRequired: 9,
		}, []string{
			"auditRequired: 9", "both yes", "estimatedDuration: -1ns", "rateLimitHint: -1", "costHint: -Inf", "tags: number 0", `complexity: "c"`, `securityLevel: "s"`,
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

func ExampleAnnotations_Summary() {
	a := annotation.Annotations{
		Title: "Delete User Account", Destructive: annotation.Yes, RequiresConfirmation: annotation.Yes,
		Complexity: annotation.Simple, EstimatedDuration: 250 * time.Millisecond, Tags: []string{"user-management", "admin"},
	}
	fmt.Println(a.Summary())
	// Output: [Delete User Account | DESTRUCTIVE | requires confirmation | simple complexity | ~250ms | tags: user-management, admin]
}

func ExampleAnnotations_Validate() {
	a := annotation.Annotations{ReadOnly: annotation.Yes, Destructive: annotation.Yes, Tags: []string{""}}
	fmt.Println(a.Validate())
	// Output:
	// annotation: readOnlyHint and destructiveHint are both yes: a tool that changes nothing cannot destroy
	// annotation: tags: number 0, "", is empty
}

func ExampleAnnotations_ConfirmationMessage() {
	fmt.Println(annotation.Destructive().ConfirmationMessage("Delete the customer."))
	fmt.Println(annotation.Write().ConfirmationMessage("create a customer"))
	// Output:
	// This action is irreversible. Delete the customer. Proceed?
	// About to create a customer. OK?
}
