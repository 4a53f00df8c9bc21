package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/safetext"
)

var (
	//go:embed page/report.html
	pageText string
	//go:embed page/style.css
	style string
	//go:embed page/sort.js
	script string

	page = template.Must(template.New("report").Parse(pageText))
)

// HTML writes the report as a page in one file, which asks for nothing from anywhere.
func (r *Report) HTML(w io.Writer, at time.Time) error {
	groups, known := r.grouped()
	p := pageData{
		Policy:  policy(),
		Style:   template.CSS(style), //nolint:gosec // both are files of ours
		Script:  template.JS(script), //nolint:gosec // see above
		At:      at.UTC().Format("2006-01-02 15:04 UTC"),
		Stamp:   at.UTC().Format(time.RFC3339),
		Known:   known,
		Classes: r.classes(),
		Several: len(r.Servers) > 1,
	}
	for _, s := range r.Servers {
		p.Servers = append(p.Servers, pageServer{safetext.Line(s.ID), safetext.Line(s.Target), safetext.Text(s.Error)})
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, toolOf(t))
	}
	slices.SortStableFunc(p.Tools, func(a, b pageTool) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, g := range groups {
		shown := pageFinding{Level: g.Level.String(), Rule: safetext.Line(g.Rule), Text: safetext.Line(g.Text), Help: ruleOf(g.Rule).help}
		for _, subject := range g.subjects {
			shown.Subjects = append(shown.Subjects, safetext.Line(subject))
		}
		p.Findings = append(p.Findings, shown)
	}
	return page.Execute(w, p)
}

// A pageData is what stands on the page, made harmless to look at; the template makes
// it harmless as HTML.
type pageData struct {
	Policy    string
	Style     template.CSS
	Script    template.JS
	At, Stamp string
	Servers   []pageServer
	Several   bool
	Classes   string
	Tools     []pageTool
	Findings  []pageFinding
	Known     int
}

type pageServer struct{ ID, Target, Error string }

type pageTool struct {
	Server, Name, Declared, Inferred string
	Class                            string
	Rank                             int // the worst class first
	Will                             []string
	Because                          string
	Reasons                          []string
}

type pageFinding struct {
	Level, Rule, Text, Help string
	Subjects                []string
}

func toolOf(t Tool) pageTool {
	rank := map[annotation.Safety]int{annotation.Unknown: 0, annotation.Dangerous: 1, annotation.Moderate: 2, annotation.Safe: 3}
	shown := pageTool{
		Server: safetext.Line(t.Server), Name: safetext.Line(t.Name), Declared: hints(t.Declared), Inferred: hints(t.Inferred),
		Class: t.Safety.String(), Rank: rank[t.Safety], Will: t.Will, Because: safetext.Line(because(t)),
	}
	for _, e := range t.Evidence {
		shown.Reasons = append(shown.Reasons, safetext.Line(string(e.Field)+" "+e.Value+": "+e.String()))
	}
	return shown
}

// policy lets the page do what it does itself, and nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
}
