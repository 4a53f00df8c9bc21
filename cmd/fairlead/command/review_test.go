package command

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reviewed walks through the tools with the lines as answers.
func reviewed(t *testing.T, path, answers string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return program(t, answers, append([]string{"review", "--reviewer", "ada", "--lock", path}, args...)...)
}

// proxied returns what the proxy answers to a call of frobnicate that nobody approves.
func proxied(t *testing.T, path, url string) string {
	t.Helper()
	const lines = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"frobnicate","arguments":{}}}
`
	in, keyboard := io.Pipe()
	screen, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Run(t.Context(), []string{"proxy", "--approve", "deny", "--lock", path, url}, in, out, io.Discard)
	}()
	go func() { _, _ = io.WriteString(keyboard, lines) }()
	defer func() {
		_ = keyboard.Close()
		_ = screen.Close()
		mcptest.Wait(t, "the proxy to end", ended)
	}()
	for d := json.NewDecoder(screen); ; {
		var answer struct {
			ID     int
			Result json.RawMessage
		}
		if err := d.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if answer.ID == 2 {
			return string(answer.Result)
		}
	}
}

func TestReviewLastsUntilTheDefinitionChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	server := vague()
	_, h := mcptest.ConnectHTTP(t, server, nil, mcptest.Modern)
	if code, _, stderr := program(t, "", "lock", "accept", "--yes", "--lock", path, named(h.URL)); code != exitOK {
		t.Fatal(stderr)
	}
	if answer := proxied(t, path, named(h.URL)); !strings.Contains(answer, `"isError":true`) {
		t.Errorf("before: %s", answer)
	}
	for name, answers := range map[string]string{"nothing": "", "left": "\n", "quit": "q\n", "no reason": "s\n\n", "no class": "fine\nyes\n"} {
		if code, _, stderr := reviewed(t, path, answers, named(h.URL)); code != exitFindings || !strings.Contains(stderr, "no person has decided: 1") {
			t.Errorf("%s: exit %d, stderr %q", name, code, stderr)
		}
	}
	code, stdout, stderr := reviewed(t, path, "what?\nS\n  it computes a checksum \n", named(h.URL))
	if code != exitOK || !strings.Contains(stdout, "1 of 1\nserver/frobnicate: unknown\n  nothing known") || !strings.Contains(stderr, "unknown → safe, by ada") {
		t.Errorf("exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"reason": "it computes a checksum"`) || !strings.Contains(string(text), `"reviewer": "ada"`) {
		t.Errorf("%v\n%s", err, text)
	}
	if answer := proxied(t, path, named(h.URL)); !strings.Contains(answer, "done {}") {
		t.Errorf("once it is decided: %s", answer)
	}
	if code, stdout, _ := reviewed(t, path, "", named(h.URL)); code != exitOK || stdout != "" {
		t.Errorf("it is asked about again: exit %d, %s", code, stdout)
	}
	if _, stdout, stderr = reviewed(t, path, "d\nit is slow\n", "--all", named(h.URL)); !strings.Contains(stderr, "safe → dangerous, by ada") {
		t.Errorf("decided again: %s %s", stdout, stderr)
	}

	other := mcptest.Tool("frobnicate", "")
	other.Meta = mcp.Meta{"revision": 2}
	mcptest.Add(server, other, says("done"))
	if answer := proxied(t, path, named(h.URL)); !strings.Contains(answer, `"isError":true`) {
		t.Errorf("with another definition: %s", answer)
	}
	code, stdout, stderr = reviewed(t, path, "m\nit adds a line\n", named(h.URL))
	if code != exitOK || !strings.Contains(stdout, `+ {"revision":2}`) || !strings.Contains(stderr, "unknown → moderate, by ada") {
		t.Errorf("exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	if answer := proxied(t, path, named(h.URL)); !strings.Contains(answer, "done {}") {
		t.Errorf("once it is decided again: %s", answer)
	}
}

// judging is a model behind a socket that answers with the text, in JSON.
func judging(t *testing.T, content string) []string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content == "" { // it hangs
			_, _ = io.Copy(io.Discard, r.Body) // a server that has read it sees the client go away
			<-r.Context().Done()
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": content}}}})
	}))
	t.Cleanup(server.Close)
	return []string{"--all", "--judge", server.URL, "--judge-model", "small", "--judge-timeout", "300ms"}
}

