package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/prompt"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sentinel begins every secret of the test.
const sentinel = "sentinel-"

// A fate decides what goes wrong, and what is said of it.
type fate struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (f *fate) dice(sides int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(sides)
}

// says repeats its input, as the errors of servers and drivers do.
func says(who string, arguments []byte) error {
	return fmt.Errorf("%s: cannot do it with %s (Authorization: Bearer %sheader)", who, arguments, sentinel)
}

// hiding returns arguments with a secret in one of the places where it must be found.
func (f *fate) hiding(secret string) string {
	q := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	places := []string{
		`{"password":` + q(secret) + `}`,
		`{"note":` + q(secret) + `}`, // by the schema
		`{"word":` + q(secret) + `,"x":1}`,
		`{"a":{"b":[{"apiKey":` + q(secret) + `}]}}`,
		`{"env":[{"name":"DB_PASSWORD","value":` + q(secret) + `}]}`,
		`{"text":` + q("password="+secret) + `}`,
		`{"text":` + q(`{"token":"`+secret+`"}`) + `}`,
		`{"url":` + q("https://ann:"+secret+"@example.com/") + `}`,
		`{"url":` + q("https://example.com/?api_key="+secret) + `}`,
		`{"header":` + q("Authorization: Bearer "+secret) + `}`,
		`{"first":` + q("it is "+secret) + `,"secret":` + q(secret) + `}`,
		`{"args":["--token",` + q(secret) + `]}`,
		`{"pem":` + q("-----BEGIN PRIVATE KEY-----\n"+secret+"\n-----END PRIVATE KEY-----") + `}`,
	}
	return places[f.dice(len(places))]
}

// handle is a tool that answers well, badly, or with an error that repeats it all.
func (f *fate) handle(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	switch f.dice(5) {
	case 0:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: says("driver", arguments).Error()}
	case 1:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: says("parser", arguments).Error()}
	case 2:
		res := mcptest.Text(says("tool", arguments).Error())
		res.IsError = true
		return res, nil
	}
	return mcptest.Text(string(arguments)), nil
}

// Resolve fails, and panics, with the arguments in its words.
func (f *fate) Resolve(_ context.Context, call middleware.Call) (annotation.Annotations, bool, error) {
	switch f.dice(8) {
	case 0:
		return annotation.Annotations{}, true, says("resolver", call.Arguments)
	case 1:
		panic(says("resolver", call.Arguments))
	}
	return annotation.Annotations{}, false, nil
}

// Confirm approves, denies, or returns an error with the arguments.
func (f *fate) Confirm(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	switch f.dice(5) {
	case 0:
		return hitl.Decision{}, says("dialog", r.Arguments)
	case 1:
		panic(says("dialog", r.Arguments))
	case 2:
		return hitl.Decision{Reason: "not today"}, nil
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
}

func (f *fate) link(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		switch f.dice(20) {
		case 0:
			panic(says("link", call.Arguments))
		case 1:
			panic(string(call.Arguments))
		case 2:
			return nil, says("link", call.Arguments)
		}
		return next.CallTool(ctx, call)
	})
}

