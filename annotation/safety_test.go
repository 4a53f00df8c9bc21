package annotation_test

import (
	"fmt"
	"strings"
	"testing"

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
