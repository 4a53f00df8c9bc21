package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server answers each attempt with the next error of its list, and then well.
type server struct {
	mu       sync.Mutex
	errs     []error
	attempts int
}

func (s *server) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	if len(s.errs) == 0 {
		return answer, nil
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	if err == nil {
		return answer, nil
	}
	return nil, err
}

func of(t *testing.T, server string) middleware.Call {
	t.Helper()
	tool, err := middleware.NewTool(server, &mcp.Tool{Name: "read"}, annotation.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	return middleware.Call{Tool: tool}
}

// attempt makes a call and returns how often it was tried.
func (s *server) attempt(t *testing.T, c middleware.ToolCaller, call middleware.Call, errs ...error) (attempts int, err error) {
	t.Helper()
	s.errs, s.attempts = errs, 0
	_, err = c.CallTool(t.Context(), call)
	return s.attempts, err
}

func overBudget(err error) bool {
	e, ok := errors.AsType[*retry.ExhaustedError](err)
	return ok && e.OverBudget
}

func TestServerInTroubleIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		c := retry.New(retry.Options{Attempts: 2})(s)
		repeated := 0
		for range 150 {
			start := time.Now()
			attempts, err := s.attempt(t, c, of(t, "files"), errLost, errLost)
			repeated += attempts - 1
			if got, want := overBudget(err), repeated == 100 && attempts == 1; got != want {
				t.Fatalf("after %d repetitions: over the budget %t, want %t: %v", repeated, got, want, err)
			}
			if attempts == 1 && time.Since(start) > 0 {
				t.Errorf("a call over the budget took %v, want none", time.Since(start))
			}
			if !errors.Is(err, errLost) || !errors.Is(err, retry.ErrExhausted) {
				t.Fatalf("got %v, want the last error in its tree", err)
			}
		}
		if repeated != 100 {
			t.Errorf("a server that is down got %d repetitions, want 500/5", repeated)
		}
		if attempts, err := s.attempt(t, c, of(t, "mail"), errLost); attempts != 2 || err != nil {
			t.Errorf("another server: got %d attempts and %v, want 2 and none", attempts, err)
		}
		for n := range 5 {
			if attempts, err := s.attempt(t, c, of(t, "files"), errLost); attempts != 1 || !overBudget(err) {
				t.Errorf("after %d calls that succeeded at once: got %d attempts and %v", n, attempts, err)
			}
			s.attempt(t, c, of(t, "files"))
		}
		if attempts, err := s.attempt(t, c, of(t, "files"), errLost); attempts != 2 || err != nil {
			t.Errorf("after 5 calls that succeeded at once: got %d attempts and %v, want one repetition", attempts, err)
		}
	})
}

func TestCostOfRepetitions(t *testing.T) {
	t.Parallel()
	timeout := &net.OpError{Op: "read", Err: context.DeadlineExceeded}
	for _, tt := range []struct {
		name string
		err  error
		want int // repetitions of calls that go on failing, from 20 tokens
	}{
		{"a failure", errLost, 4},
		{"not sent", &failure{notSent: true}, 4},
		{"B125: cut off after execution", fmt.Errorf("read: %w", context.DeadlineExceeded), 2},
		{"a timeout of the net", timeout, 2},
		{"refused before execution", &failure{refused: true}, 20},
		{"refused before execution, paced", &failure{refused: true, after: time.Second}, 20},
		{"refused by a limiter of the host's", &failure{notSent: true, after: time.Second}, 20},
		{"a server that only asks to be left alone", &failure{after: time.Second}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := new(server)
				c := retry.New(retry.Options{Attempts: 2, Budget: 20})(s)
				repeated := 0
				for range 20 {
					attempts, err := s.attempt(t, c, of(t, "files"), tt.err, tt.err)
					if err == nil {
						t.Fatal("got no error")
					}
					repeated += attempts - 1
				}
				if repeated != tt.want {
					t.Errorf("got %d repetitions, want %d", repeated, tt.want)
				}
			})
		})
	}
}

func TestRepetitionThatSucceedsCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		c := retry.New(retry.Options{Attempts: 3, Budget: 10})(s)
		for range 100 {
			if attempts, err := s.attempt(t, c, of(t, "files"), errLost); attempts != 2 || err != nil {
				t.Fatalf("got %d attempts and %v, want 2 and none", attempts, err)
			}
		}
		for range 3 { // the second of three attempts is paid for, the third given back
			s.attempt(t, c, of(t, "files"), errLost, errLost)
		}
		if attempts, err := s.attempt(t, c, of(t, "files"), errLost); attempts != 1 || !overBudget(err) {
			t.Errorf("got %d attempts and %v, want the budget spent", attempts, err)
		}
	})
}

func TestRepetitionThatIsGivenUpCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		c := retry.New(retry.Options{Attempts: 2, Budget: 5, First: time.Second, Rand: always(0.9)})(s)
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			s.errs, s.attempts = []error{errLost}, 0
			if _, err := c.CallTool(ctx, of(t, "files")); s.attempts != 1 || !errors.Is(err, context.Canceled) {
				t.Fatalf("got %d attempts and %v, want a cancelled wait", s.attempts, err)
			}
		}
	})
}

func TestBudgetNeverHoldsMoreThanItsTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		c := retry.New(retry.Options{Attempts: 2, Budget: 10})(s)
		s.attempt(t, c, of(t, "files"), errLost, errLost)
		for range 1000 {
			s.attempt(t, c, of(t, "files"))
		}
		repeated := 0
		for range 10 {
			attempts, _ := s.attempt(t, c, of(t, "files"), errLost, errLost)
			repeated += attempts - 1
		}
		if repeated != 2 {
			t.Errorf("got %d repetitions from 10 tokens, want 2", repeated)
		}
	})
}

// The chains that one value is used in share its budget, since the server is the same.
func TestChainsOfOneValueShareItsBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := retry.New(retry.Options{Attempts: 2, Budget: 5}), new(server)
		left, right := m(s), m(s)
		s.attempt(t, left, of(t, "files"), errLost, errLost)
		if attempts, _ := s.attempt(t, right, of(t, "files"), errLost, errLost); attempts != 1 {
			t.Errorf("got %d attempts, want another's repetition to count", attempts)
		}
		if attempts, _ := s.attempt(t, left, middleware.Call{}, &failure{notSent: true}); attempts != 2 {
			t.Errorf("a call without a tool: got %d attempts, want 2", attempts)
		}
	})
}

// Concurrent calls draw on one budget, and never on more than there is.
func TestBudgetIsSharedByConcurrentCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		attempts := 0
		c := retry.New(retry.Options{Attempts: 3})(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			mu.Lock()
			defer mu.Unlock()
			attempts++
			return nil, errLost
		}))
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() { _, _ = c.CallTool(t.Context(), of(t, "files")) })
		}
		wg.Wait()
		if attempts != 1100 {
			t.Errorf("a thousand calls of a server that is down made %d attempts, want 1,100", attempts)
		}
	})
}

// The outcome of a payment over the budget is as unknown as that of any other.
func TestCallOverBudgetKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		c := retry.New(retry.Options{Attempts: 3, Budget: 5})(s)
		pay := middleware.Call{Tool: testtool.New("files", "tool", annotation.Destructive())}
		lost := &failure{notSent: true}
		attempts, err := s.attempt(t, c, pay, lost, lost, lost)
		if attempts != 2 || !overBudget(err) || !middleware.NotSent(err) {
			t.Errorf("got %d attempts and %v, want 2 and an error that is not sent", attempts, err)
		}
		if !strings.Contains(err.Error(), "wait before the next call") {
			t.Errorf("%v does not say what to do", err)
		}
		attempts, err = s.attempt(t, c, pay, errLost)
		if _, unknown := errors.AsType[*retry.OutcomeUnknownError](err); attempts != 1 || !unknown {
			t.Errorf("got %d attempts and %v, want 1 and an unknown outcome", attempts, err)
		}
	})
}

func TestNewRefusesANegativeBudget(t *testing.T) {
	t.Parallel()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "retry: Options.Budget") {
			t.Errorf("got panic %q", got)
		}
	}()
	retry.New(retry.Options{Budget: -1})
}