func TestJudgeAloneOnlyRaises(t *testing.T) {
	t.Parallel()
	url := lying(t) // delete_account and send_message are dangerous, get_account is safe
	accepted := filepath.Join(t.TempDir(), "a.lock")
	if code, _, stderr := program(t, "", "lock", "accept", "--yes", "--lock", accepted, url); code != exitOK {
		t.Fatal(stderr)
	}
	before, err := os.ReadFile(accepted)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content, says string
		lines         int // of complaints
		raised        bool
	}{
		"honest":   {`{"class": "dangerous", "reason": "It hands out secrets."}`, "safe → dangerous, by small alone", 0, true},
		"lying":    {`{"class": "safe", "reason": "It only reads."}`, "", 0, false},
		"nonsense": {"As a language model I", "is not an object with a class and a reason; it changes nothing", 3, false},
		"hanging":  {"", "the judge did not answer: nothing came within 300ms; it changes nothing", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.lock")
			if err := os.WriteFile(path, before, 0o600); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := reviewed(t, path, "", append(judging(t, c.content), url)...)
			if strings.Count(stderr, "fairlead: judge:") != c.lines || !strings.Contains(stderr, c.says) || (code != exitOK) != c.raised {
				t.Errorf("exit %d, stdout %s, stderr %s", code, stdout, stderr)
			}
			after, err := os.ReadFile(path)
			if err != nil || (string(before) != string(after)) != c.raised {
				t.Errorf("%v\n%s", err, after)
			}
			classes, sources := inspectJSON(t, exitFindings, "--lock", path, url).safety()
			want := "safe"
			if c.raised {
				want = "dangerous"
				if !strings.Contains(string(after), `"answer": "{\"class\": \"dangerous\"`) || sources["get_account"] != "inferred" {
					t.Errorf("%v\n%s", sources, after)
				}
			}
			if classes["delete_account"] != "dangerous" || classes["get_account"] != want {
				t.Errorf("got %v", classes)
			}
		})
	}
}

// A person may follow the judge, and what both said is kept. The judge alone accepts nothing.
func TestPersonAcceptsALowerClass(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	_, h := mcptest.ConnectHTTP(t, vague(), nil, mcptest.Modern)
	args := append(judging(t, `{"class": "dangerous", "reason": "It may do anything.\u001b[2J"}`), named(h.URL))
	if code, _, stderr := reviewed(t, path, "", args...); code != exitFindings || !strings.Contains(stderr, "no person has decided: 1") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	code, stdout, stderr := reviewed(t, path, "s\nread its source\n", args...)
	if code != exitOK || !strings.Contains(stdout, `proposal: dangerous, by small: It may do anything.\x1b[2J`) {
		t.Errorf("exit %d, %s, %s", code, stdout, stderr)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"class": "safe"`) || !strings.Contains(string(text), `"model": "small"`) || !strings.Contains(string(text), "You classify one tool") {
		t.Errorf("%v\n%s", err, text)
	}
	// It does not change what a person decided.
	if code, _, stderr := reviewed(t, path, "", args...); code != exitOK || strings.Contains(stderr, "is written") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if _, err := pins.Load(path); err != nil {
		t.Error(err)
	}
}

func TestReviewThatCannotBegin(t *testing.T) {
	t.Setenv(judgeKey, "secret")
	path := filepath.Join(t.TempDir(), "a.lock")
	for want, args := range map[string][]string{
		"no server is named":              nil,
		"[judge judge-model]":             {"--judge", "http://localhost:1", "http://127.0.0.1:1"},
		"--judge: the key would be sent":  {"--judge", "http://example.com", "--judge-model", "m", "http://127.0.0.1:1"},
		"--judge: the address is not":     {"--judge", "example.com", "--judge-model", "m", "http://127.0.0.1:1"},
		"--reviewer is empty":             {"--reviewer", "", "http://127.0.0.1:1"},
		"--judge: the timeout -1s is neg": {"--judge", "http://localhost:1", "--judge-model", "m", "--judge-timeout", "-1s", "http://127.0.0.1:1"},
	} {
		code, stdout, stderr := reviewed(t, path, "s\nx\n", args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, want) || strings.Contains(stderr, "secret") {
			t.Errorf("exit %d, stdout %q, stderr %q; want %q", code, stdout, stderr, want)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a lock file was written")
	}
}

// An input that breaks off decides nothing.
func TestReviewEndsWithItsInput(t *testing.T) {
	t.Parallel()
	_, h := mcptest.ConnectHTTP(t, vague(), nil, mcptest.Modern)
	path := filepath.Join(t.TempDir(), "a.lock")
	in := io.MultiReader(strings.NewReader("s\nread"), iotest.ErrReader(errors.New("gone")))
	var out, errs strings.Builder
	if code := Run(t.Context(), []string{"review", "--reviewer", "ada", "--lock", path, named(h.URL)}, in, &out, &errs); code != exitFindings || !strings.Contains(errs.String(), "gone") {
		t.Errorf("exit %d, %s", code, errs.String())
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("half a reason was kept")
	}
}
