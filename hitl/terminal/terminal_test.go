package terminal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A screen is what a terminal shows.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func asks(tb testing.TB, arguments string) hitl.Request {
	tb.Helper()
	return hitl.Request{
		Tool: tool(tb, "delete", annotation.Destructive()), Arguments: json.RawMessage(arguments), Deadline: time.Now().Add(30 * time.Second),
	}
}

func TestTerminalUnderstandsItsLetters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, typed string
		want        hitl.Decision
		err         string
		shown       string
	}{
		{"y", "y\n", yes, "", `"a.txt"`},
		{"yes, with space and capitals", "  YES \n", yes, "", ""},
		{"a return of Windows", "y\r\n", yes, "", ""},
		{"y at the end of the input", "y", yes, "", ""},
		{"n", "n\n", hitl.Decision{}, "", ""},
		{"No", "No\n", hitl.Decision{}, "", ""},
		{"nothing", "\n", hitl.Decision{}, "", ""},
		{"blanks", "  \t \n", hitl.Decision{}, "", ""},
		{"ok", "OK!\n", yes, "", ""},
		{"sure", "sure\n", yes, "", ""},
		{"a polite yes", "yes please\n", yes, "", ""},
		{"nope", "nope.\n", hitl.Decision{}, "", ""},
		{"guidance that was asked for", "i\n  archive it instead \n", hitl.Decision{Reason: "archive it instead"}, "", "do instead?"},
		{"no guidance after all", "instead\n\n", hitl.Decision{}, "", ""},
		{"guidance, and then the end", "i\n", hitl.Decision{}, "the input has ended", ""},
		{"guidance that was not asked for", "archive it\ny\n", yes, "", "\"archive it\" is neither a yes nor a no; nothing was decided"},
		{"neither, to the end", "maybe\n", hitl.Decision{}, "the input has ended", "n denies, i denies and takes a line"},
		{"help, and then a yes", "?\ny\n", yes, "", "y approves this call once"},
		{"a yes of another alphabet", "ｙ\nn\n", hitl.Decision{}, "", "neither a yes nor a no"},
		{"the end of the input", "", hitl.Decision{}, "the input has ended", "denied"},
		{"details, and then a yes", "d\ny\n", yes, "", ""},
		{"the words for letters", "details\nEdit\n{\"n\":1}\ny\n", hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"n":1}`)}, "", ""},
		{"details, and then the end", "d\n", hitl.Decision{}, "the input has ended", ""},
		{"edit", "e\n{\"path\":\"b.txt\"}\ny\n", hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"path":"b.txt"}`)}, "", `"b.txt"`},
		{"edit, and then a no", "e\n{\"path\":\"b.txt\"}\nn\n", hitl.Decision{}, "", ""},
		{"edit, and then nothing", "e\n{\"path\":\"b.txt\"}\n", hitl.Decision{}, "the input has ended", ""},
		{"edit, twice", "e\n{\"n\":1}\ne\n{\"n\":2}\ny\n", hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"n":2}`)}, "", ""},
		{"edit into what is no object", "e\n[1]\ny\n", yes, "", "nothing was changed"},
		{"edit into what is no JSON", "e\n{path}\nn\n", hitl.Decision{}, "", "nothing was changed"},
		{"edit and give nothing", "e\n\ny\n", yes, "", "nothing was changed"},
		{"edit, and then the end", "e\n", hitl.Decision{}, "the input has ended", ""},
		{"y is no answer to what the new arguments are", "e\ny\nn\n", hitl.Decision{}, "", "nothing was changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := new(screen)
			got, err := terminal.New(strings.NewReader(tt.typed), out).Confirm(t.Context(), asks(t, `{"path":"a.txt"}`))
			if got.Verdict != tt.want.Verdict || got.Reason != tt.want.Reason || string(got.Arguments) != string(tt.want.Arguments) {
				t.Errorf("got %+v (%s), want %+v (%s)", got, got.Arguments, tt.want, tt.want.Arguments)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || err.Error() != tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
			if !strings.Contains(out.String(), tt.shown) {
				t.Errorf("no %q in %s", tt.shown, out)
			}
		})
	}
}

// Half a line before the terminal broke is no answer.
func TestBrokenTerminalIsADenial(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	got, err := terminal.New(io.MultiReader(strings.NewReader("y"), iotest.ErrReader(broken)), io.Discard).Confirm(t.Context(), asks(t, `{}`))
	if !errors.Is(err, broken) || got.Verdict != hitl.Denied {
		t.Errorf("got %+v and error %v", got, err)
	}
}

func TestTerminalShowsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		request := asks(t, `{"path":"a.txt","options":{"force":true}}`)
		request.Tool.Definition.Description = "Delete a file."
		request.Why, request.Undo, request.Scope = "the user asked for it", "none", "ann"
		_, _ = terminal.New(strings.NewReader("n\n"), out).Confirm(t.Context(), request)
		const want = `
  ╭─ files/delete: dangerous
  │ read-only     no    inferred
  │ destructive   yes   inferred
  │ idempotent    no    inferred
  │ does         Delete a file.
  │ why          the user asked for it
  │ undo         none
  │ scope        ann
  │   {
  │     "path": "a.txt",
  │     "options": {
  │       "force": true
  │     }
  │   }
  ╰─
  Allow? [y]es  [N]o  [i]nstead  [e]dit  [d]etails  [?] (30s left): `
		if got := out.String(); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}

// What a server or a model wrote moves no cursor, reorders and hides nothing.
func TestTerminalEscapesWhatOthersWrote(t *testing.T) {
	t.Parallel()
	const hostile = "ok\x1b[2J\x1b]52;c;cm0=\x07\u202egpj.exe\u200b\U000e0041\r\nfake: yes\u0085\u2028"
	blank := strings.Repeat("\n", 200)
	for _, tt := range []struct {
		name   string
		change func(*hitl.Request)
		want   string
	}{
		{"description", func(r *hitl.Request) { r.Tool.Definition.Description = hostile }, `\x1b[2J`},
		{"description with 200 blank lines", func(r *hitl.Request) { r.Tool.Definition.Description = "Get" + blank + "and delete" }, `Get⟦200 newlines⟧and delete`},
		{"a long description", func(r *hitl.Request) { r.Tool.Definition.Description = strings.Repeat("x", 5000) }, `xxx…⟦`},
		{"a long description of escapes", func(r *hitl.Request) { r.Tool.Definition.Description = strings.Repeat("\u202e", 5000) }, `\u202e…⟦`},
		{"name", func(r *hitl.Request) { r.Tool.Definition.Name = hostile }, `\x1b[2J`},
		{"name with 200 blank lines", func(r *hitl.Request) { r.Tool.Definition.Name = "get" + blank + "x" }, `get⟦200 newlines⟧x: dangerous`},
		{"B119: arguments", func(r *hitl.Request) {
			r.Arguments = json.RawMessage("{\"a\":\"\u202e\u200b\u2028\U000e0041\u009b8m\",\"b\":\"\\u001b[2J\"}")
		}, `\u202e`},
		{"a name in the arguments", func(r *hitl.Request) { r.Arguments = json.RawMessage("{\"a\u202eb\":1}") }, `a\u202eb`},
		{"why", func(r *hitl.Request) { r.Why = hostile }, `\x1b[2J`},
		{"undo", func(r *hitl.Request) { r.Undo = hostile }, `\x1b[2J`},
		{"scope", func(r *hitl.Request) { r.Scope = hostile }, `\x1b[2J`},
		{"server", func(r *hitl.Request) { r.Tool.Server = hostile }, `\x1b[2J`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, request := new(screen), asks(t, `{}`)
			tt.change(&request)
			_, _ = terminal.New(strings.NewReader("d\nn\n"), out).Confirm(t.Context(), request)
			got := out.String()
			if !strings.Contains(got, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, got)
			}
			for _, r := range got {
				if r != '\n' && !unicode.IsPrint(r) {
					t.Fatalf("%U reaches the screen in\n%q", r, got)
				}
			}
			for line := range strings.Lines(got) {
				if fake := strings.TrimLeft(line, " "); strings.HasPrefix(fake, "fake") {
					t.Errorf("a line of its own: %q", line)
				}
				if len(line) > 400 {
					t.Errorf("a line of %d bytes", len(line))
				}
			}
		})
	}
}

func TestTerminalTakesNoApprovalOfWhatItDidNotShow(t *testing.T) {
	t.Parallel()
	long := `{"body":"` + strings.Repeat("x", 200_000) + `"}`
	const refused = "so nothing was approved; d shows all"
	for _, tt := range []struct {
		name, typed string
		want        hitl.Verdict
		shown       string
	}{
		{"y", "y\n", hitl.Denied, refused},
		{"s", "s\n", hitl.Denied, refused},
		{"y, twice", "y\ny\n", hitl.Denied, refused},
		{"no", "n\n", hitl.Denied, ""},
		{"y after all of it", "d\ny\n", hitl.Approved, ""},
		{"y, then after all of it", "y\nd\ns\n", hitl.Approved, refused},
		{"edited to what is short", "e\n{}\ny\n", hitl.Approved, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for what, request := range map[string]hitl.Request{"arguments": asks(t, long), "draft": asks(t, `{}`)} {
				if what == "draft" {
					request.Drafts = []hitl.Draft{{ID: "1", Shown: long}}
					if strings.HasPrefix(tt.typed, "e") {
						continue
					}
				}
				request.Offers = []hitl.Offer{{Longest: hitl.Session}}
				out := new(screen)
				got, _ := terminal.New(strings.NewReader(tt.typed), out).Confirm(t.Context(), request)
				if got.Verdict != tt.want || !strings.Contains(out.String(), tt.shown) {
					t.Errorf("%s: got %v, and it shows\n%.2000s", what, got.Verdict, out)
				}
				request.ID = "q"
				typed := strings.NewReplacer("y", "1", "s", "all").Replace(tt.typed)
				if strings.HasPrefix(tt.typed, "e") {
					continue
				}
				some, _ := terminal.New(strings.NewReader(typed), new(screen)).(hitl.GroupConfirmer).ConfirmGroup(t.Context(), []hitl.Request{request})
				if some["q"].Verdict != tt.want {
					t.Errorf("%s in a group: got %v", what, some["q"].Verdict)
				}
			}
		})
	}
}

func TestTerminalFoldsLongArguments(t *testing.T) {
	t.Parallel()
	members := make(map[string]string)
	for i := range 20 {
		members[strings.Repeat("k", i+1)] = strings.Repeat("v", 100)
	}
	arguments, _ := json.Marshal(members)
	last := `"` + strings.Repeat("k", 20) + `"`
	for _, tt := range []struct {
		name, typed string
		all         bool
	}{{"at first", "n\n", false}, {"in detail", "d\nn\n", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := new(screen)
			_, _ = terminal.New(strings.NewReader(tt.typed), out).Confirm(t.Context(), asks(t, string(arguments)))
			if got := out.String(); strings.Contains(got, last) != tt.all || !strings.Contains(got, "more lines of arguments; d shows them") {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

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

// A tool without a definition, which only a host can make, is denied like all
// that cannot be shown.
func TestWhatCannotBeShownIsADenial(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := hitl.New(terminal.New(strings.NewReader("y\n"), io.Discard), hitl.Options{})(guarded(e))
	for name, call := range map[string]middleware.Call{
		"no definition": {Tool: &middleware.Tool{Server: "files"}},
		"no name":       {Tool: &middleware.Tool{Server: "files", Definition: &mcp.Tool{}}, Arguments: []byte(`[]`)},
	} {
		if res, err := c.CallTool(t.Context(), call); res != nil || err == nil {
			t.Errorf("%s: got %v and error %v", name, res, err)
		}
	}
	e.want(t, 0)
}

// A row that the terminal breaks by itself would go on where a row of ours begins, with
// whatever its writer has put there.
func TestTerminalBreaksNoRowByItself(t *testing.T) {
	t.Parallel()
	forged := "╭─ files/list: safe"
	for name, text := range map[string]string{
		"narrow": strings.Repeat(strings.Repeat("x", 63)+forged, 3),
		"wide":   strings.Repeat(strings.Repeat("字", 31)+forged, 3),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quoted, err := json.Marshal(map[string]string{"path": text})
			if err != nil {
				t.Fatal(err)
			}
			request := asks(t, string(quoted))
			its := request.Tool.Annotations.Attribute(annotation.Resolved, "files")
			its.Evidence[0].Word, its.Evidence[0].Place = text, "came instead of an answer"
			request.Tool, err = middleware.NewTool("files", &mcp.Tool{Name: "delete", Description: text}, its)
			if err != nil {
				t.Fatal(err)
			}
			request.Why, request.Undo, request.Scope = text, text, text
			request.Drafts = []hitl.Draft{{ID: text, Shown: text}}
			request.Offers = []hitl.Offer{{Pattern: hitl.Pattern{{Name: "path", Glob: text}}, Longest: hitl.Session}}
			out := new(screen)
			_, _ = terminal.New(strings.NewReader("n\n"), out).Confirm(t.Context(), request)
			box, _, _ := strings.Cut(out.String(), "  ╰─")
			for row := range strings.Lines(strings.TrimPrefix(box, "\n")) {
				columns := 0
				for _, r := range strings.TrimSuffix(row, "\n") {
					if columns++; r >= 0x3000 {
						columns++
					}
				}
				if columns > 80 || !strings.HasPrefix(row, "  │ ") && !strings.HasPrefix(row, "  ╭─ ") {
					t.Errorf("%d columns: %s", columns, row)
				}
			}
		})
	}
}

// The prompt and the help name the keys that there are for this question, and no other.
func TestTerminalNamesTheKeysThatThereAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		offers       []hitl.Offer
		free         bool
		want, absent string
	}{
		{nil, false, "Allow? [y]es  [N]o", "remember"},
		{[]hitl.Offer{{Longest: hitl.Session}}, false, "remember as above: s  [N]o", "f and names"},
		{[]hitl.Offer{{Longest: hitl.Always}, {Tool: true, Longest: hitl.Session}}, true, "remember as above: s, a, s2, [f]ree  [N]o", "a2"},
	} {
		out, r := new(screen), asks(t, `{"path":"a.txt"}`)
		if r.Offers = tt.offers; tt.free {
			r.Free = approvals.Free(r.Arguments)
		}
		_, err := terminal.New(strings.NewReader("?\nn\n"), out).Confirm(t.Context(), r)
		if text := out.String(); err != nil || !strings.Contains(text, tt.want) || strings.Contains(text, tt.absent) {
			t.Errorf("want %q and no %q in %s, %v", tt.want, tt.absent, text, err)
		}
	}
}
