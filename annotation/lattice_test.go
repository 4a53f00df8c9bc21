package annotation_test

import (
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"pgregory.net/rapid"
)

// drawn draws any annotations, said by one source.
func drawn(t *rapid.T, name string, source annotation.Source) annotation.Annotations {
	hint := func(f string) annotation.Hint {
		return rapid.SampledFrom([]annotation.Hint{unset, no, yes}).Draw(t, name+" "+f)
	}
	number := func(f string) *float64 {
		return rapid.SampledFrom([]*float64{nil, new(0.0), new(0.5), new(60.0), new(1e9), new(-1.0)}).Draw(t, name+" "+f)
	}
	return annotation.Annotations{
		ReadOnly: hint("read-only"), Destructive: hint("destructive"), Idempotent: hint("idempotent"), OpenWorld: hint("open-world"),
		RequiresConfirmation: hint("confirmation"), AuditRequired: hint("audit"),
		Title:             rapid.SampledFrom([]string{"", "Safe read"}).Draw(t, name+" title"),
		Tags:              rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, name+" tags"),
		EstimatedDuration: time.Duration(rapid.Int64Range(-1, int64(time.Hour)).Draw(t, name+" duration")),
		RateLimitHint:     number("rate"), CostHint: number("cost"),
		Complexity:    rapid.SampledFrom([]annotation.Complexity{"", annotation.Simple, annotation.Medium, annotation.Complex, "extreme"}).Draw(t, name+" complexity"),
		Freshness:     rapid.SampledFrom([]annotation.Freshness{"", annotation.Stable, annotation.Shared, annotation.Volatile, "never"}).Draw(t, name+" freshness"),
		Secret:        hint("secret"),
		SecurityLevel: rapid.SampledFrom([]annotation.SecurityLevel{"", annotation.Public, annotation.Internal, annotation.Restricted}).Draw(t, name+" level"),
	}.Attribute(source, name)
}

// I5: with any number of claims in any order, none makes the class less strict than it was before,
// nor a call repeatable, nor the limits wider.
func TestNoSequenceOfClaimsLowersAClass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := drawn(t, "inferred", annotation.Inferred)
		for range rapid.IntRange(1, 4).Draw(t, "claims") {
			claim := drawn(t, "claim", annotation.Declared)
			raised := annotation.Raise(a, claim)
			switch {
			case strictness(raised.Safety()) < strictness(a.Safety()):
				t.Fatalf("%s is %v, and with the claim %s it is %v", a.Summary(), a.Safety(), claim.Summary(), raised.Safety())
			case raised.SafeToRetry() && !a.SafeToRetry():
				t.Fatalf("the claim %s made %s repeatable", claim.Summary(), a.Summary())
			case a.RateLimitHint != nil && *raised.RateLimitHint > *a.RateLimitHint:
				t.Fatalf("the claim %s widened the rate from %v to %v", claim.Summary(), *a.RateLimitHint, *raised.RateLimitHint)
			case a.EstimatedDuration > 0 && raised.EstimatedDuration > a.EstimatedDuration:
				t.Fatalf("the claim %s bought time: %v, was %v", claim.Summary(), raised.EstimatedDuration, a.EstimatedDuration)
			case keeps(raised) > keeps(a):
				t.Fatalf("the claim %s made %s last longer", claim.Summary(), a.Summary())
			case a.AuditRequired == yes && raised.AuditRequired != yes:
				t.Fatalf("the claim %s took the record away", claim.Summary())
			}
			a = raised
		}
	})
}

// keeps orders how long results may be used.
func keeps(a annotation.Annotations) int {
	switch {
	case a.Secret == yes:
		return 0
	case a.Freshness == annotation.Stable:
		return 3
	case a.Freshness == annotation.Shared:
		return 2
	}
	return 1
}

// The host's word is the last one: whatever lies below, each of the three hints
// that it sets comes out as it said.
func TestHostsWordOnAHintIsTheLast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		below := annotation.Raise(drawn(t, "inferred", annotation.Inferred), drawn(t, "claim", annotation.Declared))
		host := drawn(t, "host", annotation.Host)
		got := annotation.Merge(below, host)
		for _, h := range [][2]annotation.Hint{
			{host.ReadOnly, got.ReadOnly}, {host.Destructive, got.Destructive}, {host.RequiresConfirmation, got.RequiresConfirmation},
		} {
			if h[0] != unset && h[0] != h[1] {
				t.Fatalf("the host said %s over %s, and it became %s", host.Summary(), below.Summary(), got.Summary())
			}
		}
	})
}
