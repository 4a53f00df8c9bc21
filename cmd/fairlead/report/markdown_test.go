package report_test

import (
	"strings"
	"testing"
)

// withoutCode takes out what stands between runs of backticks of one length, as
// CommonMark reads them.
func withoutCode(text string) string {
	var b strings.Builder
	for text != "" {
		i := strings.IndexByte(text, '`')
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		n := len(text) - len(strings.TrimLeft(text, "`"))
		fence, rest := text[:n], text[n:]
		end := -1
		for at := 0; ; {
			k := strings.Index(rest[at:], fence)
			if k < 0 {
				break
			}
			k += at
			m := len(rest[k:]) - len(strings.TrimLeft(rest[k:], "`"))
			if m == n {
				end = k
				break
			}
			at = k + m
		}
		if end < 0 { // it opens nothing
			b.WriteString(fence)
			text = rest
			continue
		}
		text = rest[end+n:]
	}
	return b.String() + text
}

// A bar in a name must not end the cell, in code either.
func TestMarkdownTableHasItsColumns(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(written(t, hostileReport())["md"]) {
		if strings.HasPrefix(line, "|") {
			if got := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); got != 7 {
				t.Errorf("%d bars, want 7: %s", got, line)
			}
		}
	}
}
