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

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

var (
	//go:embed page/report.html
	pageText string
	//go:embed page/style.css
	style string
	//go:embed page/sort.js
	script string
)

// page returns the template of a report.
func page() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		// These make what a server wrote safe to look at; the template makes it safe as HTML.
		"line": safetext.Line, "text": safetext.Text,
		"hints": hints, "because": because, "class": class, "help": func(id string) string { return ruleOf(id).advice() },
	}).Parse(pageText))
}

// HTML writes the report as a page in one file, which asks for nothing from anywhere.
func (r *Report) HTML(w io.Writer, at time.Time) error {
	findings, known := r.grouped()
	return page().Execute(w, map[string]any{
		"Policy":   policy(),
		"Style":    template.CSS(style), //nolint:gosec // both are files of ours
		"Script":   template.JS(script), //nolint:gosec // see above
		"At":       at.UTC().Format("2006-01-02 15:04 UTC"),
		"Stamp":    at.UTC().Format(time.RFC3339),
		"Servers":  r.Servers,
		"Several":  len(r.Servers) > 1,
		"Classes":  r.classes(),
		"Tools":    slices.SortedStableFunc(slices.Values(r.Tools), func(a, b Tool) int { return cmp.Compare(a.Safety, b.Safety) }),
		"Findings": findings,
		"Known":    known,
	})
}

// policy lets the page do what it does itself, and nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
}
