package redact

import (
	"regexp"
	"slices"
	"strings"
)

var element = regexp.MustCompile(`(?:<|\\+u003c)(/?)((?:[\w.\-]+:)?[\w.\-]+)(?:\s[^<>]*?)?(?:>|\\+u003e)`)

// elements takes out what stands in elements of XML that a secret is the name of.
func elements(s string, found func(string)) string {
	if !strings.Contains(s, "</") && !strings.Contains(s, "u003c/") {
		return s
	}
	tags := element.FindAllStringSubmatchIndex(s, -1)
	ends := make(map[string][]int)
	for _, m := range tags {
		if m[2] < m[3] {
			ends[s[m[4]:m[5]]] = append(ends[s[m[4]:m[5]]], m[0])
		}
	}
	return cut(s, tags, found, func(m []int, _ int) (from, to int) {
		tag := s[m[4]:m[5]]
		if m[2] < m[3] || strings.HasSuffix(strings.TrimRight(s[:m[1]], `u03e\>`), "/") || !IsSecret(tag) {
			return 0, 0
		}
		if i, _ := slices.BinarySearch(ends[tag], m[1]); i < len(ends[tag]) {
			return m[1], ends[tag][i]
		}
		return 0, 0
	})
}
