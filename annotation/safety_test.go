package annotation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
)

// All 27 combinations, written out by hand: read-only, destructive, confirmation.
const wantTable = `
unset unset unset  unknown
unset unset no     unknown
unset unset yes    dangerous
unset no    unset  moderate
unset no    no     moderate
unset no    yes    dangerous
unset yes   unset  dangerous
unset yes   no     dangerous
unset yes   yes    dangerous
no    unset unset  dangerous
no    unset no     dangerous
no    unset yes    dangerous
no    no    unset  moderate
no    no    no     moderate
no    no    yes    dangerous
no    yes   unset  dangerous
no    yes   no     dangerous
no    yes   yes    dangerous
yes   unset unset  safe
yes   unset no     safe
yes   unset yes    dangerous
yes   no    unset  safe
yes   no    no     safe
yes   no    yes    dangerous
yes   yes   unset  dangerous
yes   yes   no     dangerous
yes   yes   yes    dangerous
`

var hints = []annotation.Hint{annotation.Unset, annotation.No, annotation.Yes}

func TestSafetyOfAll27Combinations(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("\n")
	for _, readOnly := range hints {
		for _, destructive := range hints {
			for _, confirmation := range hints {
				a := annotation.Annotations{ReadOnly: readOnly, Destructive: destructive, RequiresConfirmation: confirmation}
				fmt.Fprintf(&b, "%-5v %-5v %-5v  %v\n", readOnly, destructive, confirmation, a.Safety())
			}
		}
	}
	t.Logf("read-only, destructive, confirmation: class%s", b.String())
	if got := b.String(); got != wantTable {
		t.Errorf("got%swant%s", got, wantTable)
	}
}

// No other field moves the class, and what follows from the class follows from
// it alone: what must be confirmed is never safe to retry.
func TestSafetyReadsThreeHintsOnly(t *testing.T) {
	t.Parallel()
	for _, readOnly := range hints {
		for _, destructive := range hints {
			for _, confirmation := range hints {
				for _, idempotent := range hints {
					a := annotation.Annotations{ReadOnly: readOnly, Destructive: destructive, RequiresConfirmation: confirmation}
					full := a
					full.Idempotent, full.OpenWorld, full.AuditRequired = idempotent, annotation.Yes, annotation.Yes
					full.Title, full.SecurityLevel, full.CostHint, full.RateLimitHint = "t", annotation.Restricted, new(9.0), new(0.0)
					if full.Safety() != a.Safety() {
						t.Errorf("%s is %v, and %s is %v", a.Summary(), a.Safety(), full.Summary(), full.Safety())
					}
					confirm := full.Safety() == annotation.Dangerous || full.Safety() == annotation.Unknown
					if full.MustConfirm() != confirm {
						t.Errorf("%s: MustConfirm() = %v", full.Summary(), full.MustConfirm())
					}
					retry := full.Safety() == annotation.Safe || full.Safety() == annotation.Moderate && idempotent == annotation.Yes
					if full.SafeToRetry() != retry {
						t.Errorf("%s: SafeToRetry() = %v, want %v", full.Summary(), full.SafeToRetry(), retry)
					}
					if full.MustConfirm() && full.SafeToRetry() {
						t.Errorf("%s must be confirmed and is safe to retry", full.Summary())
					}
				}
			}
		}
	}
}

func TestSafetyOfUndefinedHintsIsUnknown(t *testing.T) {
	t.Parallel()
	for _, a := range []annotation.Annotations{
		{ReadOnly: 3}, {ReadOnly: annotation.Yes, Destructive: 200}, {ReadOnly: annotation.Yes, RequiresConfirmation: 255},
	} {
		if got := a.Safety(); got != annotation.Unknown {
			t.Errorf("%+v is %v, want unknown", a, got)
		}
	}
	if got := annotation.Safety(77); got.String() != "unknown" || !got.MustConfirm() {
		t.Errorf("an undefined Safety is %v, confirm %v", got, got.MustConfirm())
	}
}

// The seed lets a destructive tool be retried when it is idempotent; ours is not, since the second
// delete may remove a new object.
func TestSafeToRetryIsFalseForDestructiveToolsUnlikeTheSeed(t *testing.T) {
	t.Parallel()
	a := annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.Yes, Idempotent: annotation.Yes}
	if a.SafeToRetry() {
		t.Error("a delete that is idempotent came out as safe to retry")
	}
}

func TestInferredIdempotenceIsTheHostsChoice(t *testing.T) {
	t.Parallel()
	write := annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.No, Idempotent: annotation.Yes}
	for _, c := range []struct {
		source          annotation.Source
		retry, inferred bool
	}{
		{annotation.Inferred, false, true},
		{annotation.Declared, true, false},
		{annotation.Rule, true, false},
		{annotation.Host, true, false},
		{annotation.Resolved, true, false},
	} {
		a := write.Attribute(c.source, "files")
		if a.SafeToRetry() != c.retry || a.InferredIdempotent() != c.inferred {
			t.Errorf("%v: SafeToRetry %v, InferredIdempotent %v; want %v, %v",
				c.source, a.SafeToRetry(), a.InferredIdempotent(), c.retry, c.inferred)
		}
	}
	if inferred := annotation.Destructive().Attribute(annotation.Inferred, ""); inferred.InferredIdempotent() {
		t.Error("a destructive tool counts as idempotent by inference")
	}
}

func ExampleAnnotations_Safety() {
	declared := annotation.Annotations{ReadOnly: annotation.No} // and not declared whether it destroys
	fmt.Println(declared.Safety())
	declared.Destructive = annotation.No
	fmt.Println(declared.Safety())
	// Output:
	// dangerous
	// moderate
}

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

func ExampleAnnotations_Summary() {
	a := annotation.Annotations{
		Title: "Delete User Account", Destructive: annotation.Yes, RequiresConfirmation: annotation.Yes,
		Complexity: annotation.Simple, EstimatedDuration: 250 * time.Millisecond, Tags: []string{"user-management", "admin"},
	}
	fmt.Println(a.Summary())
	// Output: [Delete User Account | DESTRUCTIVE | requires confirmation | simple complexity | ~250ms | tags: user-management, admin]
}

func ExampleAnnotations_ConfirmationMessage() {
	fmt.Println(annotation.Destructive().ConfirmationMessage("Delete the customer."))
	fmt.Println(annotation.Write().ConfirmationMessage("create a customer"))
	// Output:
	// This action is irreversible. Delete the customer. Proceed?
	// About to create a customer. OK?
}
