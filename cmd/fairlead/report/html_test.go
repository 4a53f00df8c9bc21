package report_test

import (
	"strings"
	"testing"
)

// The page runs its own script, has its own style, and asks for nothing.
func TestPageIsOneFile(t *testing.T) {
	t.Parallel()
	page := written(t, reportOn(t, tool("get_a", "", nil)))["html"]
	if !strings.Contains(page, `content="default-src 'none'; style-src &#39;sha256-`) && !strings.Contains(page, "default-src &#39;none&#39;; style-src &#39;sha256-") {
		t.Errorf("there is no content policy by hashes:\n%.800s", page)
	}
	for _, outside := range []string{"http://", "https://", "src=", "<link", "@import", "url(", " on"} {
		if i := strings.Index(page, outside); i >= 0 && !(outside == " on" && !strings.Contains(page[i:i+12], "=")) {
			t.Errorf("the page has %q: …%.80s", outside, page[max(0, i-20):])
		}
	}
	for _, want := range []string{"color-scheme: light dark", "@media print", "max-width: 48rem", `lang="en"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
