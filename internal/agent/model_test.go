package agent_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A standIn answers like a model's service: with what its script says, one reply
// a request, whatever it is asked.
type standIn struct {
	t       *testing.T
	replies []string

	mu    sync.Mutex
	asked []map[string]any
	paths []string
	keys  []string
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths = append(s.paths, r.URL.Path)
	s.keys = append(s.keys, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
	if strings.HasSuffix(r.URL.Path, "/models") {
		_, _ = io.WriteString(w, `{"data":[{"id":"little-model"},{"id":"other"}]}`)
		return
	}
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		s.t.Errorf("the request is no JSON: %v", err)
	}
	s.asked = append(s.asked, body)
	if len(s.asked) > len(s.replies) {
		http.Error(w, `{"error":"out of replies"}`, http.StatusTooManyRequests)
		return
	}
	_, _ = io.WriteString(w, s.replies[len(s.asked)-1])
}

func (s *standIn) start() string {
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	return server.URL
}

// text is what the stand-in was sent in request n, as JSON.
func (s *standIn) text(n int) string {
	raw, err := json.Marshal(s.asked[n])
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw)
}

func TestAModelPlansOverChatCompletions(t *testing.T) {
	call := func(id, name, arguments string) string {
		raw, _ := json.Marshal(arguments)
		return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":` + string(raw) + `}}`
	}
	s := &standIn{t: t, replies: []string{
		`{"choices":[{"message":{"role":"assistant","content":"Let me look.","tool_calls":[` +
			call("a", "files__read_file", `{"path":"notes.txt"}`) + "," + call("b", "files__read_file", `{"path":"notes.txt"}`) + `]}}]}`,
		`{"choices":[{"message":{"role":"assistant","content":null,"reasoning":"kept","tool_calls":[` +
			call("c", "files__delete_file", `{"path":"notes.txt"}`) + "," + call("d", "no_such", `{`) + "," + call("e", "files__read_file", `{`) + "," + call("f", "files__list_files", ``) + `]}}]}`,
		`{"choices":[{"message":{"role":"assistant","content":"Nobody let me, so I stop."}}]}`,
	}}
	r := playReal(t, map[string]string{"OPENAI_BASE_URL": s.start() + "/v1/", "OPENAI_API_KEY": "sk-test"}, "--json", "see", "to", "it")
	if f := r.summary(t); r.code != 3 || f["cache_hits"] != 1 || f["denied"] != 1 || f["calls"] != 5 {
		t.Fatalf("exit %d, %v, %s", r.code, f, r.err)
	}
	if got := strings.Join(s.paths, " "); got != "/v1/models /v1/chat/completions /v1/chat/completions /v1/chat/completions" || s.keys[0] != "Bearer sk-test" {
		t.Errorf("asked %s with %q", got, s.keys[0])
	}
	first := s.text(0)
	for _, want := range []string{`"model":"little-model"`, "see to it", "files__delete_file", "Safety rules", `"parameters":{`} {
		if !strings.Contains(first, want) {
			t.Errorf("the first request does not say %q", want)
		}
	}
	if second := s.text(1); strings.Count(second, "fix the mooring line") != 2 || !strings.Contains(second, `"tool_call_id":"b"`) {
		t.Errorf("the results were not handed back: %s", second)
	}
	third := s.text(2)
	for _, want := range []string{"files__delete_file was not called, since nobody said yes", `there is no tool \"no_such\"`, "arguments for files__read_file are refused", `"reasoning":"kept"`, "budget.csv.bak"} {
		if !strings.Contains(third, want) {
			t.Errorf("the third request does not say %q:\n%s", want, third)
		}
	}
	if !strings.Contains(r.out, "Nobody let me") || !exists(t, r.folder(t), "notes.txt") {
		t.Errorf("the end is not shown, or a denied call was made:\n%s", r.out)
	}
}

