package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A talk speaks to a server, or to a proxy before it, by the lines of the wire.
type talk struct {
	t    testing.TB
	in   io.WriteCloser
	got  chan map[string]any
	last int
	gone map[string]bool // the requests that were cancelled, and may be answered at any time
}

func newTalk(t testing.TB, in io.WriteCloser, out io.Reader) *talk {
	t.Helper()
	k := &talk{t: t, in: in, got: make(chan map[string]any, 1000), gone: make(map[string]bool)}
	go func() {
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			var m map[string]any
			if json.Unmarshal(line, &m) == nil {
				k.got <- m
			}
			if err != nil {
				close(k.got)
				return
			}
		}
	}()
	t.Cleanup(func() { _ = in.Close() })
	return k
}

// direct speaks to a command.
func direct(t testing.TB, s proxy.Server) *talk {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.Command[0], s.Command[1:]...)
	cmd.Env = append(os.Environ(), s.Env...)
	k := start(t, cmd)
	t.Cleanup(func() { _ = cmd.Wait() })
	return k
}

// start starts a command, to speak to it.
func start(t testing.TB, cmd *exec.Cmd) *talk {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return newTalk(t, in, out)
}

// greet initializes the session.
func (k *talk) greet() {
	k.t.Helper()
	k.play([]step{{name: "i", method: "initialize", params: hello}, {name: "n", method: "notifications/initialized"}})
}

