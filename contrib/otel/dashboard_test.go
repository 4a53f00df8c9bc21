package otel_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	fairleadotel "github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	registry "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
)

// The parts of a query: metrics, and the labels that it groups or selects by.
var (
	metricName = regexp.MustCompile(`[a-z_]+_(?:count|bucket|total|sum)\b`)
	grouping   = regexp.MustCompile(`by \(([^)]*)\)`)
	selector   = regexp.MustCompile(`([a-z_]+)(?:=~|!=|=)"`)
	legend     = regexp.MustCompile(`{{(\w+)}}`)
)

// Each query of the dashboard is about metrics and labels that calls really emit,
// under the names that Prometheus sees.
func TestDashboardAsksForWhatIsEmitted(t *testing.T) {
	t.Parallel()
	emitted := scrape(t)
	raw, err := os.ReadFile("dashboard.json")
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
	queries := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries++
			names := metricName.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s: %s asks for no metric", panel.Title, target.Expr)
			}
			var labels []string
			for _, by := range grouping.FindAllStringSubmatch(target.Expr, -1) {
				labels = append(labels, strings.Split(strings.ReplaceAll(by[1], " ", ""), ",")...)
			}
			for _, m := range append(selector.FindAllStringSubmatch(target.Expr, -1), legend.FindAllStringSubmatch(target.LegendFormat, -1)...) {
				labels = append(labels, m[1])
			}
			for _, name := range names {
				for _, label := range append(labels, "") {
					if label != "" && !slices.Contains(emitted[name], label) && label != "le" || emitted[name] == nil {
						t.Errorf("%s: nothing emits %s{%s}; there is %v", panel.Title, name, label, emitted[name])
					}
				}
			}
		}
	}
	if queries < 7 {
		t.Errorf("only %d queries were read", queries)
	}
}

// scrape makes a few calls and returns the labels of each metric as Prometheus
// names them.
func scrape(t *testing.T) map[string][]string {
	t.Helper()
	reg := registry.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(reg), prometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		t.Fatal(err)
	}
	tel := fairleadotel.New(fairleadotel.Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(exporter))})
	b, l := connect(t), newLab(fairleadotel.Options{})
	l.Telemetry = tel
	std := standard(l, says(hitl.Approved))
	caller := std.Then(middleware.ToolCaller(b))
	for _, name := range []string{"get_customer", "get_customer", "find_customer", "delete_customer"} {
		_, _ = b.call(t, caller, name)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]string)
	for _, f := range families {
		names := []string{f.GetName()}
		if f.GetType().String() == "HISTOGRAM" {
			names = []string{f.GetName() + "_count", f.GetName() + "_sum", f.GetName() + "_bucket"}
		}
		for _, m := range f.GetMetric() {
			for _, name := range names {
				for _, l := range m.GetLabel() {
					out[name] = append(out[name], l.GetName())
				}
			}
		}
	}
	return out
}
