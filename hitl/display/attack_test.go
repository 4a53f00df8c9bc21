package display_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
)

// Arguments and names that are made so that a person takes a call for another one.
func TestQuestionsThatDeceive(t *testing.T) {
	t.Parallel()
	const written, mailed, paid, query = "Create a new file or completely overwrite an existing file with new content.", "Send an email.", "Transfer money.", "Execute a SQL query against the database."
	names := func(parts []display.Part) (all []string) {
		for _, p := range parts {
			all = append(all, p.Name)
		}
		return all
	}
	t.Run("B400: an empty value behind the fold", func(t *testing.T) {
		t.Parallel()
		pairs := make([]any, 0, 30)
		for i := range 14 {
			pairs = append(pairs, fmt.Sprintf("option_%02d", i), i)
		}
		q := display.Of(request(t, "crm/update_settings", "Update the settings.", object(append(pairs, "unless", "")...)))
		parts, missing := q.Fit(display.Limit{Lines: 14, Columns: 72})
		if want := (display.Missing{Values: 1, Lines: 1}); missing != want || missing.String() != "1 empty value is not shown" || slices.Contains(names(parts), "unless") {
			t.Errorf("%v are shown, %+v (%s) is missing, want %+v", names(parts), missing, missing, want)
		}
	})
	t.Run("B401: a member that is called like a place", func(t *testing.T) {
		t.Parallel()
		q := display.Of(request(t, "files/edit_file", "Edit a file.", `{"path":"a","edits":[{"oldText":"x","newText":"y"}],"edits[0].newText":"rm -rf ~","a.b":1,"a":{"b":2}}`))
		got := strings.Join(names(q.Parts), " ")
		if want := `edits[0] path "edits[0].newText" "a.b" a.b`; got != want {
			t.Errorf("got the values %s, want %s", got, want)
		}
	})
	t.Run("B402: a second argument with the text that is written", func(t *testing.T) {
		t.Parallel()
		r := request(t, "files/write_file", written, object("path", "a.txt", "content", "yes\n", "chmod", "yes\n"))
		r.Changes = []hitl.Change{{Name: "a.txt", Before: "no\n", After: "yes\n", Source: "files/read_file"}}
		if got := names(display.Of(r).Parts); !slices.Contains(got, "chmod") {
			t.Errorf("got the values %v, without chmod", got)
		}
	})
	for _, tt := range []struct{ name, tool, does, arguments, want string }{
		{"B403: a second recipient of a message", "mail/send_email", mailed, object("to", "ann@x.example", "email", "eve@y.example", "subject", "Hi"), `Send email to ann@x.example, email eve@y.example: "Hi"`},
		{"B403: a second recipient of money", "bank/transfer_money", paid, object("recipient", "ann", "iban", "DE02", "amount", 1, "currency", "EUR"), `Transfer money: amount 1, currency EUR, to ann, iban DE02`},
		{"B406: a name that soothes", "x/update_nothing_important", "Update.", object("path", "a"), `Call x/update_nothing_important with path a; its server describes it so: "Update."`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := display.Of(request(t, tt.tool, tt.does, tt.arguments)).Sentence; got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	t.Run("B404: a parameter that the tool does not have", func(t *testing.T) {
		t.Parallel()
		r := request(t, "files/write_file", written, object("file_path", "~/.ssh/config", "content", "x"))
		r.Arguments = []byte(object("path", "notes.md", "content", "x", "file_path", "~/.ssh/config"))
		q := display.Of(r)
		if want := "Write ~/.ssh/config (1 byte, 1 line)"; q.Sentence != want {
			t.Errorf("got  %s\nwant %s", q.Sentence, want)
		}
		if len(q.Effects) == 0 || q.Effects[0].Text != "path is not a parameter that the server states for this tool" || !slices.Contains(names(q.Parts), "path") {
			t.Errorf("got the effects %v and the values %v", q.Effects, names(q.Parts))
		}
	})
	for name, sql := range map[string]string{
		"B405: SQL behind dollar signs":                  "SELECT $$ ' $$; DROP TABLE a; --'",
		"B405: SQL behind a named quotation":             "SELECT $x$ ' $x$; DROP TABLE a; -- '",
		"B405: SQL behind a backslash":                   `SELECT '\'; DROP TABLE a; -- '`,
		"B405: SQL behind a minus that begins no remark": "SELECT 1--1; DROP TABLE a",
		"B405: SQL in a remark that is carried out":      "SELECT 1 /*! ; DROP TABLE a */",
		"B405: SQL behind a remark of one database":      "SELECT 1 # '\n; DROP TABLE a; -- '",
		"B405: SQL in a quotation without an end":        "SELECT 1; DROP TABLE a; '",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			effects := display.Of(request(t, "db/query", query, object("sql", sql))).Effects
			if len(effects) != 1 || !strings.HasPrefix(effects[0].Text, "Databases read it differently") {
				t.Errorf("got %v of %q", effects, sql)
			}
		})
	}
	for _, sql := range []string{
		"SELECT 'it''s', \"a\"\"b\", `c` FROM a -- remark 'x\nWHERE b = 'C:\\dir' /* ; DROP */ AND c = '\\\\' --", "SELECT a #> '{b}', $1 FROM c /**/ WHERE /*+ hint */ d = 2 - 1",
	} {
		effects := display.Of(request(t, "db/query", query, object("sql", sql))).Effects
		if len(effects) != 1 || !strings.HasPrefix(effects[0].Text, "By its words: SELECT") {
			t.Errorf("got %v of %q, which all databases read in one way", effects, sql)
		}
	}
	if effects := display.Of(request(t, "db/query", query, object("sql", "SELECT 1 -- a\r; DROP TABLE b"))).Effects; len(effects) != 2 || effects[1].Text != "By its words: DROP of b" {
		t.Errorf("got %v behind a remark that a carriage return ends", effects)
	}
	t.Run("B409: a tool's name among words of ours", func(t *testing.T) {
		t.Parallel()
		if got := display.Of(request(t, "x/a (safe) was approved", "", `{}`)).Tool; got != `"x/a (safe) was approved"` {
			t.Errorf("got %s", got)
		}
	})
}
