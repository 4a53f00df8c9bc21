package report

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/safetext"
)

// sarifSchema names the form; a program knows it and does not fetch it.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// home is where the rules are explained.
const home = "https://github.com/fairlead-go/fairlead"

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string       `json:"id"`
		ShortDescription     sarifMessage `json:"shortDescription"`
		Help                 sarifMessage `json:"help"`
		DefaultConfiguration sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level Level `json:"level"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool `json:"executionSuccessful"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               Level             `json:"level"`
		Message             sarifMessage      `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
		BaselineState       string            `json:"baselineState,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name               string `json:"name"`
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// SARIF writes the findings as SARIF 2.1.0, for code scanning. Where a configuration
// file names the server, a finding stands at its entry there. compared says that there
// was a baseline.
func (r *Report) SARIF(w io.Writer, compared bool) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "fairlead", InformationURI: home}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: !slices.ContainsFunc(r.Servers, func(s Server) bool { return s.Error != "" })}},
		Results:     []sarifResult{},
		ColumnKind:  "unicodeCodePoints",
	}
	index := make(map[string]int)
	for i, rule := range rules {
		index[rule.id] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(rule))
	}
	for _, f := range r.Findings {
		i, known := index[f.Rule]
		if !known {
			i = len(run.Tool.Driver.Rules)
			index[f.Rule] = i
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(ruleOf(f.Rule)))
		}
		result := sarifResult{
			RuleID: f.Rule, RuleIndex: i, Level: f.Level, Message: sarifText(f.subject() + ": " + f.Text),
			Locations: []sarifLocation{r.location(f)}, PartialFingerprints: map[string]string{"fairlead/v1": f.Fingerprint},
		}
		switch {
		case f.Known:
			result.BaselineState = "unchanged"
		case compared:
			result.BaselineState = "new"
		}
		run.Results = append(run.Results, result)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifRuleOf(r rule) sarifRule {
	return sarifRule{r.id, sarifText(r.short), sarifText(r.help), sarifDefault{r.level}}
}

// sarifText is any text as a message, in which a bracket would begin a link and a
// brace a place to fill in.
func sarifText(s string) sarifMessage {
	return sarifMessage{messageEscapes.Replace(safetext.Line(s))}
}

var messageEscapes = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `{`, `{{`, `}`, `}}`)

func (r *Report) location(f Finding) sarifLocation {
	logical := sarifLogical{Name: safetext.Line(f.Server), FullyQualifiedName: safetext.Line(f.subject()), Kind: "module"}
	if f.Tool != "" {
		logical.Name, logical.Kind = safetext.Line(f.Tool), "function"
	}
	l := sarifLocation{Logical: []sarifLogical{logical}}
	for _, s := range r.Servers {
		if s.ID == f.Server && s.File != "" {
			l.Physical = &sarifPhysical{sarifArtifact{fileURI(s.File)}, sarifRegion{max(1, s.Line)}}
		}
	}
	return l
}

// fileURI is a path as a reference: relative ones stay so, for the root of a checkout.
func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if filepath.IsAbs(path) {
		return (&url.URL{Scheme: "file", Path: slashed}).String()
	}
	return (&url.URL{Path: strings.TrimPrefix(slashed, "./")}).EscapedPath()
}