// A thousand calls hide a secret of their own in arguments, results, errors and
// panics, before servers at URLs with secrets. None of it reaches a file, a log at
// its lowest level, a prompt, a finding, or what a model reads of an error.
func TestNoSecretReachesAnySink(t *testing.T) {
	t.Parallel()
	f := &fate{random: rand.New(rand.NewPCG(1, 2))}
	var log safeBuffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	tools := catalog.New(catalog.Options{Logger: logger})
	t.Cleanup(func() { _ = tools.Close() })
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(tools, nil))
	replicas := secretive(t, f, tools, client)

	dir := t.TempDir()
	file, err := audit.OpenFile(filepath.Join(dir, "calls.jsonl"), logger)
	if err != nil {
		t.Fatal(err)
	}
	store, err := approvals.OpenFile(filepath.Join(dir, "approvals.jsonl"), logger)
	if err != nil {
		t.Fatal(err)
	}
	trail := audit.New(file, audit.Options{Logger: logger})
	judge := preflight.New(preflight.Options{Resolver: f, Logger: logger, Rules: preflight.Rules{
		"near/touch_0": func(a preflight.Arguments) (preflight.Verdict, bool) {
			raw, _ := a.Raw("password")
			panic(says("rule", raw))
		},
		"near/touch_8": func(a preflight.Arguments) (preflight.Verdict, bool) {
			text, ok := a.Text("text")
			return preflight.Verdict{Why: text}, ok
		},
	}})
	var toModel safeBuffer
	std := chain.Standard{
		Outermost: []middleware.Middleware{reading(&toModel)},
		Output:    output.New(output.Options{Logger: logger}),
		Telemetry: wordsOf(&toModel),
		Audit:     trail,
		Infer:     infer.New(infer.Options{}),
		Budget:    budget.New(budget.Options{Logger: logger, Repeats: 2}),
		Preflight: judge,
		Confirm: hitl.New(f, hitl.Options{
			Logger: logger, Store: store, Remember: hitl.Session,
			TwoSteps: []hitl.TwoStep{{Server: "near", Draft: "touch_1", Commit: "touch_2"}},
		}),
		PerCall:    []middleware.Middleware{f.link},
		Cache:      cache.New(cache.Options{Logger: logger}),
		Retry:      retry.New(retry.Options{Logger: logger, Rand: func() float64 { return 0 }, Budget: 1e6}),
		RateLimit:  ratelimit.New(ratelimit.Options{Logger: logger, PerMinute: 1e9, Burst: 1}),
		PerAttempt: []middleware.Middleware{f.link},
		Timeout:    timeout.New(timeout.Options{}),
		Route:      route.New(route.Options{Logger: logger, Failures: 3, Pause: time.Millisecond}, route.NewPool("near", route.RoundRobin, replicas...)),
	}
	caller := std.Then(tools)
	all := tools.List()
	for i := range 1000 / longtest.Every(t, 5) {
		secret := fmt.Sprintf("%s%d-%x", sentinel, i, f.dice(1<<62))
		call := middleware.Call{ID: fmt.Sprint(i), Scope: fmt.Sprint(i % 7), Tool: all[f.dice(len(all))], Arguments: json.RawMessage(f.hiding(secret))}
		for range 1 + f.dice(3) {
			if _, err := caller.CallTool(t.Context(), call); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = tools.Refresh(t.Context(), "far") // no caller is there any more
	if err := errors.Join(file.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(filepath.Join(dir, "calls.jsonl"))
	if err != nil || report.State != audit.Whole {
		t.Errorf("the file: %+v, %v", report, err)
	}
	for where, text := range map[string]string{
		"the audit file":     contents(t, dir, "calls.jsonl"),
		"the approvals file": contents(t, dir, "approvals.jsonl"),
		"the log":            log.String(),
		"the model":          toModel.String(),
		"the prompt":         prompt.New(prompt.Options{Enforced: std.Describe()}).For(tools.List()).String(),
		"the findings":       fmt.Sprint(tools.Findings(), tools.Statistics()),
		"what is explained":  std.Explain(all[0]),
	} {
		if len(text) < 100 {
			t.Errorf("%s: next to nothing: %q", where, text)
		}
		for at, n := 0, 0; n < 3; n++ {
			i := strings.Index(text[at:], sentinel)
			if i < 0 {
				break
			}
			at += i + 1
			t.Errorf("%s: %s", where, text[max(0, at-400):min(len(text), at+100)])
		}
	}
}

// secretive adds a server with a tool of each class and level, behind two replicas,
// and one that has gone from a URL with a secret.
func secretive(t *testing.T, f *fate, tools *catalog.Catalog, client *mcp.Client) []route.Replica {
	t.Helper()
	schema := json.RawMessage(`{"type":"object","properties":{"note":{"type":"string","writeOnly":true},"word":{"type":"string","format":"password"}}}`)
	near := mcptest.New()
	for i := range 16 {
		mcptest.Add(near, &mcp.Tool{Name: fmt.Sprint("touch_", i), InputSchema: schema}, f.handle)
	}
	var replicas []route.Replica
	for i := range 2 {
		session := mcptest.Dial(t, client, mount.Transport(mcptest.MemoryTransport(t, near)), mcptest.Versions[i])
		if i == 0 {
			if err := tools.Add(t.Context(), "near", session); err != nil {
				t.Fatal(err)
			}
		}
		r, err := tools.Replica(t.Context(), "near", fmt.Sprint(i), session)
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, route.Replica{ID: fmt.Sprint(i), Weight: 50, Caller: r})
	}
	classes := []annotation.Annotations{annotation.ReadOnly(), annotation.Write(), annotation.Destructive(), {}}
	levels := []annotation.SecurityLevel{annotation.Restricted, annotation.Internal, annotation.Public, ""}
	for i := range 16 {
		word := classes[i/4]
		word.SecurityLevel = levels[i%4]
		if i%3 == 0 {
			word.AuditRequired = annotation.Yes
		}
		if err := tools.Override("near", fmt.Sprint("touch_", i), word); err != nil {
			t.Fatal(err)
		}
	}
	far := mcptest.New()
	mcptest.Add(far, &mcp.Tool{Name: "get_it", InputSchema: schema}, f.handle)
	transport, h := mcptest.HTTPTransport(t, far, mcptest.Modern)
	transport.Endpoint = strings.Replace(transport.Endpoint, "http://", "http://ann:"+sentinel+"user@", 1) + "/?token=" + sentinel + "query"
	if err := tools.Add(t.Context(), "far", mcptest.Dial(t, client, mount.Transport(transport), mcptest.Modern)); err != nil {
		t.Fatal(err)
	}
	restricted := annotation.Annotations{SecurityLevel: annotation.Restricted}
	if err := tools.Override("far", "get_it", restricted); err != nil {
		t.Fatal(err)
	}
	h.Stop()
	return replicas
}

// reading keeps what the model reads of what went wrong on the way. The model may read a tool's
// own answer.
func reading(into *safeBuffer) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			wrong := false
			res, err := next.CallTool(context.WithValue(ctx, wrongKey{}, &wrong), call)
			if wrong && res != nil {
				raw, _ := json.Marshal(res)
				_, _ = into.Write(raw)
			}
			return res, err
		})
	}
}

type wrongKey struct{}

// wordsOf keeps what the errors say to a model by themselves.
func wordsOf(into *safeBuffer) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err != nil {
				*ctx.Value(wrongKey{}).(*bool) = true
				_, _ = into.Write([]byte(middleware.ForModel(err)))
			}
			return res, err
		})
	}
}

func contents(t *testing.T, parts ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A safeBuffer may be written to by several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