// call sends a call, and returns the request's ID.
func (k *talk) call(tool string, arguments map[string]any) int {
	k.t.Helper()
	k.last++
	k.send(map[string]any{"id": k.last, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	return k.last
}

// through speaks to a proxy before the command.
func through(t testing.TB, o proxy.Options) *talk {
	t.Helper()
	log := newLines(t)
	o.Stderr, o.Logger = log, slog.New(slog.NewTextHandler(log, nil))
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- p.ServeLines(context.Background(), in, out)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = toProxy.Close()
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return newTalk(t, toProxy, fromProxy)
}

func (k *talk) send(m map[string]any) {
	k.t.Helper()
	m["jsonrpc"] = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := k.in.Write(append(text, '\n')); err != nil {
		k.t.Fatal(err)
	}
}

// answer waits for an answer, and returns it with its message; "" if the other side goes without it.
func (k *talk) answer(id int) string {
	k.t.Helper()
	for { // others come first
		switch m := mcptest.Wait(k.t, "an answer", k.got); {
		case m == nil:
			return ""
		case fmt.Sprint(m["id"]) == strconv.Itoa(id):
			return fmt.Sprint(m)
		}
	}
}

// A step is one request of a script, or a notification.
type step struct {
	name, method string
	params       string
	// settle is how long is waited for what comes besides the answer.
	settle time.Duration
	// cancel cancels the request at once; whether it is answered is then a matter of chance.
	cancel bool
	// open is that no answer comes while it goes on; a notification says that it does.
	open bool
	// only compares which methods came, and not how often.
	only bool
}

var answers = map[string]map[string]any{
	"sampling/createMessage": {"role": "assistant", "model": "m", "content": map[string]any{"type": "text", "text": "sampled"}},
	"roots/list":             {"roots": []any{map[string]any{"uri": "file:///root", "name": "root"}}},
	"elicitation/create":     {"action": "accept", "content": map[string]any{"name": "Ada", "color": "red", "check": true}},
	"ping":                   {},
}

// play plays a script, and tells of each step what came of it.
func (k *talk) play(script []step) map[string]string {
	k.t.Helper()
	result := make(map[string]string)
	for _, s := range script {
		m := map[string]any{"method": s.method}
		if s.params != "" {
			m["params"] = json.RawMessage(s.params)
		}
		if !strings.HasPrefix(s.method, "notifications/") {
			k.last++
			m["id"] = k.last
		}
		k.send(m)
		if s.cancel {
			k.gone[fmt.Sprint(k.last)] = true
			k.send(map[string]any{"method": "notifications/cancelled", "params": map[string]any{"requestId": k.last}})
		}
		began := time.Now()
		result[s.name] = k.listen(s, m["id"])
		if took := time.Since(began); took > time.Second+s.settle {
			k.t.Logf("%s took %v", s.name, took)
		}
	}
	return result
}

// listen waits for the answer to a step, and for what comes with it.
func (k *talk) listen(s step, id any) string {
	k.t.Helper()
	var came []string
	wait := time.After(s.settle)
	patience := time.After(2 * time.Minute)
	for answered := id == nil || s.cancel; ; {
		var settled <-chan time.Time
		if answered {
			settled = wait
			if s.settle == 0 {
				settled = time.After(50 * time.Millisecond)
			}
		}
		select {
		case m, ok := <-k.got:
			if !ok {
				k.t.Fatalf("%s: the other side has gone", s.name)
			}
			switch method, _ := m["method"].(string); {
			case method == "" && k.gone[fmt.Sprint(m["id"])]:
			case method == "" && fmt.Sprint(m["id"]) == fmt.Sprint(id):
				answered = true
				came = append(came, "0 answer "+normal(m["result"], m["error"]))
			case method == "":
				came = append(came, "an answer to something else: "+fmt.Sprint(m["id"], " ", id))
			default:
				answered = answered || s.open
				if m["id"] != nil {
					k.send(map[string]any{"id": m["id"], "result": answers[method]})
				}
				text := "1 " + method
				if !s.only {
					text += " " + normal(m["params"])
				}
				came = append(came, text)
			}
		case <-settled:
			slices.Sort(came)
			if s.only {
				came = slices.Compact(came)
			}
			return strings.Join(came, "\n")
		case <-patience:
			k.t.Fatalf("%s: no answer", s.name)
		}
	}
}

var (
	uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}`)
	// The everything server puts the time into texts that it encodes.
	blob  = regexp.MustCompile(`"blob":"[^"]*"`)
	stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|\d{1,2}:\d\d:\d\d(\.\d+)?( [AP]M)?`)
)

// normal is a value without what is another one each time.
func normal(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		return err.Error()
	}
	if strings.Contains(string(text), "demo://") {
		text = blob.ReplaceAll(text, []byte(`"blob":"BLOB"`))
	}
	return stamp.ReplaceAllString(uuid.ReplaceAllString(string(text), "UUID"), "TIME")
}

const hello = `{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{"listChanged":true},"elicitation":{}},"clientInfo":{"name":"talk","version":"1"}}`

// compare plays a script directly and through a proxy, and returns the steps that differ.
func compare(t *testing.T, o proxy.Options, script []step) map[string]string {
	t.Helper()
	want := direct(t, o.Servers[0]).play(script)
	got := through(t, o).play(script)
	differ := make(map[string]string)
	for _, s := range script {
		if d := cmp.Diff(strings.Split(want[s.name], "\n"), strings.Split(got[s.name], "\n")); d != "" {
			differ[s.name] = d
		}
	}
	return differ
}

func transparent(t *testing.T, differ map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(differ)) {
		t.Errorf("%s differs:\n%s", name, differ[name])
	}
}

// features is a server of the SDK with everything that the protocol has.
func features() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "features", Version: "1", Title: "Features"}, &mcp.ServerOptions{
		Instructions: "Look before you leap.",
		PageSize:     2,
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "ly"}, Total: 1}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	read := &mcp.ToolAnnotations{ReadOnlyHint: true}
	type none struct{}
	type sum struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "get_sum", Title: "Sum", Description: "Gets a sum.", Annotations: read, Meta: mcp.Meta{"x.y/z": true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, sum, error) {
			return &mcp.CallToolResult{Meta: mcp.Meta{"x.y/m": 1}}, sum{A: in.A + in.B}, nil
		})
	say := func(name string, f func(ctx context.Context, r *mcp.CallToolRequest) (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Gets it.", Annotations: read},
			func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
				text, err := f(ctx, r)
				if err != nil {
					return nil, nil, err
				}
				return mcptest.Text(text), nil, nil
			})
	}
	say("get_progress", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		for i := range 3 {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3}); err != nil {
				return "", err
			}
		}
		return "there", nil
	})
	say("get_log", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		return "said", r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "features", Data: map[string]any{"a": 1}}) //nolint:staticcheck // revisions that have it are tried
	})
	say("get_failure", func(context.Context, *mcp.CallToolRequest) (string, error) { return "", fmt.Errorf("it is not there") })
	say("get_sample", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}}) //nolint:staticcheck // revisions that have it are tried
		if err != nil {
			return "", err
		}
		return res.Content.(*mcp.TextContent).Text, nil
	})
	say("get_roots", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		res, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // revisions that have it are tried
		if err != nil {
			return "", err
		}
		return res.Roots[0].URI, nil
	})
	say("get_form", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(res.Action, res.Content["name"]), nil
	})
	say("get_slowly", func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	for i := range 3 {
		uri := "test://r/" + strconv.Itoa(i)
		s.AddResource(&mcp.Resource{Name: uri, URI: uri, MIMEType: "text/plain", Annotations: &mcp.Annotations{Priority: 0.5}},
			func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text of " + r.Params.URI}}}, nil
			})
		s.AddPrompt(&mcp.Prompt{Name: "p" + strconv.Itoa(i), Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}},
			func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Description: r.Params.Arguments["who"], Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}}, nil
			})
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "test://t/{id}"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Blob: []byte{0, 1, 2}}}}, nil
	})
	return s
}

// rest is what comes after the tools, which both revisions have.
func rest(meta string) []step {
	with := func(params string) string { return "{" + strings.Trim(params+","+meta, ",") + "}" }
	return []step{
		{name: "get_sum", method: "tools/call", params: with(`"name":"get_sum","arguments":{"a":1,"b":2}`)},
		{name: "invalid arguments", method: "tools/call", params: with(`"name":"get_sum","arguments":{"a":"x"}`)},
		{name: "an unknown tool", method: "tools/call", params: with(`"name":"nothing","arguments":{}`)},
		{name: "get_failure", method: "tools/call", params: with(`"name":"get_failure","arguments":{}`)},
		{name: "resources", method: "resources/list", params: with("")},
		{name: "a page", method: "resources/list", params: with(`"cursor":"broken"`)},
		{name: "templates", method: "resources/templates/list", params: with("")},
		{name: "read", method: "resources/read", params: with(`"uri":"test://r/1"`)},
		{name: "read a template", method: "resources/read", params: with(`"uri":"test://t/7"`)},
		{name: "read nothing", method: "resources/read", params: with(`"uri":"test://nothing"`)},
		{name: "prompts", method: "prompts/list", params: with("")},
		{name: "prompt", method: "prompts/get", params: with(`"name":"p1","arguments":{"who":"Ada"}`)},
		{name: "no prompt", method: "prompts/get", params: with(`"name":"nothing"`)},
		{name: "complete", method: "completion/complete", params: with(`"ref":{"type":"ref/prompt","name":"p1"},"argument":{"name":"who","value":"friend"}`)},
		{name: "an unknown method", method: "nothing/at/all", params: with("")},
	}
}

func TestTransparentBefore20260728(t *testing.T) {
	t.Parallel()
	script := append([]step{
		{name: "initialize", method: "initialize", params: hello},
		{name: "initialized", method: "notifications/initialized"},
		{name: "ping", method: "ping"},
		{name: "level", method: "logging/setLevel", params: `{"level":"debug"}`},
		{name: "get_progress", method: "tools/call", params: `{"name":"get_progress","arguments":{},"_meta":{"progressToken":"t1"}}`},
		{name: "get_log", method: "tools/call", params: `{"name":"get_log","arguments":{}}`},
		{name: "get_sample", method: "tools/call", params: `{"name":"get_sample","arguments":{}}`},
		{name: "get_roots", method: "tools/call", params: `{"name":"get_roots","arguments":{}}`},
		{name: "get_form", method: "tools/call", params: `{"name":"get_form","arguments":{}}`},
		{name: "cancelled", method: "tools/call", params: `{"name":"get_slowly","arguments":{}}`, cancel: true},
		{name: "subscribe", method: "resources/subscribe", params: `{"uri":"test://r/1"}`},
		{name: "unsubscribe", method: "resources/unsubscribe", params: `{"uri":"test://r/1"}`},
		{name: "roots changed", method: "notifications/roots/list_changed"},
	}, rest("")...)
	transparent(t, compare(t, proxy.Options{Servers: []proxy.Server{child(t, "features")}}, script))
}

func TestTransparentFrom20260728(t *testing.T) {
	t.Parallel()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"talk","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{},"roots":{},"elicitation":{}}}`
	script := append([]step{
		{name: "discover", method: "server/discover", params: "{" + meta + "}"},
		{name: "get_progress", method: "tools/call", params: `{"name":"get_progress","arguments":{},` + strings.Replace(meta, "{", `{"progressToken":7,`, 1) + `}`},
		{name: "listen", method: "subscriptions/listen", params: `{"notifications":{"toolsListChanged":true},` + meta + `}`, open: true},
		{name: "cancelled", method: "tools/call", params: `{"name":"get_slowly","arguments":{},` + meta + `}`, cancel: true},
	}, rest(meta)...)
	transparent(t, compare(t, proxy.Options{Servers: []proxy.Server{child(t, "features")}}, script))
}

