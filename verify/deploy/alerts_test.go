package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type alert struct{ Alert, Expr, For string }

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	text, err := os.ReadFile(files(t) + "/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	for _, g := range f.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 10 {
		t.Fatalf("the file has %d alerts", len(all))
	}
	return all
}

// fires has for each alert the series of an outage, in minutes; a second column has those without.
var fires = map[string][2]string{
	"FairleadRedisAway":         {`fairlead_dependency_up{fairlead_dependency="redis"} 0x20`, `fairlead_dependency_up{fairlead_dependency="redis"} 1x20`},
	"FairleadPostgreSQLAway":    {`fairlead_dependency_up{fairlead_dependency="postgresql"} 0x20`, `fairlead_dependency_up{fairlead_dependency="postgresql"} 1x20`},
	"FairleadIssuerAway":        {`fairlead_dependency_up{fairlead_dependency="issuer"} 0x20`, `fairlead_dependency_up{fairlead_dependency="issuer"} 1x20`},
	"FairleadCredentialsAway":   {`fairlead_dependency_up{fairlead_dependency="credentials"} 0x20`, `fairlead_dependency_up{fairlead_dependency="credentials"} 1x20`},
	"FairleadRecordAway":        {`fairlead_dependency_up{fairlead_dependency="record"} 0x20`, `fairlead_dependency_up{fairlead_dependency="record"} 1x20`},
	"FairleadServerAway":        {`fairlead_dependency_up{fairlead_dependency="server:crm"} 0x20`, `fairlead_dependency_up{fairlead_dependency="redis"} 0x20`},
	"FairleadRecordsLost":       {`fairlead_audit_lost_total 0+1x20`, `fairlead_audit_lost_total 7x20`},
	"FairleadCopiesAway":        {`fairlead_dependency_up{fairlead_dependency="syslog"} 0x20`, `fairlead_dependency_up{fairlead_dependency="redis"} 0x20`},
	"FairleadCopiesLost":        {`fairlead_audit_forward_lost_total{fairlead_dependency="syslog"} 0+1x20`, `fairlead_audit_forward_lost_total{fairlead_dependency="syslog"} 7x20`},
	"FairleadNotificationsFail": {`fairlead_notifications_total{error_type="timeout"} 0+1x20`, `fairlead_notifications_total 0+1x20`},
	"FairleadResultsWait":       {`fairlead_result_delayed 3x20`, `fairlead_result_delayed 0x20`},
	"FairleadPolicyInvalid":     {`fairlead_policy_current 0x20`, `fairlead_policy_current 1x20`},
	"FairleadTurnsAway": {
		`fairlead_request_rejected_total{http_response_status_code="429"} 0+60x20`, `fairlead_request_rejected_total{http_response_status_code="401"} 0+60x20`,
	},
	"FairleadTokensRefused": {
		`fairlead_request_rejected_total{http_response_status_code="401"} 0+60x20`, `fairlead_request_rejected_total{http_response_status_code="404"} 0+60x20`,
	},
	"FairleadQuestionsFull": {"fairlead_question_count 90x20\nfairlead_question_limit 100x20", "fairlead_question_count 70x20\nfairlead_question_limit 100x20"},
	"FairleadSessionsFull":  {"fairlead_session_count 95x20\nfairlead_session_limit 100x20", "fairlead_session_count 80x20\nfairlead_session_limit 100x20"},
	"FairleadMemoryHigh": {
		"go_memory_used_bytes{go_memory_type=\"other\"} 90x20\ngo_memory_used_bytes{go_memory_type=\"stack\"} 5x20\ngo_memory_limit_bytes 100x20",
		"go_memory_used_bytes{go_memory_type=\"other\"} 80x20\ngo_memory_limit_bytes 100x20",
	},
	"FairleadStoreSlow": {slow + "0x20\n" + slowAll, slow + "0+60x20\n" + slowAll},
}

const (
	slow    = `db_client_operation_duration_seconds_bucket{db_system_name="redis",le="0.1"} `
	slowAll = `db_client_operation_duration_seconds_bucket{db_system_name="redis",le="0.5"} 0+60x20` + "\n" + `db_client_operation_duration_seconds_bucket{db_system_name="redis",le="+Inf"} 0+60x20`
)

// Each alert fires in its outage and not without it, as the engine of Prometheus evaluates it.
func TestAlertsFire(t *testing.T) {
	all := alerts(t)
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("SKIPPED: the alerts are not evaluated, since there is no promtool")
	}
	run(t, nil, "promtool", "check", "rules", files(t)+"/alerts.yaml")
	var text strings.Builder
	fmt.Fprintf(&text, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n", files(t)+"/alerts.yaml")
	for _, a := range all {
		if fires[a.Alert][0] == "" {
			t.Errorf("%s has no series for which it fires", a.Alert)
			continue
		}
		for i, series := range fires[a.Alert] {
			fmt.Fprintf(&text, "  - name: %s %d\n    interval: 1m\n    input_series:\n", a.Alert, i)
			for line := range strings.SplitSeq(series, "\n") {
				name, values, _ := strings.Cut(line, " ")
				fmt.Fprintf(&text, "      - {series: '%s', values: '%s'}\n", name, values)
			}
			want := "0"
			if i == 0 {
				want = "1"
			}
			fmt.Fprintf(&text, "    promql_expr_test:\n      - {expr: 'count(ALERTS{alertname=%q,alertstate=\"firing\"}) or vector(0)', eval_time: 18m, exp_samples: [{value: %s}]}\n", a.Alert, want)
		}
	}
	name := filepath.Join(t.TempDir(), "alerts_test.yaml")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "promtool", "test", "rules", name)
}

var metric = regexp.MustCompile(`\b(?:fairlead|go|db)_[a-z_]+\b`)

// Each alert names metrics of the reference's table, whose rows a test of the program reads in a scrape, and has its step
// in the runbook.
func TestAlertsNameMetrics(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(files(t) + "/../../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	table, runbook := read("reference/telemetry.md"), read("howto/run-in-production.md")
	listed := make(map[string]bool)
	for _, m := range regexp.MustCompile("`((?:fairlead|go|db)\\.[a-z._]+)`").FindAllStringSubmatch(table, -1) {
		listed[strings.ReplaceAll(m[1], ".", "_")] = true
	}
	labels := map[string]bool{"go_memory_type": true, "fairlead_dependency": true, "db_system_name": true}
	for _, a := range alerts(t) {
		if !strings.Contains(runbook, "`"+a.Alert+"`") {
			t.Errorf("%s has no step in the runbook", a.Alert)
		}
		names := metric.FindAllString(a.Expr, -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", a.Alert)
		}
		for _, name := range names {
			bare := name
			for _, end := range []string{"_bucket", "_total", "_bytes", "_seconds"} {
				bare = strings.TrimSuffix(bare, end)
			}
			if !listed[bare] && !labels[name] {
				t.Errorf("%s names %s, which is not in the table of metrics", a.Alert, name)
			}
		}
	}
}
