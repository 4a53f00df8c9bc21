package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A scraped proxy serves its metrics to Prometheus.
type scraped struct {
	*probed

	url string
}

func scrape(t *testing.T, env []string, args ...string) *scraped {
	t.Helper()
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	env = append(env, "OTEL_METRICS_EXPORTER=prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT="+port, "GOMEMLIMIT=1GiB")
	return &scraped{probe(t, env, args...), "http://localhost:" + port + "/metrics"}
}

var sample = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? (\S+)$`)

// read returns the samples of one scrape: the value by the name and the labels, without those of the instrument.
func (s *scraped) read(t *testing.T) map[string]string {
	t.Helper()
	res, err := http.Get(s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, m := range sample.FindAllStringSubmatch(string(body), -1) {
		labels := slices.DeleteFunc(strings.Split(m[2], ","), func(l string) bool { return l == "" || strings.HasPrefix(l, "otel_scope_") })
		all[m[1]+"{"+strings.Join(labels, ",")+"}"] = m[3]
	}
	return all
}

// value waits until a sample has a value.
func (s *scraped) value(t *testing.T, name string, ok func(string) bool) {
	t.Helper()
	var all map[string]string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); runtime.Gosched() {
		if all = s.read(t); ok(all[name]) {
			return
		}
	}
	maps.DeleteFunc(all, func(n, _ string) bool { return strings.Contains(n, "_bucket{") })
	t.Fatalf("%s is %q; all: %q", name, all[name], slices.Sorted(maps.Keys(all)))
}

func is(want string) func(string) bool { return func(got string) bool { return got == want } }
func some(got string) bool             { return got != "" && got != "0" }

// A scrape shows the outage of a store, its operations with their errors, lost records, requests that were turned away, and
// whether the file of the policy counts.
func TestMetricsOfOutages(t *testing.T) {
	t.Parallel()
	red, db, dir := redistest.New(t), postgrestest.New(t), t.TempDir()
	rules, record := filepath.Join(dir, "policy.json"), filepath.Join(dir, "calls.jsonl")
	write := func(text string) {
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{}`)
	server := mcptest.New()
	mcptest.Add(server, mcptest.Tool("delete_note", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text("gone"), nil })
	at, _ := mcptest.HTTPTransport(t, server, mcptest.Legacy)
	s := scrape(t, []string{keyVariable + "=" + strings.Repeat("0f", 32)}, "--store", red.URL(), "--approvals", db.URL(), "--audit", record, "--syslog", "unix://"+filepath.Join(dir, "log"), "--policy", rules, "--approve", "web", "--reach", "none", "--webhook", "http://127.0.0.1:1/", at.Endpoint)
	s.until(t, "ok")
	session := mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: s.base + "/mcp", DisableStandaloneSSE: true}, mcptest.Legacy)
	call := func(ctx context.Context) {
		_, _ = session.CallTool(ctx, &mcp.CallToolParams{Name: "delete_note", Arguments: map[string]any{}}) // it is given up, or refused
	}
	waits, give := context.WithCancel(t.Context())
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		call(waits)
	}()
	s.value(t, `fairlead_question_count{}`, is("1"))
	s.value(t, `fairlead_request_count{}`, is("1"))
	s.value(t, `fairlead_notifications_total{error_type="unavailable",fairlead_notification_channel="webhook"}`, is("1"))
	s.value(t, `fairlead_dependency_up{fairlead_dependency="webhook"}`, is("0"))
	s.until(t, "degraded") // and ready: people can look at the page
	give()
	mcptest.Wait(t, "the end of the call", asked)
	s.value(t, `fairlead_session_count{}`, is("1"))
	s.value(t, `fairlead_session_limit{}`, is("100"))
	s.value(t, `fairlead_request_count{}`, is("0"))
	s.value(t, `fairlead_request_body_usage_bytes{}`, is("0"))
	s.value(t, `fairlead_result_usage_bytes{}`, is("0"))
	s.value(t, `fairlead_result_delayed{}`, is("0"))
	s.value(t, `fairlead_question_count{}`, is("0"))
	s.value(t, `fairlead_question_limit{}`, is("100"))
	s.value(t, `fairlead_audit_lost_total{}`, is("0"))
	s.value(t, `fairlead_audit_forward_lost_total{fairlead_dependency="syslog"}`, is("0"))
	s.value(t, `fairlead_audit_forward_waiting{fairlead_dependency="syslog"}`, some)
	s.value(t, `fairlead_dependency_up{fairlead_dependency="syslog"}`, is("0"))
	s.value(t, `go_memory_limit_bytes{}`, is("1.073741824e+09"))
	s.value(t, `go_memory_used_bytes{go_memory_type="other"}`, some)
	for _, name := range []string{depRedis, depPostgres, depRecord} {
		s.value(t, `fairlead_dependency_up{fairlead_dependency="`+name+`"}`, is("1"))
	}
	s.value(t, `db_client_operation_duration_seconds_count{db_operation_name="sweep",db_system_name="postgresql"}`, some)
	s.value(t, `db_client_operation_duration_seconds_count{db_operation_name="fleet",db_system_name="redis"}`, some)

	red.Kill()
	db.Kill()
	s.value(t, `fairlead_dependency_up{fairlead_dependency="redis"}`, is("0"))
	s.value(t, `fairlead_dependency_up{fairlead_dependency="postgresql"}`, is("0"))
	s.value(t, `fairlead_dependency_failures_total{fairlead_dependency="postgresql"}`, some)
	s.value(t, `db_client_operation_duration_seconds_count{db_operation_name="fleet",db_system_name="redis",error_type="unavailable"}`, some)

	res, err := http.Post(s.base+"/mcp", "application/json", bytes.NewReader([]byte("{")))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	s.value(t, `fairlead_request_rejected_total{http_response_status_code="400"}`, is("1"))

	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	call(t.Context())
	s.value(t, `fairlead_audit_lost_total{}`, some)
	s.value(t, `fairlead_dependency_up{fairlead_dependency="record"}`, is("0"))

	s.value(t, `fairlead_policy_current{}`, is("1"))
	write(`{"alow": []}`)
	s.value(t, `fairlead_policy_current{}`, is("0"))
	s.value(t, `fairlead_policy_reloads_total{error_type="invalid"}`, is("1"))
	write(`{"limits": {"perMinute": 600}}`)
	s.value(t, `fairlead_policy_current{}`, is("1"))
	s.value(t, `fairlead_policy_reloads_total{}`, is("1"))
	documented(t, s.read(t))
	if log := s.log(); strings.Count(log, "policy: the file was read again") != 1 {
		t.Error("the end of the trouble with the policy is not in the log at the default level")
	}
}

var row = regexp.MustCompile("(?m)^\\| `((?:fairlead|db|go)\\.[a-z._]+)` \\| `([^`]+)` \\|")

// documented compares the metrics of a scrape with the table of the reference, in both directions.
func documented(t *testing.T, all map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/reference/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		listed[strings.ReplaceAll(m[1], ".", "_")] = true
	}
	found := make(map[string]bool)
	for sample := range all {
		name, _, _ := strings.Cut(sample, "{")
		for _, end := range []string{"_total", "_count", "_sum", "_bucket", "_bytes", "_seconds", "_percent"} {
			if cut := strings.TrimSuffix(name, end); !listed[name] {
				name = cut
			}
		}
		if found[name] = true; strings.HasPrefix(name, "fairlead_") && !listed[name] && !strings.HasPrefix(name, "fairlead_call") && !strings.HasPrefix(name, "fairlead_approval") && name != "fairlead_decisions" {
			t.Errorf("%s is not in the table of docs/reference/telemetry.md", name)
		}
	}
	for name := range listed {
		if !found[name] {
			t.Errorf("%s is in the table of docs/reference/telemetry.md, and not in a scrape", name)
		}
	}
	if len(listed) < 15 {
		t.Errorf("the table has %d metrics", len(listed))
	}
}
