package hitl

import (
	"context"
	"errors"

	"github.com/fairlead-go/fairlead/safetext"
)

// TwoPeople returns a Confirmer for calls that need two people: it asks one and,
// after a yes, the other. Both have to give their names, of two people (see [safetext.SameName]), and
// neither may edit, since the other one would not have seen it. Their yes is for
// one call and is not remembered. It panics where one of them is nil.
func TwoPeople(first, second Confirmer) Confirmer {
	if first == nil || second == nil {
		panic("hitl: TwoPeople was given a nil Confirmer")
	}
	return ConfirmerFunc(func(ctx context.Context, request Request) (Decision, error) {
		request.Offers = nil
		one, err := first.Confirm(ctx, request)
		if err != nil || one.Verdict != Approved {
			return one, err
		}
		other, err := second.Confirm(ctx, request)
		switch {
		case err != nil || other.Verdict != Approved:
			return other, err
		case safetext.SameName(one.By, "") || safetext.SameName(other.By, "") || safetext.SameName(one.By, other.By):
			return Decision{}, errors.New("it needs two people, and they have not given two names")
		case one.Arguments != nil || other.Arguments != nil:
			return Decision{}, errors.New("it needs two people, and one of them has edited it")
		}
		return Decision{Verdict: Approved, By: one.By + " and " + other.By}, nil
	})
}

// DangerouslyApproveEveryCallWithoutAsking says yes to everything in nobody's name:
// for a sandbox in which nothing can be lost, and for tests. It is the one way to
// run dangerous calls without a person, and its name is to be found in any search.
// The guard, the grants and the record stay as they are.
func DangerouslyApproveEveryCallWithoutAsking() Confirmer {
	return ConfirmerFunc(func(context.Context, Request) (Decision, error) {
		return Decision{Verdict: Approved, By: "nobody: every call is approved without asking"}, nil
	})
}
