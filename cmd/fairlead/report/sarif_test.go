package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/report"
	"github.com/google/jsonschema-go/jsonschema"
)

// FAIRLEAD_SARIF_SCHEMA names OASIS's schema of SARIF 2.1.0; what CI validates with.
func TestSARIFKeepsToTheOfficialSchema(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(os.Getenv("FAIRLEAD_SARIF_SCHEMA"))
	if err != nil {
		t.Skip("SKIPPED: FAIRLEAD_SARIF_SCHEMA names no sarif-schema-2.1.0.json: only our own reading of it is checked")
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	schema.Schema = "http://json-schema.org/draft-07/schema#" // it is in draft 4, and uses nothing that 7 has changed
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*report.Report{"hostile": hostileReport(), "empty": {}} {
		var b bytes.Buffer
		if err := r.SARIF(&b, true); err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the schema cannot say, and what code scanning needs.
func TestSARIFHangsTogether(t *testing.T) {
	t.Parallel()
	r := hostileReport()
	r.Servers = append(r.Servers,
		report.Server{ID: "a", Target: "x", File: "./my conf/mcp.json", Line: 7},
		report.Server{ID: "b", Target: "y", File: "/etc/mcp#1.json", Line: 1})
	r.Findings = append(r.Findings,
		report.Finding{Level: report.Warning, Rule: "gone", Server: "a", Tool: "t", Text: "gone", Fingerprint: "f1", Known: true},
		report.Finding{Level: report.Note, Rule: "of tomorrow", Server: "b", Text: "see [this](https://h) {0}", Fingerprint: "f2"})
	var b bytes.Buffer
	if err := r.SARIF(&b, true); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Invocations []struct{ ExecutionSuccessful bool }
			Results     []struct {
				RuleID              string
				RuleIndex           int
				Level               string
				Message             struct{ Text string }
				BaselineState       string
				PartialFingerprints map[string]string
				Locations           []struct {
					PhysicalLocation *struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
					LogicalLocations []struct{ FullyQualifiedName, Kind string }
				}
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if log.Version != "2.1.0" || len(log.Runs) != 1 || run.Invocations[0].ExecutionSuccessful || len(run.Results) != 3 {
		t.Errorf("got %+v", log)
	}
	for _, result := range run.Results {
		if run.Tool.Driver.Rules[result.RuleIndex].ID != result.RuleID || len(result.Locations) != 1 || len(result.PartialFingerprints) != 1 {
			t.Errorf("got %+v", result)
		}
	}
	known, fresh := run.Results[1], run.Results[2]
	if known.BaselineState != "unchanged" || known.Level != "warning" || known.Locations[0].LogicalLocations[0].FullyQualifiedName != "a/t" {
		t.Errorf("got %+v", known)
	}
	if at := known.Locations[0].PhysicalLocation; at.ArtifactLocation.URI != "my%20conf/mcp.json" || at.Region.StartLine != 7 {
		t.Errorf("got %+v", at)
	}
	if at := fresh.Locations[0].PhysicalLocation; at.ArtifactLocation.URI != "file:///etc/mcp%231.json" {
		t.Errorf("got %+v", at)
	}
	if fresh.BaselineState != "new" || fresh.Message.Text != `b: see \[this\](https://h) {{0}}` {
		t.Errorf("a text became a link or a place to fill in: %+v", fresh)
	}
}
