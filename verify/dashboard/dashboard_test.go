// Package dashboard_test draws the dashboard of contrib/otel from what a proxy serves to Prometheus.
package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/verify/internal/repo"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
)

// TestMain lets the test binary be the server.
func TestMain(m *testing.M) { mcptest.Main(m, map[string]func() *mcp.Server{"crm": crm}) }

func crm() *mcp.Server {
	s := mcptest.New()
	for name, res := range map[string]*mcp.CallToolResult{
		"get_customer": mcptest.Text("Ada"), "delete_customer": mcptest.Text("gone"), "find_customer": {IsError: true},
	} {
		mcptest.Add(s, mcptest.Tool(name, ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return res, nil })
	}
	return s
}

var (
	legend    = regexp.MustCompile(`{{(\w+)}}`)
	variables = strings.NewReplacer("$__rate_interval", "5m", "$tool", ".*")
)

// Every query of the dashboard of calls, evaluated over two scrapes of a proxy, draws a line for each label of its legend.
func TestEveryPanelHasData(t *testing.T) {
	draws(t, "../../contrib/otel/dashboard.json", func(v float64) bool { return v > 0 })
}

// Every query of the dashboard of the proxy as a service does so too; a count may be 0 there.
func TestEveryPanelOfTheServiceHasData(t *testing.T) {
	draws(t, "../../cmd/fairlead/deploy/dashboard.json", func(v float64) bool { return v >= 0 })
}

func draws(t *testing.T, file string, good func(float64) bool) {
	t.Helper()
	if err := repo.DependsOnCode(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	data, queries := scraped(t), 0
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute})
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries++
			query, err := engine.NewInstantQuery(t.Context(), data, nil, variables.Replace(target.Expr), time.UnixMilli(step))
			if err != nil {
				t.Fatalf("%s: %v", panel.Title, err)
			}
			lines, err := query.Exec(t.Context()).Vector()
			if err != nil || len(lines) == 0 {
				t.Errorf("%s: %s has %d lines, %v", panel.Title, target.Expr, len(lines), err)
			}
			for _, line := range lines {
				if math.IsNaN(line.F) || !good(line.F) {
					t.Errorf("%s: %s is %v", panel.Title, line.Metric, line.F)
				}
				for _, label := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
					if line.Metric.Get(label[1]) == "" {
						t.Errorf("%s: %s has no %s", panel.Title, line.Metric, label[1])
					}
				}
			}
		}
	}
	if queries < 8 {
		t.Errorf("only %d queries were read", queries)
	}
}

// step is the time between the scrapes, in milliseconds.
const step = 60_000

// scraped makes the same calls through a real proxy before each of two scrapes.
func scraped(t *testing.T) series {
	t.Helper()
	program := filepath.Join(t.TempDir(), "fairlead")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../cmd/fairlead", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, port, _ := net.SplitHostPort(address(t))
	exe, key := mcptest.Child(t, "crm")
	rules := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(rules, []byte(`{"cache": {"crm/get_customer": "on"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := address(t)
	cmd := exec.CommandContext(t.Context(), program, "proxy", "--listen", listen, "--name", "crm", "--policy", rules, "--approve", "elicit", "--audit", filepath.Join(t.TempDir(), "calls.jsonl"),
		"--store", redistest.New(t).URL(), "--", exe)
	cmd.Env = append(os.Environ(), key, "OTEL_METRICS_EXPORTER=prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT="+port, "GOMEMLIMIT=1GiB", "FAIRLEAD_STORE_KEY="+strings.Repeat("ab", 32))
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
		},
	})
	until(t, "the proxy to serve", func() bool { return get(t, "http://"+listen+"/healthz") == http.StatusOK })
	session := mcptest.Dial(t, client, &mcp.StreamableClientTransport{Endpoint: "http://" + listen + "/mcp"}, mcptest.Legacy)
	data := make(series)
	for at := int64(0); at <= step; at += step {
		for _, name := range []string{"get_customer", "get_customer", "find_customer", "delete_customer"} {
			if _, err := session.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		if status := get(t, "http://"+listen+"/mcp"); status < http.StatusBadRequest { // it is turned away
			t.Fatalf("a request without a session was answered with %d", status)
		}
		data.add(t, "http://localhost:"+port+"/metrics", at)
	}
	return data
}

// address returns one that nobody listens on.
func address(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return free.Addr().String()
}

// get returns the status of an answer, 0 for none.
func get(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// series is what Prometheus has scraped, by its labels.
type series map[string]*promql.Series

func (s series) add(t *testing.T, url string, at int64) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for p := textparse.NewPromParser(body, labels.NewSymbolTable(), false); ; {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var of labels.Labels
		p.Labels(&of)
		if s[of.String()] == nil {
			s[of.String()] = &promql.Series{Metric: of}
		}
		_, _, value := p.Series()
		s[of.String()].Floats = append(s[of.String()].Floats, promql.FPoint{T: at, F: value})
	}
}

// Querier selects among the series.
func (s series) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		set := &found{SeriesSet: storage.EmptySeriesSet()}
		for _, one := range s {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Metric.Get(m.Name)) }) {
				set.series = append(set.series, promql.NewStorageSeries(*one))
			}
		}
		return set
	}}, nil
}

// found is a set of series that were selected.
type found struct {
	storage.SeriesSet // without any

	series []storage.Series
	next   int
}

func (f *found) Next() bool         { f.next++; return f.next <= len(f.series) }
func (f *found) At() storage.Series { return f.series[f.next-1] }
