package realclients_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// orders is a server with a read and a write. It keeps what it was sent for each call.
const orders = `import json, sys
def tool(name, text, reads):
    return {"name": name, "description": text, "annotations": {"readOnlyHint": reads, "destructiveHint": not reads},
            "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}}}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m or "method" not in m: continue
    answer = {"jsonrpc": "2.0", "id": m["id"]}
    if m["method"] == "initialize":
        answer["result"] = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "orders", "version": "1"}}
    elif m["method"] == "tools/list":
        answer["result"] = {"tools": [tool("get_order", "Returns one order.", True), tool("delete_order", "Deletes an order.", False)]}
    elif m["method"] == "tools/call":
        with open(sys.argv[1], "a") as f: f.write(json.dumps(m["params"]) + "\n")
        answer["result"] = {"content": [{"type": "text", "text": "%s answers for %s" % (m["params"]["name"], m["params"]["arguments"].get("id"))}]}
    else:
        answer["error"] = {"code": -32601, "message": "not found"}
    print(json.dumps(answer), flush=True)
`

// onThePage is the policy of a person who decides on the page, for the session at most.
const onThePage = `{"approvals": {"by": ["web"], "remember": "session"}}`

// proxied is the command line of the proxy with the server behind it. Its standard error is what the person reads.
func (h *home) proxied(policy string) []string {
	h.t.Helper()
	server := h.server()
	h.write("policy.json", policy)
	if out, err := exec.CommandContext(h.t.Context(), "mkfifo", h.path("said")).CombinedOutput(); err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
	return []string{
		"bash", "-c", `exec "$@" < <(exec tee -a "$0/wire") 2>"$0/said"`, h.dir,
		h.fairlead, "proxy", "--name", "orders", "--reach", "none", "--policy", h.path("policy.json"), "--store", h.path("store"),
		"--audit", h.path("calls.jsonl"), "--", server[0], server[1], server[2],
	}
}

// server is the command line of the server alone.
func (h *home) server() []string {
	h.t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		h.t.Skipf("SKIPPED: there is no python3 for the server: %v", err)
	}
	h.write("orders.py", orders)
	return []string{python, h.path("orders.py"), h.path("sent.jsonl")}
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

// metas returns the _meta of each call in a file of messages; of those that the server got, the file has the params alone.
func (h *home) metas(name string) (all []map[string]any) {
	h.t.Helper()
	messages, err := os.ReadFile(h.path(name))
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range bytes.Lines(messages) {
		type params struct {
			Name string
			Meta map[string]any `json:"_meta"`
		}
		var m struct {
			params
			Method string
			Params params
		}
		if err := json.Unmarshal(line, &m); err != nil {
			h.t.Fatalf("%v\n%s", err, line)
		}
		switch {
		case m.Method == "tools/call":
			all = append(all, m.Params.Meta)
		case m.Name != "":
			all = append(all, m.Meta)
		}
	}
	return all
}