func TestAModelPlansOverMessages(t *testing.T) {
	s := &standIn{t: t, replies: []string{
		`{"stop_reason":"tool_use","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"Tidying."},` +
			`{"type":"tool_use","id":"t1","name":"files__delete_file","input":{"path":"notes (1).txt"}},` +
			`{"type":"tool_use","id":"t2","name":"files__read_file","input":{"path":"gone.txt"}}]}`,
		`{"stop_reason":"end_turn","content":[{"type":"text","text":"One copy is gone."}]}`,
	}}
	env := map[string]string{"ANTHROPIC_BASE_URL": s.start(), "ANTHROPIC_API_KEY": "key", "ANTHROPIC_MODEL": "named"}
	r := playReal(t, env, "--json", "--yes", "safe")
	if f := r.summary(t); r.code != 0 || f["allowed"] != 1 || f["calls"] != 2 {
		t.Fatalf("exit %d, %v, %s", r.code, f, r.err)
	}
	if got := strings.Join(s.paths, " "); got != "/v1/messages /v1/messages" || s.keys[0] != "key" {
		t.Errorf("asked %s with %q", got, s.keys[0])
	}
	if first := s.text(0); !strings.Contains(first, `"model":"named"`) || !strings.Contains(first, `"system":"You are an agent`) || !strings.Contains(first, "Tidy the folder") {
		t.Errorf("the first request is %s", first)
	}
	second := s.text(1)
	for _, want := range []string{`"signature":"x"`, `"tool_use_id":"t2"`, "does not exist", `"is_error":true`, `.trash/notes (1).txt`} {
		if !strings.Contains(second, want) {
			t.Errorf("the second request does not say %q:\n%s", want, second)
		}
	}
	if exists(t, r.folder(t), "notes (1).txt") {
		t.Error("the allowed call was not made")
	}
}

func TestAModelThatFailsIsOneClearLine(t *testing.T) {
	for _, c := range []struct{ name, reply, want string }{
		{"an error", "", "429"},
		{"no JSON", "<html>", "did not answer as this API does"},
		{"no choice", `{"choices":[]}`, "without a choice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &standIn{t: t}
			if c.reply != "" {
				s.replies = []string{c.reply}
			}
			url := s.start()
			r := playReal(t, map[string]string{"OPENAI_BASE_URL": url})
			if r.code != 1 || strings.Count(strings.TrimSpace(r.err), "\n") > 0 || !strings.Contains(r.err, url) || !strings.Contains(r.err, c.want) {
				t.Errorf("exit %d, %q", r.code, r.err)
			}
		})
	}
}

func TestAModelThatNeverStopsIsStopped(t *testing.T) {
	s := &standIn{t: t}
	for range 100 {
		s.replies = append(s.replies, `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"files__list_files","arguments":"{}"}}]}}]}`)
	}
	r := playReal(t, map[string]string{"OPENAI_BASE_URL": s.start()}, "--json")
	if f := r.summary(t); r.code != 1 || !strings.Contains(r.err, "did not finish in 40 turns") || f["cache_hits"] != 3 || f["limited"] != 36 {
		t.Errorf("exit %d, %v, %q", r.code, f, r.err)
	}
	if last := s.text(5); !strings.Contains(last, "files__list_files was stopped: it was called 4 times in a row") {
		t.Errorf("the model is not told that it goes round in a loop:\n%s", last)
	}
}

// Two deletions of one turn, of which --yes safe covers one: the other stands for itself.
func TestEachCallOfATurnStandsForItself(t *testing.T) {
	s := &standIn{t: t, replies: []string{
		`{"choices":[{"message":{"role":"assistant","tool_calls":[` +
			`{"id":"x","function":{"name":"files__delete_file","arguments":"{\"path\":\"notes (1).txt\"}"}},` +
			`{"id":"y","function":{"name":"files__move_file","arguments":"{\"from\":\"notes.txt\",\"to\":\"texts/notes.txt\"}"}},` +
			`{"id":"y","function":{"name":"files__list_files","arguments":"{}"}},` +
			`{"id":"z","function":{"name":"files__read_file","arguments":"{\"path\":\"notes (1).txt\"}"}}]}}]}`,
		`{"choices":[{"message":{"role":"assistant","content":"So be it."}}]}`,
	}}
	r := playReal(t, map[string]string{"OPENAI_BASE_URL": s.start()}, "--json", "--yes", "safe")
	if f := r.summary(t); f["allowed"] != 1 || f["calls"] != 4 {
		t.Fatalf("exit %d, %v\n%s%s", r.code, f, r.out, r.err)
	}
	second := s.text(1)
	for _, want := range []string{".trash/notes (1).txt", "another call of this turn has the same id", "does not exist"} {
		if !strings.Contains(second, want) {
			t.Errorf("the model is not told %q:\n%s", want, second)
		}
	}
}
