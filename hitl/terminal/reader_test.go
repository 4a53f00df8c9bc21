package terminal_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
)

// typed is a keyboard: lines go through it while the bubble lives.
func keyboard(t *testing.T) (io.Reader, func(string)) {
	t.Helper()
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	return r, func(s string) {
		go func() { _, _ = io.WriteString(w, s) }() // a terminal keeps what nobody has read yet
		synctest.Wait()
	}
}

// typedAt is a terminal, as its file says.
type typedAt struct{ io.Reader }

func (typedAt) Stat() (fs.FileInfo, error) {
	f := fstest.MapFS{"tty": {Mode: fs.ModeDevice | fs.ModeCharDevice}}
	return f.Stat("tty")
}

// Who strikes a key twice at a terminal has answered one question, and not the next one,
// which was not to be seen yet. What is piped in comes all at once.
func TestLineTypedBeforeTheQuestionIsReadIsDiscarded(t *testing.T) {
	t.Parallel()
	for name, piped := range map[string]bool{"typed": false, "piped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in, typing := keyboard(t)
				if !piped {
					in = typedAt{in}
				}
				out, e := new(screen), new(executor)
				c := hitl.New(terminal.New(in, out), hitl.Options{})(guarded(e))
				ask := func() <-chan error {
					over := make(chan error, 1)
					go func() { _, err := c.CallTool(t.Context(), deletes(t)); over <- err }()
					synctest.Wait()
					return over
				}
				first := ask()
				time.Sleep(time.Second)
				typing("y\ny\n")
				if err := <-first; err != nil {
					t.Fatal(err)
				}
				second := ask()
				time.Sleep(time.Second)
				e.want(t, map[bool]int{false: 1, true: 2}[piped])
				if !piped {
					typing("n\n")
				}
				if err := <-second; errors.Is(err, hitl.ErrDenied) == piped {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestLineForAQuestionThatHasExpiredIsThrownAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, typed string
		before      bool // the second question is on the screen
	}{
		{"a yes before the next question", "y\n", true},
		{"a yes that stood half typed", "y\n", false},
		{"three in one breath", "y\ny\ny\n", true},
		{"an edit in one breath", "e\n{\"path\":\"/\"}\ny\n", true},
		{"three in one breath, when the next is on the screen", "y\ny\ny\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in, typing := keyboard(t)
				out, e := new(screen), new(executor)
				c := hitl.New(terminal.New(in, out), hitl.Options{})(guarded(e))
				_, err := c.CallTool(t.Context(), deletes(t)) // silence
				synctest.Wait()
				if !errors.Is(err, hitl.ErrDenied) || !strings.Contains(out.String(), "no answer here") {
					t.Fatalf("got error %v and\n%s", err, out)
				}
				if tt.before {
					typing(tt.typed)
					time.Sleep(time.Minute)
				}
				second := make(chan error, 1)
				go func() { _, err := c.CallTool(t.Context(), deletes(t)); second <- err }()
				synctest.Wait()
				if !tt.before {
					typing(tt.typed)
				}
				time.Sleep(5 * time.Second)
				select {
				case err := <-second:
					t.Fatalf("the old line answered the new question: %v", err)
				default:
				}
				e.want(t, 0)
				if !strings.Contains(out.String(), "is not taken as the answer") {
					t.Errorf("the person is not told:\n%s", out)
				}
				typing("y\n")
				if err := <-second; err != nil {
					t.Errorf("got error %v", err)
				}
				e.want(t, 1)
			})
		})
	}
}

func TestLateInputThatEndsIsADenial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		c := hitl.New(terminal.New(r, io.Discard), hitl.Options{})(guarded(new(executor)))
		_, _ = c.CallTool(t.Context(), deletes(t))
		go func() { _, _ = io.WriteString(w, "y"); _ = w.Close() }()
		synctest.Wait()
		_, err := c.CallTool(t.Context(), deletes(t))
		if !errors.Is(err, hitl.ErrDenied) || !strings.Contains(err.Error(), "the input has ended") {
			t.Errorf("got error %v", err)
		}
	})
}

func TestTerminalAsksOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, typing := keyboard(t)
		out := new(screen)
		terminal := terminal.New(in, out)
		e := new(executor)
		c := hitl.New(terminal, hitl.Options{})(guarded(e))
		type end struct {
			path string
			err  error
		}
		ends := make(chan end, 2)
		for _, path := range []string{"first.txt", "second.txt"} {
			its := deletes(t)
			its.Arguments = json.RawMessage(`{"path":"` + path + `"}`)
			go func() { _, err := c.CallTool(t.Context(), its); ends <- end{path, err} }()
			synctest.Wait()
		}
		if got := out.String(); !strings.Contains(got, "first.txt") || strings.Contains(got, "second.txt") {
			t.Fatalf("on the screen:\n%s", got)
		}
		typing("n\n")
		if got := <-ends; got.path != "first.txt" || !errors.Is(got.err, hitl.ErrDenied) {
			t.Errorf("got %+v", got)
		}
		synctest.Wait()
		if !strings.Contains(out.String(), "second.txt") {
			t.Fatalf("on the screen:\n%s", out)
		}
		typing("y\n")
		if got := <-ends; got.path != "second.txt" || got.err != nil {
			t.Errorf("got %+v", got)
		}
		e.want(t, 1)
	})
}

func TestQuestionThatExpiresInTheQueueIsNotShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, typing := keyboard(t)
		out := new(screen)
		terminal := terminal.New(in, out)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			_, _ = terminal.Confirm(ctx, asks(t, `{"path":"first.txt"}`))
		}()
		synctest.Wait()
		_, err := hitl.New(terminal, hitl.Options{})(guarded(new(executor))).CallTool(t.Context(), deletes(t))
		if !errors.Is(err, hitl.ErrDenied) || strings.Contains(out.String(), "a.txt") {
			t.Errorf("got error %v and\n%s", err, out)
		}
		typing("n\n")
	})
}

func TestOneGoroutineWaitsForInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := new(counting)
		reads.close = make(chan struct{})
		c := hitl.New(terminal.New(reads, io.Discard), hitl.Options{})(guarded(new(executor)))
		for range 5 {
			_, _ = c.CallTool(t.Context(), deletes(t))
		}
		reads.mu.Lock()
		defer reads.mu.Unlock()
		if reads.most != 1 || reads.now != 1 {
			t.Errorf("at most %d reads at once, %d left, want 1", reads.most, reads.now)
		}
		close(reads.close)
	})
}

// counting counts those who read from it at once; nothing is ever typed.
type counting struct {
	mu        sync.Mutex
	now, most int
	close     chan struct{}
}

func (c *counting) Read([]byte) (int, error) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	<-c.close
	return 0, io.EOF
}
