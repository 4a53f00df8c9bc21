package proxy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
)

const (
	writeFile = `{"name":"write_file","description":"Overwrite a file.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]},"annotations":{"destructiveHint":true}}`
	readFile  = `{"name":"read_file","description":"Read a file.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}`
	deleteAll = `{"name":"delete_rows","description":"Delete rows of a table.","inputSchema":{"type":"object","properties":{"table":{"type":"string"},"dry_run":{"type":"boolean"}},"required":["table"]}}`
	sendRoom  = `{"name":"lock_room","description":"Lock and delete a room.","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},"annotations":{"destructiveHint":true}}`
	openRoom  = `{"name":"unlock_room","description":"Unlock a room.","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}`
)

// asked is the person, who keeps the questions and approves.
type asked struct {
	mu  sync.Mutex
	all []hitl.Request
	say func(r hitl.Request) hitl.Decision
}

func (a *asked) Confirm(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, r)
	if a.say != nil {
		return a.say(r), nil
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
}

// What the call overwrites is read before the question, by a Safe tool of the server alone.
func TestQuestionShowsWhatIsOverwritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tools, policy string
		reads         bool
	}{
		"a read":                  {writeFile + "," + readFile, `{}`, true},
		"no read":                 {writeFile, `{}`, false},
		"a read that is denied":   {writeFile + "," + readFile, `{"rules":[{"tool":"plain/read_file","decide":"deny"}]}`, false},
		"a read that asks":        {writeFile + "," + readFile, `{"rules":[{"tool":"plain/read_file","decide":"ask"}]}`, false},
		"a read that is not safe": {writeFile + "," + strings.Replace(readFile, `"Read a file."`, `"Read a file and delete it."`, 1), `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPlain(tt.tools)
			s.answers(func(method, params string) string {
				if method == "tools/call" && strings.Contains(params, "read_file") {
					return `{"content":[{"type":"text","text":"one\ntwo\n"}]}`
				}
				return ""
			})
			person := new(asked)
			c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, tt.policy), Confirm: person}))
			got := c.call(`{"name":"write_file","arguments":{"path":"a.txt","content":"one\nthree\n"}}`)
			read := slices.ContainsFunc(s.calls(), func(params string) bool { return strings.Contains(params, "read_file") })
			if read != tt.reads || len(person.all) != 1 || strings.Contains(got, "isError\":true") {
				t.Fatalf("read: %v; %d questions; %s", read, len(person.all), got)
			}
			q := display.Of(person.all[0])
			want := "Write a.txt (10 bytes, 2 lines)"
			if tt.reads {
				want = "Overwrite a.txt (8 bytes → 10 bytes)"
				if rows := strings.Join(q.Parts[0].Rows(40), "|"); rows != "  one|- two|+ three" {
					t.Errorf("it shows %s", rows)
				}
			}
			if q.Sentence != want {
				t.Errorf("got %s", q.Sentence)
			}
		})
	}
}

// A mode that tries is set for the trial alone. A value that the class does not know has no trial.
func TestQuestionShowsATrialByAMode(t *testing.T) {
	t.Parallel()
	byMode := strings.Replace(deleteAll, `"dry_run":{"type":"boolean"}`, `"mode":{"type":"string","enum":["execute","preview"]}`, 1)
	for arguments, want := range map[string]string{
		`{"table":"orders","mode":"execute"}`: "mode: preview",
		`{"table":"orders"}`:                  "mode: preview",
		`{"table":"orders","mode":"purge"}`:   "",
	} {
		s := newPlain(byMode)
		s.answers(func(method, params string) string {
			if method != "tools/call" || !strings.Contains(params, `"preview"`) {
				return ""
			}
			return `{"content":[{"type":"text","text":"would delete 12 rows"}]}`
		})
		person := new(asked)
		c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, `{"previews":["plain/*"]}`), Confirm: person}))
		c.call(`{"name":"delete_rows","arguments":` + arguments + `}`)
		if len(person.all) != 1 {
			t.Fatalf("%s: %d questions", arguments, len(person.all))
		}
		calls := strings.Join(s.calls(), "\n")
		switch got := person.all[0].Preview; {
		case want == "" && (got != nil || strings.Contains(calls, "preview")):
			t.Errorf("%s: there was a trial: %v, %s", arguments, got, calls)
		case want != "" && (got == nil || got.With != want || got.Answer != "would delete 12 rows" || string(person.all[0].Arguments) != arguments):
			t.Errorf("%s: got %+v about %s", arguments, got, person.all[0].Arguments)
		}
	}
}

// A trial is made only if the policy wants it, and an edit of a call with a trial is tried and asked about anew.
func TestQuestionShowsATrial(t *testing.T) {
	t.Parallel()
	for _, previews := range []bool{false, true} {
		s := newPlain(deleteAll)
		s.answers(func(method, params string) string {
			if method != "tools/call" || !strings.Contains(params, `"dry_run":true`) {
				return ""
			}
			return fmt.Sprintf(`{"content":[{"type":"text","text":"would delete %d rows"}]}`, len(params))
		})
		person := new(asked)
		person.say = func(r hitl.Request) hitl.Decision {
			d := hitl.Decision{Verdict: hitl.Approved, By: "ann"}
			if len(person.all) == 1 {
				d.Arguments = []byte(`{"table":"others, with a longer name"}`)
			}
			return d
		}
		text := `{}`
		if previews {
			text = `{"previews":["plain/delete_*"]}`
		}
		c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, text), Confirm: person}))
		got := c.call(`{"name":"delete_rows","arguments":{"table":"orders"}}`)
		var shown []string
		for _, r := range person.all {
			if r.Preview != nil {
				shown = append(shown, r.Preview.With+": "+r.Preview.Answer)
			}
		}
		wantCalls, wantAsked := 1, 1
		if previews {
			wantCalls, wantAsked = 3, 2
			if len(shown) != 2 || shown[0] == shown[1] || !strings.HasPrefix(shown[0], "dry_run: true: would delete") {
				t.Errorf("the trials show %q", shown)
			}
		}
		calls := s.calls()
		if len(calls) != wantCalls || len(person.all) != wantAsked || !previews && shown != nil || !strings.Contains(calls[len(calls)-1], `{"table":"others, with a longer name"}`) {
			t.Errorf("previews %v: calls %q, %d questions, %s", previews, calls, len(person.all), got)
		}
	}
}

// Structured content that only has the text once more is not shown beside it.
func TestTrialIsShownOnce(t *testing.T) {
	t.Parallel()
	for structured, want := range map[string]string{
		`{"content":"-two\n+2"}`:            "",
		`{"content":"-two\n+2","rows":12}`:  `{"content":"-two\n+2","rows":12}`,
		`{"content":"-two\n+2","note":"!"}`: `{"content":"-two\n+2","note":"!"}`,
	} {
		s := newPlain(deleteAll)
		s.answers(func(method, _ string) string {
			if method != "tools/call" {
				return ""
			}
			return `{"content":[{"type":"text","text":"-two\n+2"}],"structuredContent":` + structured + `}`
		})
		person := new(asked)
		c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, `{"previews":["plain/*"]}`), Confirm: person}))
		c.call(`{"name":"delete_rows","arguments":{"table":"a"}}`)
		if got := person.all[0].Preview; got == nil || got.Answer != strings.TrimSuffix("-two\n+2\n"+want, "\n") {
			t.Errorf("%s: got %+v, want it to end in %q", structured, got, want)
		}
	}
}

// The question names how a call is taken back, and the record keeps it.
func TestRecordKeepsHowACallIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newPlain(sendRoom + "," + openRoom)
	person := new(asked)
	var mu sync.Mutex
	var records []audit.Record
	sink := audit.SinkFunc(func(_ context.Context, r audit.Record) error {
		mu.Lock()
		defer mu.Unlock()
		records = append(records, r)
		return nil
	})
	c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, `{}`), Confirm: person, Audit: sink}))
	c.call(`{"name":"lock_room","arguments":{"id":"7"}}`)
	if len(person.all) != 1 || person.all[0].Undo != "may be undone by plain/unlock_room, the opposite by its name" {
		t.Fatalf("asked %+v", person.all)
	}
	const cannot = "It cannot be undone here."
	if q := display.Of(person.all[0]); q.Warning == cannot || slices.ContainsFunc(q.Effects, func(e display.Effect) bool { return e.Text == cannot }) {
		t.Errorf("the warnings are %q, %v", q.Warning, q.Effects)
	}
	mu.Lock()
	defer mu.Unlock()
	last := records[len(records)-1]
	if last.Undo == nil || last.Undo.Tool != "unlock_room" || last.Undo.Server != "plain" || string(last.Undo.Arguments) != `{"id":"7"}` {
		t.Errorf("the record has %+v", last.Undo)
	}
}

// A call beside a question is recorded as one of the client that the question is for.
func TestCallBesideAQuestionHasItsCaller(t *testing.T) {
	t.Parallel()
	s, records := newPlain(deleteAll), new(book)
	c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, `{"previews":["plain/*"]}`), Confirm: new(asked), Audit: records}))
	c.call(`{"name":"delete_rows","arguments":{"table":"a"}}`)
	var callers []string
	for _, r := range records.all {
		if r.Caller != nil {
			callers = append(callers, r.Caller.Agent)
		}
	}
	if want := []string{"c 1", "c 1"}; !slices.Equal(callers, want) { // the trial, and the call itself
		t.Errorf("the callers on the record are %q, want %q", callers, want)
	}
}

// A switch that only tries makes no call harmless which another argument, or a person, has made worse.
func TestTrialThatIsNotSafeIsNotMade(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{
		"the worst case is wanted":  `{"previews":["plain/*"],"worstCase":true}`,
		"a tool that is overridden": `{"previews":["plain/*"],"tools":[{"tool":"plain/delete_rows","class":"dangerous"}]}`,
	} {
		s := newPlain(deleteAll)
		person := new(asked)
		c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, policy), Confirm: person}))
		got := c.call(`{"name":"delete_rows","arguments":{"table":"a"}}`)
		if calls := s.calls(); len(calls) != 1 || len(person.all) != 1 || strings.Contains(calls[0], "dry_run") {
			t.Errorf("%s: calls %q, %d questions, %s", name, calls, len(person.all), got)
		}
		if shown := person.all[0].Preview; shown != nil { // it would state that a trial has failed
			t.Errorf("%s: the question shows the trial %+v", name, shown)
		}
	}
}

// A trial that would write its outcome to a file, or send it away, is not made either.
func TestTrialThatWritesElsewhereIsNotMade(t *testing.T) {
	t.Parallel()
	tool := strings.Replace(deleteAll, `"dry_run":{"type":"boolean"}`, `"dry_run":{"type":"boolean"},"output_file":{"type":"string"}`, 1)
	for arguments, trials := range map[string]int{`{"table":"a"}`: 1, `{"table":"a","output_file":"/srv/app/x"}`: 0} {
		s := newPlain(tool)
		person := new(asked)
		c := s.client(t, s.proxy(t, proxy.Options{Policy: decided(t, `{"previews":["plain/*"]}`), Confirm: person}))
		got := c.call(`{"name":"delete_rows","arguments":` + arguments + `}`)
		if calls := s.calls(); len(calls) != trials+1 || len(person.all) != 1 {
			t.Errorf("%s: calls %q, %d questions, %s", arguments, calls, len(person.all), got)
		}
		c.call(`{"name":"delete_rows","arguments":` + strings.Replace(arguments, "{", `{"dry_run":true,`, 1) + `}`)
		if len(person.all) != 2-trials {
			t.Errorf("%s: the client's own trial: %d questions", arguments, len(person.all))
		}
	}
}
