package annotation_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"pgregory.net/rapid"
)

const (
	unset = annotation.Unset
	no    = annotation.No
	yes   = annotation.Yes
)

// The seed appends the second layer's tags to the first's; ours are sorted, so
// that the order in which layers arrive changes nothing.
func TestMergeOfTheSeedSortsTagsWhereTheSeedAppends(t *testing.T) {
	t.Parallel()
	got := annotation.Merge(
		annotation.Annotations{ReadOnly: yes, Tags: []string{"data", "query"}},
		annotation.Annotations{Idempotent: yes, Tags: []string{"safe", "cacheable"}},
	)
	want := annotation.Annotations{ReadOnly: yes, Idempotent: yes, Tags: []string{"cacheable", "data", "query", "safe"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The inferred annotations of resetCounter in the seed, confirmation included, and the host's
// override: moderate and safe to retry.
func TestMergeResetCounterOfTheSeedIsModerateAndRetryable(t *testing.T) {
	t.Parallel()
	inferred := annotation.Annotations{Destructive: yes, RequiresConfirmation: yes, Complexity: annotation.Simple}
	host := annotation.Annotations{Destructive: no, Idempotent: yes}
	for name, below := range map[string]annotation.Annotations{
		"without evidence": inferred,
		"with evidence":    inferred.Attribute(annotation.Inferred, ""),
	} {
		got := annotation.Merge(below, host)
		if got.Safety() != annotation.Moderate || !got.SafeToRetry() {
			t.Errorf("%s: class %v, safe to retry %v", name, got.Safety(), got.SafeToRetry())
		}
		if got.Destructive != no || got.Idempotent != yes || got.RequiresConfirmation != unset {
			t.Errorf("%s: %s", name, got.Summary())
		}
	}
}

// A confirmation that has a reason of its own stays.
func TestMergeKeepsAConfirmationThatDidNotFollow(t *testing.T) {
	t.Parallel()
	word := func(f annotation.Field, word string) annotation.Evidence {
		return annotation.Evidence{Field: f, Value: "yes", Source: annotation.Inferred, Word: word}
	}
	both := annotation.Annotations{Destructive: yes, RequiresConfirmation: yes}
	for _, c := range []struct {
		name     string
		evidence []annotation.Evidence
		over     annotation.Annotations
		want     annotation.Hint
	}{
		{"the same word", []annotation.Evidence{word(annotation.DestructiveHint, "delete"), word(annotation.RequiresConfirmation, "delete")}, annotation.Annotations{Destructive: no}, unset},
		{"another word", []annotation.Evidence{word(annotation.DestructiveHint, "delete"), word(annotation.RequiresConfirmation, "send")}, annotation.Annotations{Destructive: no}, yes},
		{"one word more", []annotation.Evidence{
			word(annotation.DestructiveHint, "delete"), word(annotation.RequiresConfirmation, "delete"), word(annotation.RequiresConfirmation, "send"),
		}, annotation.Annotations{Destructive: no}, yes},
		{"the host's word on an inferred one", []annotation.Evidence{word(annotation.DestructiveHint, "delete")}, annotation.Annotations{Destructive: no}, yes},
		{"repeated", nil, annotation.Annotations{Destructive: no, RequiresConfirmation: yes}, yes},
		{"nothing said about destroying", nil, annotation.Annotations{Idempotent: yes}, yes},
	} {
		below := both
		below.Evidence = c.evidence
		if got := annotation.Merge(below, c.over).RequiresConfirmation; got != c.want {
			t.Errorf("%s: confirmation %v, want %v", c.name, got, c.want)
		}
	}
	alone := annotation.Annotations{RequiresConfirmation: yes}
	if got := annotation.Merge(alone, annotation.Annotations{Destructive: no}); got.RequiresConfirmation != yes || got.Safety() != annotation.Dangerous {
		t.Errorf("a confirmation alone was lifted: %s", got.Summary())
	}
}

func TestMergeResetPaginationOfTheSeedIsSafe(t *testing.T) {
	t.Parallel()
	inferred := annotation.Annotations{Destructive: yes, RequiresConfirmation: yes, Complexity: annotation.Simple}
	got := annotation.Merge(inferred, annotation.Annotations{Destructive: no, RequiresConfirmation: no, ReadOnly: yes, Idempotent: yes})
	want := annotation.Annotations{Destructive: no, RequiresConfirmation: no, ReadOnly: yes, Idempotent: yes, Complexity: annotation.Simple}
	if !reflect.DeepEqual(got, want) || got.Safety() != annotation.Safe {
		t.Errorf("got %s, class %v", got.Summary(), got.Safety())
	}
}

func TestMergeQueryMetricsOfTheSeedInheritsFromItsServer(t *testing.T) {
	t.Parallel()
	inferred := annotation.Annotations{ReadOnly: yes, Complexity: annotation.Simple}
	server := annotation.Annotations{ReadOnly: yes, SecurityLevel: annotation.Internal, AuditRequired: yes}
	got := annotation.Merge(inferred, server)
	want := annotation.Annotations{ReadOnly: yes, SecurityLevel: annotation.Internal, AuditRequired: yes, Complexity: annotation.Simple}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMergeLiftsWhatALaterLayerContradicts(t *testing.T) {
	t.Parallel()
	type a = annotation.Annotations
	for _, c := range []struct {
		name        string
		below, over a
		want        a
	}{
		{"read-only lifts destructive and confirmation", a{Destructive: yes, RequiresConfirmation: yes}, a{ReadOnly: yes}, a{ReadOnly: yes}},
		{"read-only lifts a declared no as well", a{ReadOnly: no, Destructive: no}, a{ReadOnly: yes}, a{ReadOnly: yes}},
		{"read-only with a confirmation of its own", a{Destructive: yes}, a{ReadOnly: yes, RequiresConfirmation: yes}, a{ReadOnly: yes, RequiresConfirmation: yes}},
		{"destructive lifts read-only", a{ReadOnly: yes, Idempotent: yes}, a{Destructive: yes}, a{Destructive: yes, Idempotent: yes}},
		{"destructive leaves a read-only no", a{ReadOnly: no}, a{Destructive: yes}, a{ReadOnly: no, Destructive: yes}},
		{"a conflict within one layer stays", a{}, a{ReadOnly: yes, Destructive: yes}, a{ReadOnly: yes, Destructive: yes}},
	} {
		if got := annotation.Merge(c.below, c.over); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got.Summary(), c.want.Summary())
		}
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	full := someFull().Attribute(annotation.Declared, "files")
	for _, f := range allFields {
		got := full.Without(f)
		if got.Attribute(annotation.Host, "").SourceOf(f) != annotation.Host || len(got.Evidence) != len(full.Evidence)-1 {
			t.Errorf("%s is still there: %s, evidence %v", f, got.Summary(), got.Evidence)
		}
		if again := annotation.Merge(got, full.Without(others(f)...)); again.Without().Summary() != full.Summary() {
			t.Errorf("%s came back as %s, want %s", f, again.Summary(), full.Summary())
		}
	}
	if got := full.Without(allFields...); got.Summary() != "[no annotations]" || len(got.Evidence) != 0 {
		t.Errorf("without every field there is %s, evidence %v", got.Summary(), got.Evidence)
	}
}

var allFields = []annotation.Field{
	annotation.ReadOnlyHint, annotation.DestructiveHint, annotation.IdempotentHint, annotation.OpenWorldHint,
	annotation.RequiresConfirmation, annotation.Title, annotation.Tags, annotation.EstimatedDuration,
	annotation.RateLimitHint, annotation.CostHint, annotation.ComplexityHint, annotation.AuditRequired,
	annotation.SecurityLevelHint, annotation.Category,
}

func others(f annotation.Field) []annotation.Field {
	return slices.DeleteFunc(slices.Clone(allFields), func(g annotation.Field) bool { return g == f })
}

// someFull sets every field, and no two of them contradict each other.
func someFull() annotation.Annotations {
	return annotation.Annotations{
		Title: "Add", ReadOnly: no, Destructive: no, Idempotent: yes, OpenWorld: no, RequiresConfirmation: no,
		Tags: []string{"a", "b"}, EstimatedDuration: 250 * time.Millisecond, RateLimitHint: new(60.0), CostHint: new(2.5),
		Complexity: annotation.Medium, AuditRequired: no, SecurityLevel: annotation.Internal, Category: "files",
	}
}

// random returns any annotations, each field set about half of the time.
func random(r *rand.Rand) annotation.Annotations {
	hint := func() annotation.Hint { return annotation.Hint(r.IntN(3)) }
	number := func() *float64 {
		if r.IntN(2) == 0 {
			return nil
		}
		return new([]float64{0, 0.5, 1, 3, 100, 1e5, 1e9}[r.IntN(7)])
	}
	return annotation.Annotations{
		Title: pick(r, "", "", "one", "two"), ReadOnly: hint(), Destructive: hint(), Idempotent: hint(), OpenWorld: hint(),
		RequiresConfirmation: hint(), Tags: pick(r, nil, nil, []string{"a"}, []string{"c", "b"}),
		EstimatedDuration: pick(r, 0, 0, time.Duration(r.Int64N(int64(time.Hour)))), RateLimitHint: number(), CostHint: number(),
		Complexity: pick(r, "", annotation.Simple, annotation.Medium, annotation.Complex), AuditRequired: hint(),
		SecurityLevel: pick(r, "", annotation.Public, annotation.Internal, annotation.Restricted), Category: pick(r, "", "web"),
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// A seed that is printed, so that a failure can be had again.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestMergeProperties(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 4_000 / longtest.Every(t, 10) {
		a, b := random(r), random(r)
		a, b = a.Attribute(annotation.Inferred, ""), b.Attribute(annotation.Declared, "files")
		beforeA, beforeB := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b)
		got := annotation.Merge(a, b)
		if now := fmt.Sprintf("%+v", a); now != beforeA {
			t.Fatalf("Merge wrote to its first layer: was %s, is %s", beforeA, now)
		}
		if now := fmt.Sprintf("%+v", b); now != beforeB {
			t.Fatalf("Merge wrote to its second layer: was %s, is %s", beforeB, now)
		}
		for _, f := range allFields {
			fromA, fromB, out := value(a, f), value(b, f), value(got, f)
			switch {
			case f == annotation.Tags:
				for _, tag := range slices.Concat(a.Tags, b.Tags) {
					if !slices.Contains(got.Tags, tag) {
						t.Fatalf("%q is missing from the tags %q", tag, got.Tags)
					}
				}
				if !slices.IsSorted(got.Tags) || len(slices.Compact(slices.Clone(got.Tags))) != len(got.Tags) {
					t.Fatalf("the tags %q are not sorted, or one occurs twice", got.Tags)
				}
			case fromB != "" && out != fromB:
				t.Fatalf("%s: the later layer has %q, and the result %q", f, fromB, out)
			case fromB == "" && out != fromA && out != "":
				t.Fatalf("%s: the later layer has nothing, the earlier %q, and the result %q", f, fromA, out)
			case fromB == "" && out != fromA && !slices.Contains([]annotation.Field{
				annotation.ReadOnlyHint, annotation.DestructiveHint, annotation.RequiresConfirmation,
			}, f):
				t.Fatalf("%s: silence took %q away", f, fromA)
			}
			if out != "" && f != annotation.Tags {
				want := annotation.Inferred
				if fromB != "" {
					want = annotation.Declared
				}
				if got.SourceOf(f) != want {
					t.Fatalf("%s comes from %v, want %v; evidence %v", f, got.SourceOf(f), want, got.Evidence)
				}
			}
		}
		if one := annotation.Merge(got); !reflect.DeepEqual(value(one, annotation.Tags), value(got, annotation.Tags)) || one.Safety() != got.Safety() {
			t.Fatalf("merging one layer changes it: %s, %s", one.Summary(), got.Summary())
		}
	}
}

// value returns one field of a as text, "" if it is unset.
func value(a annotation.Annotations, f annotation.Field) string {
	a = a.Attribute(annotation.Host, "")
	for _, e := range a.Evidence {
		if e.Field == f {
			return e.Value
		}
	}
	return ""
}

// Every field, and the one direction that an untrusted claim may move it. "kept" is what the host
// or inference had.
func TestRaiseMovesEveryFieldToItsStricterSideOnly(t *testing.T) {
	t.Parallel()
	type a = annotation.Annotations
	huge, second := 200*time.Hour, time.Second
	for _, c := range []struct {
		field             annotation.Field
		kept, claim, want a
	}{
		{annotation.ReadOnlyHint, a{}, a{ReadOnly: yes}, a{}},
		{annotation.ReadOnlyHint, a{ReadOnly: no}, a{ReadOnly: yes}, a{ReadOnly: no}},
		{annotation.ReadOnlyHint, a{ReadOnly: yes}, a{ReadOnly: no}, a{ReadOnly: no}},
		{annotation.ReadOnlyHint, a{}, a{ReadOnly: no}, a{ReadOnly: no}},
		{annotation.DestructiveHint, a{}, a{Destructive: no}, a{}},
		{annotation.DestructiveHint, a{Destructive: yes}, a{Destructive: no}, a{Destructive: yes}},
		{annotation.DestructiveHint, a{Destructive: no}, a{Destructive: yes}, a{Destructive: yes}},
		{annotation.IdempotentHint, a{}, a{Idempotent: yes}, a{}},
		{annotation.IdempotentHint, a{Idempotent: yes}, a{Idempotent: no}, a{Idempotent: no}},
		{annotation.OpenWorldHint, a{}, a{OpenWorld: no}, a{}},
		{annotation.OpenWorldHint, a{OpenWorld: no}, a{OpenWorld: yes}, a{OpenWorld: yes}},
		{annotation.RequiresConfirmation, a{RequiresConfirmation: yes}, a{RequiresConfirmation: no}, a{RequiresConfirmation: yes}},
		{annotation.RequiresConfirmation, a{RequiresConfirmation: no}, a{RequiresConfirmation: yes}, a{RequiresConfirmation: yes}},
		{annotation.Title, a{}, a{Title: "theirs"}, a{Title: "theirs"}},
		{annotation.Title, a{Title: "ours"}, a{Title: "theirs"}, a{Title: "ours"}},
		{annotation.Tags, a{Tags: []string{"ours"}}, a{Tags: []string{"theirs", "ours"}}, a{Tags: []string{"ours", "theirs"}}},
		{annotation.EstimatedDuration, a{}, a{EstimatedDuration: second}, a{EstimatedDuration: second}},
		{annotation.EstimatedDuration, a{}, a{EstimatedDuration: huge}, a{EstimatedDuration: 10 * second}},
		{annotation.EstimatedDuration, a{EstimatedDuration: second}, a{EstimatedDuration: huge}, a{EstimatedDuration: second}},
		{annotation.EstimatedDuration, a{EstimatedDuration: time.Minute}, a{EstimatedDuration: second}, a{EstimatedDuration: second}},
		{annotation.EstimatedDuration, a{EstimatedDuration: second}, a{EstimatedDuration: -second}, a{EstimatedDuration: second}},
		{annotation.RateLimitHint, a{}, a{RateLimitHint: new(60.0)}, a{RateLimitHint: new(60.0)}},
		{annotation.RateLimitHint, a{RateLimitHint: new(10.0)}, a{RateLimitHint: new(60.0)}, a{RateLimitHint: new(10.0)}},
		{annotation.RateLimitHint, a{RateLimitHint: new(60.0)}, a{RateLimitHint: new(10.0)}, a{RateLimitHint: new(10.0)}},
		{annotation.RateLimitHint, a{RateLimitHint: new(60.0)}, a{RateLimitHint: new(0.0)}, a{RateLimitHint: new(1.0)}},
		{annotation.RateLimitHint, a{RateLimitHint: new(0.0)}, a{RateLimitHint: new(60.0)}, a{RateLimitHint: new(0.0)}},
		{annotation.RateLimitHint, a{}, a{RateLimitHint: new(math.NaN())}, a{}},
		{annotation.RateLimitHint, a{}, a{RateLimitHint: new(math.Inf(1))}, a{}},
		{annotation.CostHint, a{}, a{CostHint: new(0.0)}, a{}},
		{annotation.CostHint, a{CostHint: new(5.0)}, a{CostHint: new(0.0)}, a{CostHint: new(5.0)}},
		{annotation.CostHint, a{CostHint: new(5.0)}, a{CostHint: new(7.0)}, a{CostHint: new(7.0)}},
		{annotation.CostHint, a{}, a{CostHint: new(1e300)}, a{CostHint: new(1e6)}},
		{annotation.CostHint, a{}, a{CostHint: new(math.Inf(1))}, a{}},
		{annotation.ComplexityHint, a{}, a{Complexity: annotation.Simple}, a{}},
		{annotation.ComplexityHint, a{Complexity: annotation.Complex}, a{Complexity: annotation.Simple}, a{Complexity: annotation.Complex}},
		{annotation.ComplexityHint, a{Complexity: annotation.Simple}, a{Complexity: annotation.Medium}, a{Complexity: annotation.Medium}},
		{annotation.ComplexityHint, a{}, a{Complexity: "extreme"}, a{}},
		{annotation.FreshnessHint, a{}, a{Freshness: annotation.Stable}, a{}},
		{annotation.FreshnessHint, a{}, a{Freshness: annotation.Shared}, a{}},
		{annotation.FreshnessHint, a{Freshness: annotation.Stable}, a{Freshness: annotation.Shared}, a{Freshness: annotation.Shared}},
		{annotation.FreshnessHint, a{Freshness: annotation.Shared}, a{Freshness: annotation.Volatile}, a{Freshness: annotation.Volatile}},
		{annotation.FreshnessHint, a{Freshness: annotation.Shared}, a{Freshness: annotation.Stable}, a{Freshness: annotation.Shared}},
		{annotation.FreshnessHint, a{Freshness: annotation.Volatile}, a{Freshness: annotation.Shared}, a{Freshness: annotation.Volatile}},
		{annotation.FreshnessHint, a{Freshness: annotation.Stable}, a{Freshness: "never"}, a{Freshness: annotation.Stable}},
		{annotation.SecretHint, a{}, a{Secret: yes}, a{Secret: yes}},
		{annotation.SecretHint, a{Secret: yes}, a{Secret: no}, a{Secret: yes}},
		{annotation.AuditRequired, a{AuditRequired: yes}, a{AuditRequired: no}, a{AuditRequired: yes}},
		{annotation.AuditRequired, a{}, a{AuditRequired: no}, a{}},
		{annotation.AuditRequired, a{}, a{AuditRequired: yes}, a{AuditRequired: yes}},
		{annotation.SecurityLevelHint, a{SecurityLevel: annotation.Restricted}, a{SecurityLevel: annotation.Public}, a{SecurityLevel: annotation.Restricted}},
		{annotation.SecurityLevelHint, a{}, a{SecurityLevel: annotation.Public}, a{}},
		{annotation.SecurityLevelHint, a{SecurityLevel: annotation.Internal}, a{SecurityLevel: annotation.Restricted}, a{SecurityLevel: annotation.Restricted}},
		{annotation.Category, a{}, a{Category: "theirs"}, a{Category: "theirs"}},
		{annotation.Category, a{Category: "ours"}, a{Category: "theirs"}, a{Category: "ours"}},
	} {
		got := annotation.Raise(c.kept, c.claim)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %s with the claim %s is %s, want %s", c.field, c.kept.Summary(), c.claim.Summary(), got.Summary(), c.want.Summary())
		}
	}
}

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

func TestRaiseNeverLowersAClass(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 10_000 / longtest.Every(t, 10) {
		a := random(r).Attribute(annotation.Inferred, "")
		claim := random(r).Attribute(annotation.Declared, "evil")
		before := fmt.Sprintf("%+v %+v", a, claim)
		got := annotation.Raise(a, claim)
		if now := fmt.Sprintf("%+v %+v", a, claim); now != before {
			t.Fatalf("Raise wrote to what it was handed: was %s, is %s", before, now)
		}
		if strictness(got.Safety()) < strictness(a.Safety()) {
			t.Fatalf("%s is %v, and with the claim %s it is %v", a.Summary(), a.Safety(), claim.Summary(), got.Safety())
		}
		if got.SafeToRetry() && !a.SafeToRetry() || a.MustConfirm() && !got.MustConfirm() {
			t.Fatalf("%s with the claim %s: safe to retry %v → %v, confirm %v → %v", a.Summary(), claim.Summary(),
				a.SafeToRetry(), got.SafeToRetry(), a.MustConfirm(), got.MustConfirm())
		}
		if again := annotation.Raise(got, claim); !reflect.DeepEqual(again, got) {
			t.Fatalf("the same claim a second time: %s, then %s", got.Summary(), again.Summary())
		}
		for _, f := range allFields {
			if f != annotation.Tags && value(got, f) != value(a, f) && got.SourceOf(f) != annotation.Declared {
				t.Fatalf("%s was raised, and its evidence is %v", f, got.SourceOf(f))
			}
		}
	}
}

func ExampleMerge() {
	inferred := annotation.Annotations{Destructive: annotation.Yes, Tags: []string{"counter"}}
	host := annotation.Annotations{Destructive: annotation.No, Idempotent: annotation.Yes, Tags: []string{"admin"}}
	a := annotation.Merge(inferred, host)
	fmt.Println(a.Safety(), a.SafeToRetry(), a.Tags)
	// Output: moderate true [admin counter]
}

func ExampleRaise() {
	inferred := annotation.ReadOnly()
	fmt.Println(annotation.Raise(inferred, annotation.Destructive()).Safety())
	fmt.Println(annotation.Raise(annotation.Destructive(), inferred).Safety())
	// Output:
	// dangerous
	// dangerous
}

func ExampleAnnotations_Without() {
	a := annotation.Annotations{ReadOnly: annotation.Yes, Title: "List"}
	fmt.Println(a.Without(annotation.ReadOnlyHint).Summary())
	// Output: [List]
}

func TestYield(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		claim, word, want annotation.Annotations
	}{
		{"to nothing", annotation.Destructive(), annotation.Annotations{}, annotation.Destructive()},
		{"to tags", annotation.Annotations{Tags: []string{"a"}, Title: "x"}, annotation.Annotations{Tags: []string{"b"}}, annotation.Annotations{Tags: []string{"a"}, Title: "x"}},
		{"what the word sets", annotation.Annotations{ReadOnly: no, Destructive: no, Title: "x"}, annotation.Annotations{ReadOnly: no}, annotation.Annotations{Destructive: no, Title: "x"}},
		{"what the word lifts", annotation.Annotations{Destructive: yes, RequiresConfirmation: yes, OpenWorld: yes}, annotation.Annotations{ReadOnly: yes}, annotation.Annotations{OpenWorld: yes}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			claim := c.claim.Attribute(annotation.Declared, "srv")
			before := claim.Summary()
			got := claim.Yield(c.word.Attribute(annotation.Host, ""))
			if got.Summary() != c.want.Summary() || claim.Summary() != before {
				t.Errorf("got %s, want %s", got.Summary(), c.want.Summary())
			}
			for _, e := range got.Evidence {
				if e.Source != annotation.Declared {
					t.Errorf("got the evidence %v", e)
				}
			}
		})
	}
}

// With any claim beside the host's setting, the class is not less strict than with the host's
// setting alone.
func TestYieldedClaimsLowerNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inferred, claim, word := drawn(t, "inferred", annotation.Inferred), drawn(t, "claim", annotation.Declared), drawn(t, "word", annotation.Host)
		silent := annotation.Merge(inferred, word)
		said := annotation.Raise(silent, claim.Yield(word))
		if strictness(said.Safety()) < strictness(silent.Safety()) || said.SafeToRetry() && !silent.SafeToRetry() {
			t.Fatalf("without the claim %s, with it %s", silent.Summary(), said.Summary())
		}
	})
}
