package terminal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTerminalShowsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		request := asks(t, `{"path":"a.txt","content":"line 1\ntwo\n","options":{"force":true}}`)
		request.Tool.Definition.Name, request.Tool.Definition.Description = "write", "Write a file."
		request.Why, request.Scope, request.Client = "the user asked for it", "ann", "claude-code"
		_, _ = terminal.New(strings.NewReader("d\nn\n"), out).Confirm(t.Context(), request)
		const want = `
  ╭─ Write a.txt (11 bytes, 2 lines)
  │ ! It cannot be undone here.
  │ claude-code asks for files/write, in ann
  │ why          the user asked for it
  │
  │ · Whether a.txt is there already, and what it has, was not looked up
  │ path         "a.txt"
  │ content      11 bytes, 2 lines
  │   line 1
  │   two
  │   
  │ options.force
  │              true
  ╰─
  Allow? [y]es  [N]o  [i]nstead  [e]dit  [d]etails  [?] (30s left): 
  ╭─ Write a.txt (11 bytes, 2 lines)
  │ ! It cannot be undone here.
  │ claude-code asks for files/write, in ann
  │ why          the user asked for it
  │
  │ · Whether a.txt is there already, and what it has, was not looked up
  │ path         "a.txt"
  │ content      11 bytes, 2 lines
  │   line 1
  │   two
  │   
  │ options.force
  │              true
  │
  │ class        dangerous
  │ read-only     no    inferred
  │ destructive   yes   inferred
  │ idempotent    no    inferred
  │ its server   Write a file.
  │ as JSON:
  │   {
  │     "path": "a.txt",
  │     "content": "line 1\ntwo\n",
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
		{"name with 200 blank lines", func(r *hitl.Request) { r.Tool.Definition.Name = "get" + blank + "x" }, `"files/get⟦200 newlines⟧x"`},
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
			got := out.String()
			if strings.Contains(got, last) != tt.all || !strings.Contains(got, "are not shown; d shows them") {
				t.Errorf("got\n%s", got)
			}
			if !strings.Contains(got, "Allow? [d]etails before [y]es") || strings.Contains(got, "Allow? [y]es") != tt.all {
				t.Errorf("y is offered before all of it was shown:\n%s", got)
			}
		})
	}
}

// After an edit nothing is shown of the call that was asked about before: its difference and its trial are of other arguments.
func TestTerminalShowsNothingOfTheCallBeforeAnEdit(t *testing.T) {
	t.Parallel()
	t.Run("B408: a difference and a trial of other arguments", func(t *testing.T) {
		t.Parallel()
		out, r := new(screen), asks(t, `{"path":"a.txt"}`)
		r.Changes = []hitl.Change{{Name: "a.txt", Before: "old", After: "new", Source: "files/read_file"}}
		r.Preview = &hitl.Preview{With: "dry_run: true", Answer: "one file is deleted"}
		_, _ = terminal.New(strings.NewReader("e\n{\"path\":\"b.txt\"}\nn\n"), out).Confirm(t.Context(), r)
		before, after, edited := strings.Cut(out.String(), "New arguments")
		for _, text := range []string{"+ new", "one file is deleted"} {
			if !edited || !strings.Contains(before, text) || strings.Contains(after, text) {
				t.Errorf("%q is missing before the edit, or is there after it:\n%s", text, out)
			}
		}
	})
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
				if columns > 80 || !strings.HasPrefix(row, "  │ ") && row != "  │\n" && !strings.HasPrefix(row, "  ╭─ ") {
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
			r.Free = approvals.FreeMembers(r.Arguments)
		}
		_, err := terminal.New(strings.NewReader("?\nn\n"), out).Confirm(t.Context(), r)
		if text := out.String(); err != nil || !strings.Contains(text, tt.want) || strings.Contains(text, tt.absent) {
			t.Errorf("want %q and no %q in %s, %v", tt.want, tt.absent, text, err)
		}
	}
}
