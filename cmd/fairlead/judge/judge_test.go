package judge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/judge"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// model is a server of chat completions whose model answers every question with the text.
func model(content string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": content}}}})
	}))
}

func ExampleNew() {
	server := model(`{"class": "dangerous", "reason": "It purges a queue."}`)
	defer server.Close()
	j, err := judge.New(judge.Options{URL: server.URL + "/v1/chat/completions", Model: "small"})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := j.Propose(context.Background(), &mcp.Tool{Name: "frobnicate", Description: "Frobs the queue."})
	fmt.Println(p.Class, p.Reason, err)
	// Output:
	// dangerous It purges a queue. <nil>
}

// propose asks a judge at the address about a tool.
func propose(t *testing.T, o judge.Options) (judge.Proposal, error) {
	t.Helper()
	o.Model = "m"
	j, err := judge.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return j.Propose(t.Context(), &mcp.Tool{
		Name: "frobnicate", Title: "a secret title", Description: "Frobs.", InputSchema: json.RawMessage(`{"type":"object"}`),
		OutputSchema: json.RawMessage(`{"type":"array"}`), Meta: mcp.Meta{"a": 1}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	})
}

func TestOnlyNameDescriptionAndInputSchemaGoOut(t *testing.T) {
	t.Parallel()
	var sent struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"`+"```json\\n{\\\"class\\\":\\\"safe\\\",\\\"reason\\\":\\\"reads\\\"}\\n```"+`"}}]}`)
	}))
	defer server.Close()
	p, err := propose(t, judge.Options{URL: server.URL, Key: "key"})
	if err != nil || p.Class != annotation.Safe || p.Reason != "reads" || p.Model != "m" || !strings.Contains(p.Answer, "```") {
		t.Fatalf("got %+v, %v", p, err)
	}
	if header.Get("Authorization") != "Bearer key" || sent.Model != "m" || len(sent.Messages) != 2 || sent.Messages[0].Role != "system" {
		t.Errorf("sent %v %+v", header, sent)
	}
	if diff := cmp.Diff(`{"description":"Frobs.","inputSchema":{"type":"object"},"name":"frobnicate"}`, sent.Messages[1].Content); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if want := sent.Messages[0].Content + "\n\n" + sent.Messages[1].Content; p.Prompt != want {
		t.Errorf("the prompt that is kept is %q, want %q", p.Prompt, want)
	}
}

func TestNonsenseIsNoProposal(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"", "safe", "null", "[]", `"safe"`, "{}", `{"class":"safe"}`, `{"class":"safe","reason":" "}`, `{"class":"harmless","reason":"x"}`, `{"class":3,"reason":"x"}`,
		`{"class":"unknown","reason":"x"}`, `{"reason":"x"}`, `{"class":"Safe","reason":"x"}`, `{"class":"safe","reason":"x"} {"class":"safe","reason":"x"}`, `{"class":"safe","reason":"x"`,
	} {
		server := model(content)
		p, err := propose(t, judge.Options{URL: server.URL})
		if err == nil || errors.Is(err, judge.ErrUnreachable) || p != (judge.Proposal{}) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %+v, %v", content, p, err)
		}
		server.Close()
	}
}

func TestJudgeThatCannotBeReached(t *testing.T) {
	t.Parallel()
	elsewhere := model(`{"class":"safe","reason":"x"}`)
	t.Cleanup(elsewhere.Close)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, answer := range map[string]http.HandlerFunc{
		"hangs": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-release
		},
		"fails": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"another place": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"a page":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"no choice": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"choices":[]}`) },
		"without end": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<10)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			t.Cleanup(server.CloseClientConnections)
			p, err := propose(t, judge.Options{URL: server.URL + "/?key=secret", Timeout: 200 * time.Millisecond})
			if !errors.Is(err, judge.ErrUnreachable) || p != (judge.Proposal{}) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %+v, %v", p, err)
			}
			if name == "hangs" && !strings.HasSuffix(err.Error(), "nothing came within 200ms") {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := propose(t, judge.Options{URL: "http://127.0.0.1:1/?key=secret"}); !errors.Is(err, judge.ErrUnreachable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("refused: got %v", err)
	}
}

func TestOptionsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]judge.Options{
		"not an http or https URL": {URL: "localhost:11434", Model: "m"},
		"has no name":              {URL: "http://localhost:11434"},
		"is negative":              {URL: "http://localhost", Model: "m", Timeout: -1},
		"in the clear":             {URL: "http://example.com", Model: "m", Key: "k"},
	} {
		if _, err := judge.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, at := range []string{"https://example.com", "http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"} {
		if _, err := judge.New(judge.Options{URL: at, Model: "m", Key: "k"}); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestDefinitionThatIsTooLongIsNotSent(t *testing.T) {
	t.Parallel()
	j, err := judge.New(judge.Options{URL: "http://127.0.0.1:1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Propose(t.Context(), &mcp.Tool{Name: "a", Description: strings.Repeat("x", 1<<20)}); err == nil || errors.Is(err, judge.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}
