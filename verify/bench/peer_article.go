package main

import (
	"regexp"
	"slices"
	"strings"
)

// This is a Go port of what NeuroLink (github.com/juspay/neurolink) infers from a tool's name and description,
// inferAnnotations in its MCP tools, with its own word lists. It is here to be measured against, not to be used.

// articleHints are what the port infers.
type articleHints struct {
	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	Complexity  string
}

var (
	readOnly    = strings.Fields("get list read fetch query search find show display view retrieve check inspect look")
	destructive = strings.Fields("delete remove drop destroy clear purge erase wipe truncate reset")
	idempotent  = strings.Fields("set update put upsert replace")
	complexes   = strings.Fields("complex analyze process generate transform compute calculate")

	words = func() map[string]*regexp.Regexp {
		all := map[string]*regexp.Regexp{}
		for _, word := range slices.Concat(readOnly, destructive, idempotent, complexes) {
			all[word] = regexp.MustCompile(`(?i)\b` + word + `\b`)
		}
		return all
	}()
	hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// inferAsArticle returns the hints of a tool.
func inferAsArticle(name, description string) articleHints {
	texts := [...]string{strings.ToLower(description), name}
	hit := func(list []string) bool {
		for _, word := range list {
			for _, text := range texts {
				if words[word].MatchString(text) || slices.Contains(segments(text), word) {
					return true
				}
			}
		}
		return false
	}
	h := articleHints{ReadOnly: hit(readOnly), Destructive: hit(destructive), Complexity: "simple"}
	h.Idempotent = !h.Destructive && hit(idempotent)
	switch {
	case hit(complexes):
		h.Complexity = "complex"
	case len(description) > 100:
		h.Complexity = "medium"
	}
	return h
}

func segments(text string) []string {
	text = strings.ToLower(hump.ReplaceAllString(text, "${1}_${2}"))
	return strings.FieldsFunc(text, func(r rune) bool { return r == '_' || r == '-' })
}