// identified returns the names of the members that the proxy has recorded as those that identify a call, of each call
// that has some.
func (h *home) identified() (all [][]string) {
	h.t.Helper()
	record, err := os.ReadFile(h.path("calls.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range bytes.Lines(record) {
		var r struct{ Client map[string]any } // it is on the first line of a call
		if err := json.Unmarshal(line, &r); err != nil {
			h.t.Fatal(err)
		}
		if r.Client != nil {
			all = append(all, names(r.Client))
		}
	}
	return all
}

// names returns the sorted names of members, without the token of the transport, which each hop has its own of.
func names(members map[string]any) []string {
	return slices.DeleteFunc(append([]string{}, slices.Sorted(maps.Keys(members))...), func(name string) bool { return name == "progressToken" })
}

// kept is what a version of a client sent with a call, on a day. Of its members, some identify the call to the client.
type kept struct {
	Package, Version, Date string
	Meta                   map[string]any
	Identifies             []string
}

// identified is what the record has of this many calls.
func (k kept) identified(calls int) [][]string {
	if len(k.Identifies) == 0 {
		return nil
	}
	return slices.Repeat([][]string{k.Identifies}, calls)
}

func allKept(t *testing.T) (all map[string]kept) {
	t.Helper()
	file, err := os.ReadFile("testdata/meta.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// checkMeta compares what a client sent with what is kept of it, with what the server got and with what the proxy took for
// identifiers.
func (h *home) checkMeta(client string) {
	h.t.Helper()
	k := allKept(h.t)[client]
	var installed struct{ Version string }
	file, err := os.ReadFile(filepath.Join(h.programs, k.Package, "package.json"))
	if err := errors.Join(err, json.Unmarshal(file, &installed)); err != nil {
		h.t.Fatal(err)
	}
	if installed.Version != k.Version {
		h.t.Errorf("testdata/meta.json has what %s %s sends, and %s is installed: bring the file up to date", k.Package, k.Version, installed.Version)
	}
	metas := h.metas("wire")
	for _, meta := range metas {
		if diff := cmp.Diff(slices.Sorted(maps.Keys(k.Meta)), slices.Sorted(maps.Keys(meta))); diff != "" {
			h.t.Fatalf("%s sends other members than testdata/meta.json has (-want +got)\n%s\n%s", client, diff, text(meta))
		}
	}
	for _, meta := range h.metas("sent.jsonl") {
		if diff := cmp.Diff(names(k.Meta), names(meta)); diff != "" {
			h.t.Fatalf("the server got something else from %s (-want +got)\n%s", client, diff)
		}
	}
	if diff := cmp.Diff(k.identified(len(metas)), h.identified()); diff != "" {
		h.t.Errorf("the proxy takes other members of %s for identifiers (-want +got)\n%s", client, diff)
	}
}

// What was kept of each client is judged by the proxy as it was when the client itself ran.
func TestIdentifiersOfKeptMeta(t *testing.T) {
	t.Parallel()
	for client, k := range allKept(t) {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			h := homeOf(t, "")
			command := h.proxied(onThePage)
			p := h.person()
			defer p.leave()
			proxy := exec.CommandContext(t.Context(), command[0], command[1:]...)
			proxy.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_order","arguments":{"id":1},"_meta":` + text(k.Meta) + "}}\n")
			if out, err := proxy.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(k.identified(1), h.identified()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// calls are those of a session: a read, and a write three times.
func calls(read, write string) []step {
	return []step{
		{read, map[string]any{"id": 1}},
		{write, map[string]any{"id": 7}},
		{write, map[string]any{"id": 7}},
		{write, map[string]any{"id": 8}},
	}
}

// session runs a client twice, as a person who approves a write for the session, and denies another. In the session
// the approved write is not asked about again; in the next one it is, and nothing else has changed. run returns what the
// client printed, and what its model was told.
func session(t *testing.T, h *home, client string, run func() (out, told string)) {
	t.Helper()
	one := []string{
		"get_order safe ok", "delete_order dangerous ok page, by a link", "delete_order dangerous ok remembered approval",
		"delete_order dangerous denied page, by a link",
	}
	for restart := range 2 {
		p := h.person("arguments-session", "")
		out, told := run()
		p.leave()
		if p.asked != 2 {
			t.Errorf("the person was asked %d times, want 2", p.asked)
		}
		if diff := cmp.Diff(slices.Repeat(one, restart+1), h.recorded()); diff != "" {
			t.Fatalf("(-want +got)\n%s\n%s", diff, out)
		}
		if !strings.Contains(told, "get_order answers for 1") || !strings.Contains(told, "delete_order answers for 7") || strings.Contains(told, "delete_order answers for 8") {
			t.Errorf("the model was told:\n%s", told)
		}
	}
	h.checkMeta(client)
}

func TestCodexBehindTheProxy(t *testing.T) {
	t.Parallel()
	h := newHome(t, "FAIRLEAD_NPM_AGENTS", "@openai/codex")
	command := h.proxied(onThePage)
	session(t, h, "codex", func() (string, string) {
		model := &script{steps: calls("mcp__orders/get_order", "mcp__orders/delete_order")}
		address := model.serve(t, model.openai)
		h.write(".codex/config.toml", codexConfig(command, address))
		return runCodex(h, address), model.heard()
	})
}

func TestGeminiCLIBehindTheProxy(t *testing.T) {
	t.Parallel()
	h := newHome(t, "FAIRLEAD_NPM_AGENTS", "@google/gemini-cli")
	command := h.proxied(onThePage)
	h.write(".gemini/settings.json", geminiConfig(command))
	session(t, h, "gemini-cli", func() (string, string) {
		model := &script{steps: calls("mcp_orders_get_order", "mcp_orders_delete_order")}
		return runGemini(h, model.serve(t, model.gemini)), model.heard()
	})
}

func TestTypeScriptSDKBehindTheProxy(t *testing.T) {
	t.Parallel()
	for client, c := range map[string]struct{ variable, name string }{
		"typescript-sdk":   {"FAIRLEAD_TS_SDK", "@modelcontextprotocol/sdk"},
		"typescript-sdk-2": {"FAIRLEAD_INSPECTOR", "@modelcontextprotocol/client"},
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, c.variable, c.name)
			command := h.proxied(onThePage)
			source, err := os.ReadFile("testdata/" + client + ".mjs")
			if err != nil {
				t.Fatal(err)
			}
			h.write("client.mjs", string(source))
			if err := os.Symlink(h.programs, h.path("node_modules")); err != nil {
				t.Fatal(err)
			}
			session(t, h, client, func() (string, string) {
				out := h.exec(h.node(), nil, true, h.path("client.mjs"), text(asCalls("get_order", "delete_order")), text(command))
				return out, out
			})
		})
	}
}

func asCalls(read, write string) (all []map[string]any) {
	for _, c := range calls(read, write) {
		all = append(all, map[string]any{"name": c.tool, "arguments": c.arguments})
	}
	return all
}

// The command line of the inspector makes one call in each session, so that a person is asked about each write.
func TestInspectorBehindTheProxy(t *testing.T) {
	t.Parallel()
	h := newHome(t, "FAIRLEAD_INSPECTOR", "@modelcontextprotocol/inspector")
	command := h.proxied(onThePage)
	h.write("mcp.json", text(map[string]any{"mcpServers": map[string]any{"orders": map[string]any{"command": command[0], "args": command[1:]}}}))
	p := h.person("arguments-session", "arguments-session", "")
	var told string
	for _, c := range calls("get_order", "delete_order") {
		told += h.exec(h.node(), nil, false, filepath.Join(h.programs, ".bin", "mcp-inspector"), "--cli", "--config", h.path("mcp.json"), "--server", "orders",
			"--method", "tools/call", "--tool-name", c.tool, "--tool-arg", "id="+text(c.arguments["id"]))
	}
	p.leave()
	want := []string{
		"get_order safe ok", "delete_order dangerous ok page, by a link", "delete_order dangerous ok page, by a link",
		"delete_order dangerous denied page, by a link",
	}
	if diff := cmp.Diff(want, h.recorded()); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, told)
	}
	if n := strings.Count(told, "delete_order answers for 7"); n != 2 || !strings.Contains(told, "get_order answers for 1") || strings.Contains(told, "answers for 8") {
		t.Errorf("the inspector printed\n%s", told)
	}
	h.checkMeta("inspector")
}