// The pages of a list of tools become one; beside that, it is the list that the server
// wrote.
func TestListOfToolsIsTheServers(t *testing.T) {
	t.Parallel()
	s := child(t, "features")
	list := func(k *talk) (tools []any) {
		k.play([]step{{name: "i", method: "initialize", params: hello}, {name: "n", method: "notifications/initialized"}})
		for cursor := ""; ; {
			k.last++
			k.send(map[string]any{"id": k.last, "method": "tools/list", "params": json.RawMessage(`{` + cursor + `}`)})
			m := mcptest.Wait(t, "the list", k.got)
			result, _ := m["result"].(map[string]any)
			if result == nil {
				t.Fatalf("got %v", m)
			}
			tools = append(tools, result["tools"].([]any)...)
			next, ok := result["nextCursor"].(string)
			if !ok {
				return tools
			}
			cursor = `"cursor":"` + next + `"`
		}
	}
	if d := cmp.Diff(list(direct(t, s)), list(through(t, proxy.Options{Servers: []proxy.Server{s}}))); d != "" {
		t.Error(d)
	}
}

// The official server that has everything, with a client that lets everything happen:
// but for a tool that it does not list, nothing differs.
func TestTransparentBeforeTheEverythingServer(t *testing.T) {
	t.Parallel()
	everything := npx(t, "@modelcontextprotocol/server-everything@2026.8.31")
	call := func(name, arguments string) step {
		return step{name: name, method: "tools/call", params: `{"name":"` + name + `","arguments":` + arguments + `}`}
	}
	script := []step{
		{name: "initialize", method: "initialize", params: hello},
		{name: "initialized", method: "notifications/initialized", settle: 2 * time.Second, only: true},
		{name: "ping", method: "ping"},
		{name: "tools", method: "tools/list"},
		{name: "level", method: "logging/setLevel", params: `{"level":"debug"}`},
		call("echo", `{"message":"hi"}`),
		call("get-annotated-message", `{"messageType":"error","includeImage":true}`),
		call("get-resource-links", `{"count":3}`),
		call("get-resource-reference", `{"resourceType":"Blob","resourceId":2}`),
		call("get-structured-content", `{"location":"Chicago"}`),
		call("get-sum", `{"a":1,"b":2}`),
		call("get-tiny-image", `{}`),
		call("get-roots-list", `{}`),
		call("trigger-sampling-request", `{"prompt":"hi","maxTokens":5}`),
		call("trigger-elicitation-request", `{}`),
		{name: "wrong arguments", method: "tools/call", params: `{"name":"get-sum","arguments":{"a":"x"}}`},
		{name: "an unknown tool", method: "tools/call", params: `{"name":"nothing"}`},
		{name: "progress", method: "tools/call", params: `{"name":"trigger-long-running-operation","arguments":{"duration":1,"steps":3},"_meta":{"progressToken":"p"}}`, settle: 2 * time.Second},
		{name: "cancelled", method: "tools/call", params: `{"name":"trigger-long-running-operation","arguments":{"duration":2,"steps":1}}`, cancel: true, settle: 3 * time.Second},
		{name: "a task", method: "tools/call", params: `{"name":"simulate-research-query","arguments":{"topic":"tides"},"task":{"ttl":60000}}`},
		{name: "tasks", method: "tasks/list"},
		{name: "resources", method: "resources/list"},
		{name: "templates", method: "resources/templates/list"},
		{name: "read", method: "resources/read", params: `{"uri":"demo://resource/static/document/features.md"}`},
		{name: "read a template", method: "resources/read", params: `{"uri":"demo://resource/dynamic/blob/3"}`},
		{name: "read nothing", method: "resources/read", params: `{"uri":"demo://nothing"}`},
		{name: "prompts", method: "prompts/list"},
		{name: "prompt", method: "prompts/get", params: `{"name":"args-prompt","arguments":{"city":"Oslo"}}`},
		{name: "complete", method: "completion/complete", params: `{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"E"}}`},
		{name: "complete a template", method: "completion/complete", params: `{"ref":{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"},"argument":{"name":"resourceId","value":"1"}}`},
		{name: "subscribe", method: "resources/subscribe", params: `{"uri":"demo://resource/dynamic/text/1"}`},
		{name: "logging", method: "tools/call", params: `{"name":"toggle-simulated-logging","arguments":{}}`, settle: 7 * time.Second, only: true},
		{name: "updates", method: "tools/call", params: `{"name":"toggle-subscriber-updates","arguments":{}}`, settle: 12 * time.Second, only: true},
		{name: "unsubscribe", method: "resources/unsubscribe", params: `{"uri":"demo://resource/dynamic/text/1"}`, only: true},
		{name: "an unknown method", method: "nothing/at/all", only: true},
	}
	differ := compare(t, proxy.Options{Servers: []proxy.Server{everything}, Confirm: approve(true)}, script)
	// What is not listed has no class, and is not called: the protocol's own error says so.
	if d := differ["an unknown tool"]; !strings.Contains(d, "unknown tool") {
		t.Errorf("an unknown tool: %s", d)
	}
	delete(differ, "an unknown tool")
	transparent(t, differ)
}

// npx is an official server, where these may be fetched and run.
func npx(t testing.TB, arguments ...string) proxy.Server {
	t.Helper()
	if os.Getenv("FAIRLEAD_NPX") == "" {
		t.Skip("SKIPPED: the official servers are not tried; FAIRLEAD_NPX=1 fetches them with npx and does")
	}
	return proxy.Server{Name: "server", Command: append([]string{"npx", "-y"}, arguments...), Env: []string{"NPM_CONFIG_UPDATE_NOTIFIER=false"}}
}
