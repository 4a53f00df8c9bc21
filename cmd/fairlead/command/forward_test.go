package command

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/leodido/go-syslog/v4/rfc5424"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"
)

// A collected is a collector of OpenTelemetry over HTTP, which answers as the test sets.
type collected struct {
	url     string
	answers atomic.Int64 // a status; 0 ends the connection without an answer

	mu       sync.Mutex
	requests int
	records  []*logs.LogRecord
	service  string
}

func collects(t *testing.T, answers int) *collected {
	t.Helper()
	c := new(collected)
	c.answers.Store(int64(answers))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests++
		switch status := int(c.answers.Load()); {
		case status == 0:
			panic(http.ErrAbortHandler)
		case status != http.StatusOK:
			http.Error(w, "not now", status)
			return
		}
		var got collector.ExportLogsServiceRequest
		if err != nil || r.URL.Path != "/v1/logs" || proto.Unmarshal(body, &got) != nil {
			t.Errorf("%s: not a request of OTLP", r.URL.Path)
		}
		for _, from := range got.GetResourceLogs() {
			c.service = valueOf(from.GetResource().GetAttributes(), "service.name")
			for _, scope := range from.GetScopeLogs() {
				c.records = append(c.records, scope.GetLogRecords()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL + "/v1/logs"
	return c
}

func valueOf(all []*common.KeyValue, key string) string {
	for _, a := range all {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// bodies waits until the collector has so many records, and returns them.
func (c *collected) bodies(t *testing.T, n int) (all []string) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		c.mu.Lock()
		if len(c.records) >= n {
			defer c.mu.Unlock()
			for _, r := range c.records {
				all = append(all, r.GetBody().GetStringValue())
			}
			return all
		}
		c.mu.Unlock()
	}
	t.Fatalf("the collector has no %d records", n)
	return nil
}

// datagrams reads the messages of a syslog socket.
func datagrams(t *testing.T) (address string, messages <-chan string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "log") //nolint:usetesting // short, as the name of a socket must be
	if err != nil {
		t.Fatal(err)
	}
	c, err := new(net.ListenConfig).ListenPacket(t.Context(), "unixgram", filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = os.RemoveAll(dir)
	})
	got := make(chan string, 1000)
	go func() {
		for buffer := make([]byte, 1<<17); ; {
			n, _, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			m, err := rfc5424.NewParser().Parse(buffer[:n])
			if message, ok := m.(*rfc5424.SyslogMessage); err == nil && ok {
				got <- *message.Message
			} else {
				t.Errorf("not a message of RFC 5424: %v", err)
			}
		}
	}()
	return "unix://" + filepath.Join(dir, "log"), got
}

// lines returns the records of a file, without what only a file has.
func lines(t *testing.T, name string) (all []map[string]any) {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for s := bufio.NewScanner(in); s.Scan(); {
		all = append(all, fields(t, s.Text()))
	}
	return all
}

func fields(t *testing.T, text string) (one map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &one); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	delete(one, "seq")
	delete(one, "prev")
	return one
}

// noteServer is a server with a read and a deletion.
func noteServer(t *testing.T) string {
	t.Helper()
	server := mcptest.New()
	for _, name := range []string{"list_notes", "delete_note"} {
		mcptest.Add(server, mcptest.Tool(name, ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text("a"), nil })
	}
	at, _ := mcptest.HTTPTransport(t, server, mcptest.Legacy)
	return at.Endpoint
}

// calls makes calls of the server that all succeed: reads, and a deletion that a rule allows.
func (p *probed) calls(t *testing.T, n int) {
	t.Helper()
	session := mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: p.base + "/mcp", DisableStandaloneSSE: true}, mcptest.Legacy)
	for i := range n {
		name := "list_notes"
		if i%2 == 1 {
			name = "delete_note"
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"id": i, "password": "hunter2"}})
		if err != nil || res.IsError {
			t.Fatalf("%s: got %+v, %v", name, res, err)
		}
	}
}

