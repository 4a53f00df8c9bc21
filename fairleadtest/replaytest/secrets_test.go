package replaytest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
)

func TestSecretsAreNotInTheFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		calls [][2]string
		want  []string // in the file
		asked [2]string
		got   string
	}{
		"everywhere": {
			[][2]string{
				{"say", `{"text":"{\"a\": 1, \"list\": [\"` + planted + `\"]}", "password":"` + planted + `"}`},
				{"say", `{"fail":"no user ` + planted + ` here"}`},
				{"say", `{"text":"` + planted + `"}`},
			},
			[]string{`"password": "{secret 1}"`, `"no user {secret 1} here"`, `"text": "{secret 1}"`},
			[2]string{"say", `{"text":"{\"a\": 1, \"list\": [\"` + planted + `\"]}", "password":"` + planted + `"}`},
			`{"a": 1, "list": ["{secret 1}"]}`,
		},
		"known only later": {
			[][2]string{{"say", `{"text":"` + planted + `"}`}, {"say", `{"password":"` + planted + `"}`}},
			[]string{`"text": "{secret 1}"`, `"password": "{secret 1}"`},
			[2]string{"say", `{"text":"other"}`}, "{secret 1}",
		},
		"known only later, a number and a word of ours": {
			[][2]string{{"say", `{"text":"x 73128 y", "id": 73128, "ids": 731289, "password":"` + planted + `"}`}, {"say", `{"pin":73128}`}, {"say", `{"token":"secret"}`}},
			[]string{`"text": "x {secret 2} y"`, `"id": "{secret 2}"`, `"ids": 731289`, `"password": "{secret 1}"`, `"pin": "{secret 2}"`, `"token": "{secret 3}"`},
			[2]string{"say", `{"text":"x 73128 y", "id": 73128, "ids": 731289, "password":"A"}`}, "x {secret 2} y",
		},
		"several": {
			[][2]string{{"say", `{"password":"` + planted + `","token":"second-0ne","text":"` + planted + ` second-0ne"}`}},
			[]string{`"password": "{secret 1}"`, `"token": "{secret 2}"`, `"text": "{secret 1} {secret 2}"`},
			[2]string{"say", `{"password":"a","token":"b","text":"a b"}`}, "{secret 1} {secret 2}",
		},
		"of several values": {
			[][2]string{{"say", `{"text":"x","password":{"parts":["` + planted + `",12345678]}}`}},
			[]string{`"password": "{secret 1}"`},
			[2]string{"say", `{"text":"x","password":["any"]}`}, "x",
		},
		"no secret, but looks like the mark": {
			[][2]string{{"say", `{"text":"[redacted] {secret 7}"}`}},
			[]string{`"text": "[redacted] {secret 7}"`},
			[2]string{"say", `{"text":"[redacted] {secret 7}"}`}, "[redacted] {secret 7}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, _, warnings := record(t, notes(), "", c.calls...)
			written := read(t, file)
			if strings.Contains(written, planted) || len(warnings) > 0 {
				t.Errorf("the secret is in the file, or %q", warnings)
			}
			for _, want := range c.want {
				if !strings.Contains(written, want) {
					t.Errorf("%s is not in the file", want)
				}
			}
			if got := text(t, replay(t, file, "", replaytest.Rules{}), c.asked[0], c.asked[1]); got != c.got {
				t.Errorf("it is answered %q, want %q", got, c.got)
			}
			if t.Failed() {
				t.Log(written)
			}
		})
	}
}

// What a server sends is recorded without its secrets, whatever it is, and a definition is not taken for one.
func TestSecretsOfTheServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "session.json")
	var warnings []string
	r := replaytest.NewRecorder(file, func(text string) { warnings = append(warnings, text) })
	id := 0
	for _, c := range [][3]string{
		{"initialize", `{}`, `"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"x","version":"1"},"instructions":"token=Tr0ub4dor-and-0"}`},
		{"tools/list", `{}`, `"result":{"tools":[{"name":"get","description":"token=Tr0ub4dor-and-1","inputSchema":{"type":"object","properties":{"password":{"type":"string"},
			"pin code":{"type":"string"},"of":{"type":"string","writeOnly":true}}}}]}`},
		{"tools/call", `{"name":"get","arguments":{"of":"Tr0ub4dor-and-2"}}`, `"result":{"content":[],"structuredContent":{"z":1,"password":"Tr0ub4dor-and-3","a":1.50}}`},
		{"tools/call", `{"name":"get"}`, `"error":{"code":-32000,"message":"no","data":{"token":"Tr0ub4dor-and-4"}}`},
		{"tools/call", `{"name":"get"}`, `"result":{"content":[],"structuredContent":{"password":"Tr0ub4dor-and-5","password":"other-than-5"}}`},
		{"tools/call", `{"name":"get"}`, `"result":{"content":[{"type":"text","text":"{\"password\":\"Tr0ub4dor-and-6\",\"password\":\"other-than-6\"}"}]}`},
		{"tools/call", `{"name":"get"}`, `"result":{"content":[],"structuredContent":{"names":{"ghp_16C7e42F292c6912E7710c838347Ae178B4a":1}}}`},
		{"tools/call", `{"name":"get"}`, `"result":{"content":[{"type":"text","text":"` + strings.Repeat("word ", 1<<18) + `"}]}`},
	} {
		id++
		r.Sent(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, c[0], c[1]))
		r.Received(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,%s}`, id, c[2]))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	written := read(t, file)
	if strings.Contains(written, "Tr0ub4dor-") || strings.Contains(written, "ghp_") || strings.Contains(written, "other-than") {
		t.Error("a secret is in the file")
	}
	for _, want := range []string{
		`"instructions": "token={secret 1}"`, `"description": "token={secret 2}"`, "\"password\": {\n            \"type\"", `"of": "{secret 3}"`,
		"\"z\": 1,\n          \"password\": \"{secret 4}\",\n          \"a\": 1.50", `"names": "{secret`,
		"its answer is not recorded: 13107", `"missing": "its answer is not recorded: the member \"password\" is given twice`,
	} {
		if !strings.Contains(written, want) {
			t.Errorf("%s is not in the file", want)
		}
	}
	if len(warnings) != 2 {
		t.Errorf("the warnings are %q", warnings)
	}
	if t.Failed() {
		t.Log(written)
	}
}
