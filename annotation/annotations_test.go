package annotation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
)

func TestHint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hint   annotation.Hint
		text   string
		orYes  annotation.Hint
		fromGo annotation.Hint
	}{
		{annotation.Unset, "unset", annotation.Yes, annotation.HintOf(false)},
		{annotation.No, "no", annotation.No, annotation.HintOf(false)},
		{annotation.Yes, "yes", annotation.Yes, annotation.HintOf(true)},
	} {
		if got := c.hint.String(); got != c.text {
			t.Errorf("String() = %q, want %q", got, c.text)
		}
		if got := c.hint.Or(annotation.Yes); got != c.orYes {
			t.Errorf("%v.Or(Yes) = %v, want %v", c.hint, got, c.orYes)
		}
		if c.hint != annotation.Unset && c.fromGo != c.hint {
			t.Errorf("HintOf gives %v, want %v", c.fromGo, c.hint)
		}
	}
	if got := annotation.Hint(9).String(); got != "unset" {
		t.Errorf("an undefined Hint prints %q, want unset", got)
	}
}

// The defaults of the seeds: MCP's four, no confirmation, cost 0, simple, public, no audit.
func TestDefaults(t *testing.T) {
	t.Parallel()
	var silent annotation.Annotations
	d := silent.Defaults()
	if d.ReadOnly != annotation.No || d.Destructive != annotation.Yes || d.Idempotent != annotation.No || d.OpenWorld != annotation.Yes {
		t.Errorf("the four hints of MCP default to %v %v %v %v, want no yes no yes", d.ReadOnly, d.Destructive, d.Idempotent, d.OpenWorld)
	}
	if d.RequiresConfirmation != annotation.No || d.AuditRequired != annotation.No {
		t.Errorf("confirmation %v and audit %v, want no and no", d.RequiresConfirmation, d.AuditRequired)
	}
	if d.Freshness != annotation.Volatile || d.Secret != annotation.No {
		t.Errorf("freshness %q and secret %v, want volatile and no", d.Freshness, d.Secret)
	}
	if d.CostHint == nil || *d.CostHint != 0 || d.Complexity != annotation.Simple || d.SecurityLevel != annotation.Public {
		t.Errorf("cost %v, complexity %q, security %q, want 0, simple, public", d.CostHint, d.Complexity, d.SecurityLevel)
	}
	if d.RateLimitHint != nil || d.EstimatedDuration != 0 || d.Title != "" || d.Tags != nil || d.Category != "" {
		t.Errorf("fields without a default were set: %+v", d)
	}

	said := annotation.Annotations{
		ReadOnly: annotation.Yes, Destructive: annotation.No, Idempotent: annotation.Yes, OpenWorld: annotation.No,
		RequiresConfirmation: annotation.Yes, AuditRequired: annotation.Yes, Freshness: annotation.Stable, Secret: annotation.Yes,
		CostHint: new(7.0), Complexity: annotation.Complex, SecurityLevel: annotation.Restricted, EstimatedDuration: time.Second,
	}
	if got, want := said.Defaults().Summary(), said.Summary(); got != want {
		t.Errorf("Defaults changed what was said: got %s, want %s", got, want)
	}
}

// An unset hint stays unset: the defaults are for showing, and the class is not worked out from
// them.
func TestDefaultsAreNeverStored(t *testing.T) {
	t.Parallel()
	var silent annotation.Annotations
	silent.Defaults()
	if got := silent.Safety(); got != annotation.Unknown {
		t.Errorf("silence is %v, want unknown", got)
	}
	if got := annotation.Merge(silent).Summary(); got != "[no annotations]" {
		t.Errorf("merging nothing gives %s", got)
	}
}

// The tuples of the presets. The seed's Write is idempotent; ours does not, since a create
// repeated is two, and Update is for what sets a value. The seed's three are all closed-world;
// ours leave that unset, since reading and writing do not decide whether a tool reaches outside.
func TestPresetsWriteIsAnAdditionAndOpenWorldStaysUnset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                              string
		a                                 annotation.Annotations
		readOnly, destructive, idempotent annotation.Hint
		class                             annotation.Safety
		retry                             bool
	}{
		{"ReadOnly", annotation.ReadOnly(), annotation.Yes, annotation.No, annotation.Yes, annotation.Safe, true},
		{"Write", annotation.Write(), annotation.No, annotation.No, annotation.No, annotation.Moderate, false},
		{"Update", annotation.Update(), annotation.No, annotation.No, annotation.Yes, annotation.Moderate, true},
		{"Destructive", annotation.Destructive(), annotation.No, annotation.Yes, annotation.No, annotation.Dangerous, false},
	} {
		a := c.a
		if a.ReadOnly != c.readOnly || a.Destructive != c.destructive || a.Idempotent != c.idempotent || a.OpenWorld != annotation.Unset {
			t.Errorf("%s is %s", c.name, a.Summary())
		}
		if a.Safety() != c.class || a.SafeToRetry() != c.retry {
			t.Errorf("%s: class %v, safe to retry %v; want %v, %v", c.name, a.Safety(), a.SafeToRetry(), c.class, c.retry)
		}
		if err := a.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func ExampleReadOnly() {
	a := annotation.ReadOnly()
	fmt.Println(a.Safety(), a.SafeToRetry(), a.MustConfirm())
	// Output: safe true false
}

func ExampleWrite() {
	a := annotation.Write()
	fmt.Println(a.Safety(), a.SafeToRetry(), a.MustConfirm())
	// Output: moderate false false
}

func ExampleUpdate() {
	a := annotation.Update()
	fmt.Println(a.Safety(), a.SafeToRetry(), a.MustConfirm())
	// Output: moderate true false
}

func ExampleDestructive() {
	a := annotation.Destructive()
	fmt.Println(a.Safety(), a.SafeToRetry(), a.MustConfirm())
	// Output: dangerous false true
}

func ExampleHintOf() {
	fmt.Println(annotation.HintOf(true), annotation.HintOf(false), annotation.Unset)
	// Output: yes no unset
}

func ExampleAnnotations_Defaults() {
	fmt.Println(annotation.Annotations{}.Defaults().Summary())
	// Output: [not read-only | DESTRUCTIVE | not idempotent | open world | no confirmation required | volatile | not secret | simple complexity | cost 0 | no audit required | public]
}
