package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"text/template"
)

const (
	home      = "https://github.com/fairlead-go/fairlead"
	downloads = home + "/releases/download/"
	about     = "Asks before an AI agent's tool call deletes, overwrites or sends something"
)

//go:embed texts/fairlead.rb.tmpl
var formulaText string

// formula writes the formula for Homebrew, which has the SHA-256 of the archives.
func (r release) formula(sums map[platform]string) error {
	sources := map[string]struct{ URL, Sum string }{}
	for _, p := range platforms {
		sources[p.os+"_"+p.arch] = struct{ URL, Sum string }{downloads + "v" + r.version + "/" + r.archiveOf(p), sums[p]}
	}
	text, err := template.New("").Option("missingkey=error").Parse(formulaText)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := text.Execute(&out, map[string]any{"About": about, "Home": home, "Version": r.version, "Sources": sources}); err != nil {
		return err
	}
	return r.save("fairlead.rb", out.Bytes())
}

type scoopSource struct {
	URL  string `json:"url"`
	Hash string `json:"hash,omitempty"`
}

// manifest writes the manifest for Scoop, by which Scoop also finds the archives of later versions.
func (r release) manifest(sums map[platform]string) error {
	now, later := map[string]scoopSource{}, map[string]scoopSource{}
	for name, arch := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		p := platform{"windows", arch}
		now[name] = scoopSource{downloads + "v" + r.version + "/" + r.archiveOf(p), sums[p]}
		later[name] = scoopSource{URL: downloads + "v$version/" + release{version: "$version"}.archiveOf(p)}
	}
	return r.saveJSON("fairlead.json", map[string]any{
		"version":      r.version,
		"description":  about,
		"homepage":     home,
		"license":      "Apache-2.0",
		"architecture": now,
		"bin":          "fairlead.exe",
		"checkver":     "github",
		"autoupdate": map[string]any{
			"architecture": later,
			"hash":         map[string]string{"url": "$baseurl/" + sumsName},
		},
	})
}

func (r release) saveJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return r.save(name, append(text, '\n'))
}
