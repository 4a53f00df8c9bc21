package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// A session is recorded in front of a server, and then the same client has the same answers from the file alone.
func TestReplayAnswersAsTheServerDid(t *testing.T) {
	t.Parallel()
	program, file := programtest.Path(t), filepath.Join(t.TempDir(), "session.json")
	exe, _ := mcptest.Child(t, "vault")
	calls := []string{
		`{"name":"get_item","arguments":{"id":1,"of":"x"}}`,
		`{"name":"get_item","arguments":{"of":"x","id":1}}`,
		`{"name":"get_session","arguments":{"user":"ada","password":"` + planted + `"}}`,
		`{"name":"set_item","arguments":{"user":"ada","password":"` + planted + `"}}`,
		`{"name":"set_item","arguments":{"user":"bad","password":"` + planted + `"}}`,
		`{"name":"nothing","arguments":{}}`,
	}
	session := func(ask func(method, params string) string) (tools string, answers []string) {
		tools = ask("tools/list", `{}`)
		for _, c := range calls {
			answers = append(answers, ask("tools/call", c))
		}
		return tools, answers
	}
	ask, end := speaks(t, program, "record", "--out", file, "--", exe)
	tools, want := session(ask)
	code, errs := end()
	if code != exitOK || !strings.Contains(errs, "the session is in") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", errs, text)
	if bytes.Contains(text, []byte(planted)) || bytes.Count(text, []byte("{secret 1}")) != 5 || bytes.Contains(text, []byte("ghp_")) {
		t.Error("a secret is in the file, or its placeholder is not the same everywhere")
	}
	ask, end = speaks(t, program, "replay", file)
	again, answers := session(ask)
	hidden := strings.NewReplacer(planted, "{secret 1}", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "{secret 2}")
	for i, got := range answers {
		if want := hidden.Replace(want[i]); got != want {
			t.Errorf("%s was answered\n%s\nand by the replay\n%s", calls[i], want, got)
		}
	}
	if got := again; !strings.Contains(got, strings.TrimSuffix(strings.SplitN(tools, `"tools":`, 2)[1], "}}")) {
		t.Errorf("the tools are\n%s\nand were\n%s", got, tools)
	}
	if got := ask("tools/call", `{"name":"get_item","arguments":{"id":2,"of":"x"}}`); !strings.Contains(got, "/id: recorded 1, now 2") {
		t.Errorf("an unrecorded call was answered with %s", got)
	}
	if code, errs := end(); code != exitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A replay tells numbers apart that differ in their last digit past 2^53, and answers with the digits of the server.
func TestReplayKeepsLongDigits(t *testing.T) {
	t.Parallel()
	program, file := programtest.Path(t), filepath.Join(t.TempDir(), "session.json")
	exe, _ := mcptest.Child(t, "vault")
	ids := []string{"9007199254740992", "9007199254740993", "0.1000000000000000055", "0.1", "18446744073709551616", "18446744073709551617"}
	ask, end := speaks(t, program, "record", "--out", file, "--", exe)
	want := make(map[string]string)
	for _, id := range ids {
		want[id] = ask("tools/call", `{"name":"get_item","arguments":{"id":`+id+`}}`)
		if !strings.Contains(want[id], id) || !strings.Contains(want[id], "12345678901234567890") {
			t.Errorf("%s was answered with %s", id, want[id])
		}
	}
	if code, errs := end(); code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	ask, end = speaks(t, program, "replay", file)
	for _, id := range ids {
		if got := ask("tools/call", `{"name":"get_item","arguments":{"id":`+id+`}}`); got != want[id] {
			t.Errorf("%s was answered\n%s\nand by the replay\n%s", id, want[id], got)
		}
	}
	for _, id := range []string{"9007199254740994", "1e400"} {
		if got := ask("tools/call", `{"name":"get_item","arguments":{"id":`+id+`}}`); !strings.Contains(got, `"error"`) {
			t.Errorf("%s, which was not recorded, was answered with %s", id, got)
		}
	}
	end()
}

// A client that writes its requests and ends its input has its answers, of the recorder and of the recording.
func TestRecordAndReplayAnswerAfterTheEndOfTheInput(t *testing.T) {
	t.Parallel()
	path, file := programtest.Path(t), filepath.Join(t.TempDir(), "session.json")
	exe, key := mcptest.Child(t, "honest")
	for _, args := range [][]string{{"record", "--out", file, "--", exe}, {"replay", file}} {
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Env = append(os.Environ(), key)
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_account","arguments":{}}}
`)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", args[0], err)
		}
		if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); len(lines) != 3 || !strings.Contains(string(out), "an account") {
			t.Errorf("%s answered\n%s", args[0], out)
		}
	}
}
