package proxy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/google/go-cmp/cmp"
)

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

// What the SDK's types have no place for passes all the same: members of a tool, kinds of
// content, kinds of results. Where definitions are pinned, a tool's members do not, since
// no pin covers them.
func TestWhatTheSDKDoesNotKnowPasses(t *testing.T) {
	t.Parallel()
	const odd = `{"zeal":[1,2.50],"name":"get_odd","inputSchema":{"type":"object"},"execution":{"x":1}}`
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"odd":{}},"serverInfo":{"name":"odd","version":"1"},"more":1}`,
		"tools/list": `{"tools":[` + odd + `],"more":[]}`,
		"tools/call": `{"content":[{"type":"smell","of":"pine"}],"more":true}`,
		"odd/method": `{"odd":1e3}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, results[m.Method])
	}))
	t.Cleanup(server.Close)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{{Name: "odd", URL: server.URL}}})
	for i, method := range []string{"initialize", "odd/method", "tools/list", "tools/call"} {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"get_odd","protocolVersion":"2025-11-25"}}`, i, method))
		got := string(r.answer(strconv.Itoa(i))["result"])
		if method == "tools/list" { // it is put together anew
			if !strings.Contains(got, odd) || !strings.Contains(got, `"more":[]`) {
				t.Errorf("%s: got %s", method, got)
			}
		} else if got != results[method] {
			t.Errorf("%s: got %s, want %s", method, got, results[method])
		}
	}
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
