// Package report writes what was found about the tools of some servers, for people and for programs.
// Text of a server is nothing but text in each form.
package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/middleware"
)

// version is that of the report as JSON. Members are added under the same version.
const version = 1

// A Report is what is known about some servers. The zero value is an empty one; [Report.Add] and [Report.Fail] fill it.
// It is not safe for concurrent use.
type Report struct {
	Version  int       `json:"version"`
	Servers  []Server  `json:"servers"`
	Tools    []Tool    `json:"tools"`
	Findings []Finding `json:"findings"`
}

// A Server is one that was asked.
type Server struct {
	ID     string `json:"id"`
	Target string `json:"target"`          // without secrets
	File   string `json:"file,omitempty"`  // the configuration that names it
	Line   int    `json:"line,omitempty"`  // its place there
	Error  string `json:"error,omitempty"` // why it did not answer
}

// A Tool is one tool of a server.
type Tool struct {
	Server    string                 `json:"server"`
	Name      string                 `json:"tool"`
	Declared  annotation.Annotations `json:"declared"`
	Inferred  annotation.Annotations `json:"inferred"`
	Effective annotation.Annotations `json:"effective"`
	Safety    annotation.Safety      `json:"safety"`
	Freshness annotation.Freshness   `json:"freshness"` // volatile if it is not known
	Secret    bool                   `json:"secret,omitempty"`
	Evidence  []annotation.Evidence  `json:"evidence"`
	Will      []string               `json:"will"`
}

// A Finding is something that stands out, by a rule whose id stays as it is.
type Finding struct {
	Level  Level  `json:"level"`
	Rule   string `json:"rule"`
	Server string `json:"server"`
	Tool   string `json:"tool,omitempty"`
	Text   string `json:"text"`
	// Fingerprint stays the same as long as rule, tool and definition do.
	Fingerprint string `json:"fingerprint"`
	// Known is set if the baseline has it.
	Known bool `json:"known,omitempty"`
}

// Add adds the tools of a catalog with their findings; will describes what the chain does with a tool.
func (r *Report) Add(tools *catalog.Catalog, changes []pins.Change, will func(*middleware.Tool) string) {
	digests := make(map[[2]string]string)
	for _, t := range tools.List() {
		declared, inferred := tools.Layers(t)
		digests[[2]string{t.Server, t.Name()}] = t.Digest.String()
		r.Tools = append(r.Tools, Tool{
			Server: t.Server, Name: t.Name(), Declared: declared, Inferred: inferred, Effective: t.Annotations,
			Safety: t.Safety(), Freshness: t.Annotations.Defaults().Freshness, Secret: t.Annotations.Secret == annotation.Yes,
			Evidence: append([]annotation.Evidence{}, t.Annotations.Evidence...), Will: strings.Split(will(t), " · "),
		})
		r.own(t, declared)
	}
	for _, f := range tools.Findings() {
		r.find(string(f.Kind), f.Server, f.Tool, f.Text, digests[[2]string{f.Server, f.Tool}])
	}
	for _, c := range changes {
		kind := finding.NotAccepted
		if c.Kind == pins.Removed {
			kind = finding.Gone
		}
		_, text, _ := strings.Cut(c.String(), ": ")
		r.find(string(kind), c.Server, c.Tool, text, digests[[2]string{c.Server, c.Tool}])
	}
	r.sort()
}

// Fail adds a server that did not answer.
func (r *Report) Fail(server, text string) {
	r.find(ruleUnreachable, server, "", text, ruleUnreachable) // what it said may differ every time
	r.sort()
}

// find adds a finding. Its fingerprint is of the tool's definition, so that a new one has new findings; otherwise
// of its text.
func (r *Report) find(rule, server, tool, text, definition string) {
	// In quotes no part runs into the next.
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", rule, server, tool, cmp.Or(definition, text)))
	r.Findings = append(r.Findings, Finding{
		Level: ruleOf(rule).level, Rule: rule, Server: server, Tool: tool, Text: text, Fingerprint: hex.EncodeToString(sum[:16]),
	})
}

// sort puts the findings in order: the worst first, then by rule, server and tool.
func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Server, b.Server),
			strings.Compare(a.Tool, b.Tool), strings.Compare(a.Text, b.Text))
	})
}

// Count returns how many findings that are not known are of this level or a worse one.
func (r *Report) Count(least Level) int {
	n := 0
	for _, f := range r.Findings {
		if !f.Known && f.Level >= least {
			n++
		}
	}
	return n
}

// JSON writes the report for programs, and as a baseline.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(JSONWriter(w))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	out := *r
	out.Version = version
	out.Servers, out.Tools, out.Findings = append([]Server{}, r.Servers...), append([]Tool{}, r.Tools...), append([]Finding{}, r.Findings...)
	return e.Encode(out)
}

// Baseline marks the findings as known that an earlier report has, as JSON wrote it.
func (r *Report) Baseline(path string) error {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err
	}
	var before struct {
		Version  int `json:"version"`
		Findings []struct {
			Fingerprint string `json:"fingerprint"`
		} `json:"findings"`
	}
	switch err := json.Unmarshal(text, &before); {
	case err != nil:
		return fmt.Errorf("%s: want a report of fairlead inspect --json: %w", path, err)
	case before.Version != version:
		return fmt.Errorf("%s is a report of another version; write one with: fairlead inspect --json", path)
	case before.Findings == nil:
		return fmt.Errorf(`%s: it has no "findings"; write one with: fairlead inspect --json`, path)
	}
	known := make(map[string]bool, len(before.Findings))
	for _, f := range before.Findings {
		if f.Fingerprint == "" {
			return fmt.Errorf("%s: a finding has no fingerprint; write the file again with: fairlead inspect --json", path)
		}
		known[f.Fingerprint] = true
	}
	for i := range r.Findings {
		r.Findings[i].Known = known[r.Findings[i].Fingerprint]
	}
	return nil
}