// fairlead connect finds the configuration of a real client in its home; the client's call then passes the proxy, and
// --undo restores the bytes.
func TestConnectedClient(t *testing.T) {
	t.Parallel()
	for client, c := range map[string]struct {
		name, file string
		config     func(server []string, model string) string
		model      func(*script) func(http.ResponseWriter, *http.Request, string)
		read       string
		run        func(h *home, model string) string
	}{
		"codex": {"@openai/codex", ".codex/config.toml", codexConfig, func(s *script) func(http.ResponseWriter, *http.Request, string) { return s.openai }, "mcp__orders/get_order", runCodex},
		"gemini-cli": {"@google/gemini-cli", ".gemini/settings.json", func(server []string, _ string) string {
			return "// mine\n" + geminiConfig(server)
		}, func(s *script) func(http.ResponseWriter, *http.Request, string) { return s.gemini }, "mcp_orders_get_order", runGemini},
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "FAIRLEAD_NPM_AGENTS", c.name)
			model := &script{steps: []step{{c.read, map[string]any{"id": 1}}}}
			address := model.serve(t, c.model(model))
			before := c.config(h.server(), address)
			h.write(c.file, before)
			h.exec(h.fairlead, nil, true, "connect", "--yes")
			after, err := os.ReadFile(h.path(c.file))
			if err != nil || !strings.Contains(string(after), "proxy") {
				t.Fatalf("%v: the proxy is not in\n%s", err, after)
			}
			out := c.run(h, address)
			var record bytes.Buffer
			files, err := filepath.Glob(h.path(".fairlead/*.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				lines, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				record.Write(lines)
			}
			if !strings.Contains(record.String(), "get_order") || !strings.Contains(model.heard(), "get_order answers for 1") {
				t.Errorf("%v: no record of the call, or no answer:\n%s\n%s", files, &record, out)
			}
			h.exec(h.fairlead, nil, true, "connect", "--undo", "--yes")
			if restored, err := os.ReadFile(h.path(c.file)); err != nil || string(restored) != before {
				t.Errorf("%v: got\n%s\nwant\n%s", err, restored, before)
			}
		})
	}
}

