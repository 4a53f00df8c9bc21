package report

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// sarifSchema names the form; programs have it and do not fetch it.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

const home = "https://github.com/fairlead-go/fairlead"

type object = map[string]any

// SARIF writes the findings as SARIF 2.1.0. A finding is located at its server's entry in a
// configuration file, if there is one; compared means that there was a baseline.
func (r *Report) SARIF(w io.Writer, compared bool) error {
	index := make(map[string]int)
	var described []object
	for i, rule := range rules {
		index[rule.id] = i
		described = append(described, sarifRule(rule))
	}
	results := []object{}
	for _, f := range r.Findings {
		i, known := index[f.Rule]
		if !known {
			i = len(described)
			index[f.Rule] = i
			described = append(described, sarifRule(ruleOf(f.Rule)))
		}
		result := object{
			"ruleId": f.Rule, "ruleIndex": i, "level": f.Level, "message": sarifText(f.subject() + ": " + f.Text),
			"locations": []object{r.location(f)}, "partialFingerprints": object{"fairlead/v1": f.Fingerprint},
		}
		switch {
		case f.Known:
			result["baselineState"] = "unchanged"
		case compared:
			result["baselineState"] = "new"
		}
		results = append(results, result)
	}
	complete := !slices.ContainsFunc(r.Servers, func(s Server) bool { return s.Error != "" })
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(object{
		"$schema": sarifSchema,
		"version": "2.1.0",
		"runs": []object{{
			"tool":        object{"driver": object{"name": "fairlead", "informationUri": home, "rules": described}},
			"invocations": []object{{"executionSuccessful": complete}},
			"results":     results,
			"columnKind":  "unicodeCodePoints",
		}},
	})
}

func sarifRule(r rule) object {
	return object{
		"id": r.id, "shortDescription": sarifText(r.short), "help": sarifText(r.advice()),
		"defaultConfiguration": object{"level": r.level},
	}
}

// sarifText escapes any text as a message, in which brackets and braces have a meaning.
func sarifText(s string) object {
	return object{"text": messageEscapes.Replace(safetext.Line(s))}
}

var messageEscapes = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `{`, `{{`, `}`, `}}`)

func (r *Report) location(f Finding) object {
	name, kind := f.Server, "module"
	if f.Tool != "" {
		name, kind = f.Tool, "function"
	}
	at := object{"logicalLocations": []object{
		{"name": safetext.Line(name), "fullyQualifiedName": safetext.Line(f.subject()), "kind": kind},
	}}
	for _, s := range r.Servers {
		if s.ID == f.Server && s.File != "" {
			at["physicalLocation"] = object{"artifactLocation": object{"uri": fileURI(s.File)}, "region": object{"startLine": max(1, s.Line)}}
		}
	}
	return at
}

// fileURI is a path as a reference: relative ones stay so, for the root of a checkout.
func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if filepath.IsAbs(path) {
		return (&url.URL{Scheme: "file", Path: slashed}).String()
	}
	return (&url.URL{Path: strings.TrimPrefix(slashed, "./")}).EscapedPath()
}
