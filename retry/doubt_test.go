package retry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
)

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
		sent    bool // so that the end of the call is neither that it was not sent nor that it was refused
	}{
		{"lost, then not sent", annotation.Update(), []error{errLost, gone, gone}, true, true},
		{"lost, then refused", annotation.Update(), []error{errLost, refused, refused}, true, true},
		{"not sent, then lost, then not sent", annotation.Update(), []error{gone, errLost, gone}, true, true},
		{"lost, then not sent: B133 for too long", annotation.Update(), []error{errLost, &failure{refused: true, after: 1 << 50}}, true, true},
		{"never sent", annotation.Update(), []error{gone, gone, gone}, false, false},
		{"a read that was lost, then not sent", annotation.ReadOnly(), []error{errLost, gone, gone}, false, true},
		{"a read that was lost, then refused", annotation.ReadOnly(), []error{errLost, refused, refused}, false, true},
		{"a read that was lost, then refused for good", annotation.ReadOnly(), []error{errLost, &failure{refused: true, permanent: true}}, false, true},
		{"a read that was not sent, then lost, then refused", annotation.ReadOnly(), []error{gone, errLost, refused}, false, true},
		{"a read that was never sent", annotation.ReadOnly(), []error{gone, gone, gone}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := new(server)
				a := tt.a.Attribute(annotation.Host, "")
				_, err := s.attempt(t, retry.New(retry.Options{})(s), middleware.Call{Tool: testtool.New("files", "tool", a)}, tt.errs...)
				_, unknown := errors.AsType[*retry.OutcomeUnknownError](err)
				if unknown != tt.unknown || middleware.NotSent(err) == tt.sent || tt.sent && middleware.Refused(err) {
					t.Errorf("unknown %t, want %t: %v", unknown, tt.unknown, fmt.Sprint(err))
				}
				if told := middleware.ForModel(err); tt.sent && !strings.Contains(told, "may have run, but no result came") && !strings.Contains(told, "may or may not have happened") {
					t.Errorf("the model reads %q", told)
				}
			})
		})
	}
}