func codexConfig(server []string, model string) string {
	return `model = "gpt-5-codex" # mine
model_provider = "local"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.local]
name = "local"
base_url = "` + model + `/v1"
wire_api = "responses"
[mcp_servers.orders]
command = ` + text(server[0]) + `
args = ` + text(server[1:]) + `
required = true
startup_timeout_sec = 120
`
}

func runCodex(h *home, _ string) string {
	return h.run([]string{"OPENAI_API_KEY=x"}, "codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "Read order 1 and tidy up")
}

func geminiConfig(server []string) string {
	return text(map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}}, "privacy": map[string]any{"usageStatisticsEnabled": false},
		"mcpServers": map[string]any{"orders": map[string]any{"command": server[0], "args": server[1:]}},
	})
}

func runGemini(h *home, model string) string {
	env := []string{"GEMINI_API_KEY=x", "GEMINI_CLI_TRUST_WORKSPACE=true", "GOOGLE_GEMINI_BASE_URL=" + model}
	return h.run(env, "gemini", "--yolo", "-p", "Read order 1 and tidy up")
}

func TestOpencodeBehindTheProxy(t *testing.T) {
	t.Parallel()
	h := newHome(t, "FAIRLEAD_OPENCODE", "opencode-linux-x64")
	command := h.proxied(onThePage)
	session(t, h, "opencode", func() (string, string) {
		model := &script{steps: calls("orders_get_order", "orders_delete_order")}
		h.write("work/opencode.json", text(map[string]any{
			"autoupdate": false, "share": "disabled", "permission": map[string]any{"*": "allow"},
			"provider": map[string]any{"local": map[string]any{
				"npm": "@ai-sdk/openai-compatible", "options": map[string]any{"baseURL": model.serve(t, model.chat) + "/v1", "apiKey": "x"},
				"models": map[string]any{"m": map[string]any{"name": "m", "tool_call": true}},
			}},
			"mcp": map[string]any{"orders": map[string]any{"type": "local", "command": command, "enabled": true, "timeout": 120_000}},
		}))
		env := []string{"PWD=" + h.work, "OPENCODE_CONFIG=" + h.path("work/opencode.json"), "OPENCODE_DISABLE_MODELS_FETCH=1"}
		for _, kind := range []string{"DATA", "CONFIG", "CACHE", "STATE"} {
			env = append(env, "XDG_"+kind+"_HOME="+h.path(kind))
		}
		program := filepath.Join(h.programs, "opencode-linux-x64", "bin", "opencode")
		out := h.exec(program, env, true, "run", "--print-logs", "--log-level", "ERROR", "--model", "local/m", "Read order 1 and tidy up")
		return out, model.heard()
	})
}
