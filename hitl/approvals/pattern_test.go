package approvals_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

func TestPatternCoversNoMoreThanItNames(t *testing.T) {
	t.Parallel()
	glob := approvals.Pattern{{Name: "path", Glob: "/tmp/*.log"}}
	drafts := approvals.Pattern{{Name: "path", Glob: "drafts/*"}}
	any1 := approvals.Pattern{{Name: "path", Glob: "*"}}
	value := approvals.Pattern{{Name: "path", Value: json.RawMessage(` "a" `)}, {Name: "n", Value: json.RawMessage(`{"y":2, "x":1}`)}}
	for _, tt := range []struct {
		name      string
		p         approvals.Pattern
		arguments string
		want      bool
	}{
		{"fits", glob, `{"path":"/tmp/a.log"}`, true},
		{"fits in another spelling", glob, ` { "path" : "\/tmp/\u0061.log"}`, true},
		{"another folder", glob, `{"path":"/etc/a.log"}`, false},
		{"a folder further down", glob, `{"path":"/tmp/b/a.log"}`, false},
		{"B243: it climbs out", glob, `{"path":"/tmp/../etc/shadow.log"}`, false},
		{"B243: a name of dots", any1, `{"path":".."}`, false},
		{"B243: a backslash", any1, `{"path":"a\\b"}`, false},
		{"B243: a percent sign", any1, `{"path":"%2e%2e"}`, false},
		{"B243: a null byte", any1, `{"path":"a\u0000b"}`, false},
		{"B243: a character that reorders", any1, `{"path":"a\u202eb"}`, false},
		{"in its folder", drafts, `{"path":"drafts/a.txt"}`, true},
		{"the folder itself", drafts, `{"path":"drafts/"}`, false},
		{"the folder by a dot", drafts, `{"path":"drafts/."}`, false},
		{"a dot on the way", approvals.Pattern{{Name: "path", Glob: "*/*"}}, `{"path":"./a"}`, false},
		{"the root by nothing", approvals.Pattern{{Name: "path", Glob: "*/*"}}, `{"path":"/etc"}`, false},
		{"nothing", any1, `{"path":""}`, false},
		{"a slash for a class", approvals.Pattern{{Name: "path", Glob: "a[^b]c"}}, `{"path":"a/c"}`, false},
		{"a pattern: a star", drafts, `{"path":"drafts/*"}`, false},
		{"a pattern: a question mark", drafts, `{"path":"drafts/?.txt"}`, false},
		{"a pattern: a class", drafts, `{"path":"drafts/[a-z].txt"}`, false},
		{"a pattern: braces", drafts, `{"path":"drafts/{a,b}"}`, false},
		{"a home", any1, `{"path":"~root"}`, false},
		{"a variable", any1, `{"path":"$HOME"}`, false},
		{"one member more", glob, `{"path":"/tmp/a.log","force":true}`, false},
		{"no member", glob, `{}`, false},
		{"another member", glob, `{"dir":"/tmp/a.log"}`, false},
		{"no text", any1, `{"path":7}`, false},
		{"null", any1, `{"path":null}`, false},
		{"a list", any1, `{"path":["a"]}`, false},
		{"given twice", any1, `{"path":"a","path":"b"}`, false},
		{"values", value, `{"n":{"x":1,"y":2},"path":"a"}`, true},
		{"another value", value, `{"n":{"x":1,"y":3},"path":"a"}`, false},
		{"another number of the same size", value, `{"n":{"x":1.0,"y":2},"path":"a"}`, false},
		{"a pattern of nothing covers nothing", approvals.Pattern{}, `{}`, false},
		{"no pattern", nil, `{}`, false},
		{"a member named twice", approvals.Pattern{{Name: "a", Glob: "*"}, {Name: "a", Glob: "*"}}, `{"a":"x"}`, false},
		{"a value and a glob", approvals.Pattern{{Name: "a", Glob: "*", Value: json.RawMessage(`"x"`)}}, `{"a":"x"}`, false},
		{"neither", approvals.Pattern{{Name: "a"}}, `{"a":"x"}`, false},
		{"a broken glob", approvals.Pattern{{Name: "a", Glob: "["}}, `{"a":"["}`, false},
		{"a broken value", approvals.Pattern{{Name: "a", Value: json.RawMessage(`{`)}}, `{"a":"["}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.p.Covers(json.RawMessage(tt.arguments)); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
	shown := approvals.Pattern{{Name: "path", Glob: "/tmp/*\n"}, {Name: "n", Value: json.RawMessage(`1`)}}.String()
	if shown != `path like "/tmp/*\n", n = 1` {
		t.Errorf("shown as %q", shown)
	}
}

// A member that is left free may be what its sentence says and nothing else: a path stays in
// its folder.
func TestFreeMembersAreAnchored(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, arguments, free, sentence string
		covers, not                     []string
	}{
		{
			"a path", `{"path":"drafts/a.txt"}`, "path", "path under drafts/, any name",
			[]string{`{"path":"drafts/b"}`, `{"path":"drafts/.b"}`},
			[]string{
				`{"path":"drafts-old/b"}`, `{"path":"drafts"}`, `{"path":"drafts/"}`, `{"path":"drafts/../b"}`, `{"path":"../b"}`, `{"path":"drafts/b/c"}`,
				`{"path":"/drafts/b"}`, `{"path":"./drafts/b"}`, `{"path":"drafts\\b"}`, `{"path":"drafts//b"}`, `{"path":["drafts/b"]}`, `{}`, `{"path":"drafts/b","x":1}`, `{"Path":"drafts/b"}`,
			},
		},
		{"a name", `{"path":"a.txt"}`, "path", "any name as path", []string{`{"path":"b"}`}, []string{`{"path":"/etc/passwd"}`, `{"path":"a/b"}`, `{"path":".."}`, `{"path":""}`}},
		{"a path from the root", `{"path":"/a"}`, "path", "path under /, any name", []string{`{"path":"/b"}`}, []string{`{"path":"b"}`, `{"path":"/b/c"}`, `{"path":"//b"}`}},
		{
			"a text beside a path", `{"path":"drafts/a","content":"x"}`, "content", "any content, path as it was shown",
			[]string{`{"content":"../\n~","path":"drafts/a"}`}, []string{`{"content":"x","path":"drafts/b"}`, `{"content":"x"}`},
		},
		{"both", `{"path":"drafts/a","content":"x"}`, "content path", "any content, path under drafts/, any name", []string{`{"path":"drafts/b","content":""}`}, []string{`{"path":"b","content":"x"}`}},
		{"a number", `{"n":1}`, "n", "any n", []string{`{"n":2}`, `{"n":{}}`}, []string{`{}`}},
		{"a path that climbs", `{"path":"drafts/../a"}`, "path", "", nil, []string{`{"path":"drafts/../a"}`}},
		{"another system's path", `{"path":"C:\\a"}`, "path", "", nil, []string{`{"path":"C:\\a"}`}},
		{"a member that is not there", `{"path":"a"}`, "dir", "", nil, []string{`{"path":"a"}`}},
		{"nothing", `{"path":"a"}`, "", "", nil, []string{`{"path":"a"}`}},
		{"no arguments", `{}`, "", "", nil, []string{`{}`}},
		{"a member twice", `{"path":"a","path":"b"}`, "path", "", nil, []string{`{"path":"a"}`}},
		{"a name of two words", "{\"a\\nb\":1}", "a\nb", `any "a\nb"`, []string{"{\"a\\nb\":2}"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			names := strings.Split(tt.free, " ")
			if tt.free == "" {
				names = nil
			}
			p := approvals.WithFree(json.RawMessage(tt.arguments), names)
			if got := p.String(); got != tt.sentence {
				t.Errorf("shown as %q, want %q", got, tt.sentence)
			}
			if p != nil && !p.Covers(json.RawMessage(tt.arguments)) {
				t.Error("it does not cover what it was made of")
			}
			for want, all := range map[bool][]string{true: tt.covers, false: tt.not} {
				for _, arguments := range all {
					if got := p.Covers(json.RawMessage(arguments)); got != want {
						t.Errorf("%s: got %t", arguments, got)
					}
				}
			}
		})
	}
	if got := approvals.FreeMembers(json.RawMessage(`{"path":"drafts/a","dir":"../b","n":2}`)).String(); got != "any n, path under drafts/, any name" {
		t.Errorf("got %q", got)
	}
}

// A name and a folder are the model's or the server's words, and cannot read as more members.
func TestPatternsThatDeceive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arguments, free, want string }{
		{"B407: a member that reads as two", `{"content as it was shown, note":1,"path":"/a"}`, "content as it was shown, note", `any "content as it was shown, note", path as it was shown`},
		{"B407: a member that ends the sentence", `{"a, for this session alone, until it ends":1}`, "a, for this session alone, until it ends", `any "a, for this session alone, until it ends"`},
		{"B407: a folder that reads as a member", `{"path":"drafts, content as it was shown/a"}`, "path", `path under "drafts, content as it was shown/", any name`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := approvals.WithFree(json.RawMessage(tt.arguments), []string{tt.free}).String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	s := approvals.Standing{Server: "x", Tool: "read with exactly the arguments that were shown, for nobody", Arguments: approvals.AnyArguments}
	if got, want := s.String(), `"x/read with exactly the arguments that were shown, for nobody" with any arguments`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
