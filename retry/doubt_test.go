package retry_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
)

// What the last attempt has for the model is about that one alone.
func TestModelIsNotToldThatAReadDidNotHappenWhichMayHave(t *testing.T) {
	t.Parallel()
	turned := fault.Told(&failure{refused: true}, false, "Nothing has happened.")
	for name, errs := range map[string][]error{
		"files__tool failed 3 times. Wait before you call it again, use another tool, or tell the user.":                       {errLost, turned, turned},
		"files__tool failed 3 times. Wait before you call it again, use another tool, or tell the user. Nothing has happened.": {turned, turned, turned},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := new(server)
			a := annotation.ReadOnly()
			_, err := s.attempt(t, retry.New(retry.Options{})(s), middleware.Call{Tool: testtool.New("files", "tool", a.Attribute(annotation.Host, ""))}, errs...)
			if got := middleware.ForModel(err); got != name {
				t.Errorf("got  %s\nwant %s", got, name)
			}
		})
	}
}

// An update that was lost on its way may have happened, whatever became of the
// attempts after it.
func TestLaterAttemptDoesNotHideAnEarlierOneThatMayHaveArrived(t *testing.T) {
	t.Parallel()
	gone, refused := &failure{notSent: true}, &failure{refused: true}
	for _, tt := range []struct {
		name    string
		a       annotation.Annotations
		errs    []error
		unknown bool
	}{
		{"lost, then not sent", annotation.Update(), []error{errLost, gone, gone}, true},
		{"lost, then refused", annotation.Update(), []error{errLost, refused, refused}, true},
		{"not sent, then lost, then not sent", annotation.Update(), []error{gone, errLost, gone}, true},
		{"lost, then not sent: B133 for too long", annotation.Update(), []error{errLost, &failure{refused: true, after: 1 << 50}}, true},
		{"never sent", annotation.Update(), []error{gone, gone, gone}, false},
		{"a read", annotation.ReadOnly(), []error{errLost, gone, gone}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := new(server)
				a := tt.a.Attribute(annotation.Host, "")
				_, err := s.attempt(t, retry.New(retry.Options{})(s), middleware.Call{Tool: testtool.New("files", "tool", a)}, tt.errs...)
				_, unknown := errors.AsType[*retry.OutcomeUnknownError](err)
				sent := slices.Contains(tt.errs, errLost) // so that the call as a whole was neither refused nor left unsent
				if unknown != tt.unknown || middleware.NotSent(err) == sent || middleware.Refused(err) {
					t.Errorf("unknown %t, want %t: %v", unknown, tt.unknown, fmt.Sprint(err))
				}
			})
		})
	}
}