func allowing(t *testing.T) (policy, record string) {
	t.Helper()
	dir := t.TempDir()
	policy, record = filepath.Join(dir, "policy.json"), filepath.Join(dir, "calls.jsonl")
	if err := os.WriteFile(policy, []byte(`{"rules": [{"tool": "notes/delete_note", "decide": "allow", "class": "dangerous"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return policy, record
}

// A collector that is away refuses no call and makes nothing unready; the log has a line at the begin and one at the end of
// its outage, and it gets each record of the file then, once and in order. A syslog server gets them meanwhile.
func TestRecordsAreForwarded(t *testing.T) {
	t.Parallel()
	policy, record := allowing(t)
	c := collects(t, 0)
	address, messages := datagrams(t)
	s := scrape(t, []string{"OTEL_LOGS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=" + c.url, "OTEL_SERVICE_NAME=front-desk"},
		"--policy", policy, "--audit", record, "--syslog", address, "--server", "notes="+noteServer(t))
	s.until(t, "ok")
	const calls = 20
	s.calls(t, calls)
	code, away := s.until(t, "degraded")
	if code != http.StatusOK || len(away) != 1 || away[depLogs] != withoutCopies {
		t.Errorf("in the outage: got %d %q", code, away)
	}
	s.value(t, `fairlead_dependency_up{fairlead_dependency="otlp-logs"}`, is("0"))
	s.value(t, `fairlead_dependency_up{fairlead_dependency="syslog"}`, is("1"))
	want := lines(t, record)
	if len(want) < calls+calls/2 {
		t.Fatalf("the file has %d records", len(want))
	}
	for i := range want {
		if got := fields(t, mcptest.Wait(t, "a message", messages)); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("syslog has\n%v\nthe file has\n%v", got, want[i])
		}
	}
	c.answers.Store(http.StatusOK)
	bodies := c.bodies(t, len(want))
	s.until(t, "ok")
	for i, body := range bodies {
		if strings.Contains(body, "hunter2") {
			t.Errorf("a secret was exported: %s", body)
		}
		if got := fields(t, body); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("the collector has\n%v\nthe file has\n%v", got, want[i])
		}
	}
	first := c.records[0]
	if len(bodies) != len(want) || c.service != "front-desk" || !strings.HasPrefix(first.GetEventName(), "fairlead.audit.") || valueOf(first.GetAttributes(), "gen_ai.tool.name") != want[0]["tool"] ||
		time.Unix(0, int64(first.GetTimeUnixNano())).UTC().Format(time.RFC3339Nano) != want[0]["time"] {
		t.Errorf("%d records of %d, of %s: %v", len(bodies), len(want), c.service, first)
	}
	for _, name := range []string{depLogs, depSyslog} {
		s.value(t, `fairlead_audit_forward_lost_total{fairlead_dependency="`+name+`"}`, is("0"))
		s.value(t, `fairlead_audit_forward_waiting{fairlead_dependency="`+name+`"}`, is("0"))
	}
	for _, line := range []string{`"health: a dependency is away" name=otlp-logs`, `"health: a dependency is back" name=otlp-logs`} {
		for strings.Count(s.log(), line) < 1 && t.Context().Err() == nil { // the line comes after the state
			runtime.Gosched()
		}
		if got := strings.Count(s.log(), line); got != 1 {
			t.Errorf("%d times %q, want 1", got, line)
		}
	}
}

// A collector that refuses all it gets, and a syslog server that is not there, refuse no call, and the end of the proxy
// does not wait for them for long.
func TestPlacesThatTakeNothing(t *testing.T) {
	t.Parallel()
	t.Run("B433: one that refuses all, and one that is not there", placesTakeNothing)
}

func placesTakeNothing(t *testing.T) {
	t.Helper()
	policy, record := allowing(t)
	c := collects(t, http.StatusForbidden)
	p := probe(t, []string{"OTEL_LOGS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=" + c.url},
		"--policy", policy, "--audit", record, "--syslog", "tcp://127.0.0.1:1", "--server", "notes="+noteServer(t))
	p.until(t, "ok")
	p.calls(t, 6)
	if code, away := p.until(t, "degraded"); code != http.StatusOK || away[depLogs]+away[depSyslog] == "" {
		t.Errorf("got %d %q", code, away)
	}
	if got := len(lines(t, record)); got < 9 {
		t.Errorf("the file has %d records", got)
	}
}

// Records have the arguments of calls, so that no endpoint for all signals turns their export on, and nothing does
// without a file. A place that cannot be is refused at the start.
func TestRecordsAreForwardedOnlyIfThatIsNamed(t *testing.T) {
	exe, _ := mcptest.Child(t, "lists")
	t.Setenv("FAIRLEAD_TEST_CHILD", "lists")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	for _, tt := range []struct {
		exporter, disabled string
		want               bool
	}{
		{"", "", false}, {"none", "", false}, {"otlp", "true", false}, {"otlp", "", true},
	} {
		t.Setenv("OTEL_LOGS_EXPORTER", tt.exporter)
		t.Setenv("OTEL_SDK_DISABLED", tt.disabled)
		if got, err := logExporter(t.Context(), true); err != nil || (got != nil) != tt.want {
			t.Errorf("%q, disabled %q: got %v, %v", tt.exporter, tt.disabled, got, err)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	_, record := allowing(t)
	for _, tt := range []struct {
		name, exporter string
		flags          []string
		fails          bool
		want           string // in the log
	}{
		{"B434: an unknown exporter", "carrier", []string{"--audit", record}, true, "OTEL_LOGS_EXPORTER: unknown exporter"},
		{"B434: the output that has MCP", "console", []string{"--audit", record}, true, "standard output has MCP"},
		{"B434: an address without a scheme", "", []string{"--audit", record, "--syslog", "logs.example"}, true, "--syslog: want unix:///PATH"},
		{"B434: a certificate that is not there", "", []string{"--audit", record, "--syslog", "tls://logs.example?ca=nothing.pem"}, true, "--syslog: nothing.pem: there is no such file"},
		{"B434: syslog without a file", "", []string{"--syslog", "unix:///dev/log"}, true, "name its file by --audit FILE"},
		{"B434: OTLP without a file", "otlp", nil, false, "OTEL_LOGS_EXPORTER exports copies of the record, and there is none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("OTEL_LOGS_EXPORTER", tt.exporter)
			code, _, said := program(t, "", append(append([]string{"proxy"}, tt.flags...), "--", exe)...)
			if (code != 0) != tt.fails || !strings.Contains(said, tt.want) {
				t.Errorf("exit %d: %s", code, said)
			}
		})
	}
}
