package proxy_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// The lists that are joined from those of several servers, and what each names in a page.
var joined = map[string]string{
	"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates", "tools/list": "tools",
}

// A list with a page that cannot be read is not read at all: its pages before are not shown, the other server's list is,
// and the reason is logged.
func TestPageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ member, why string }{
		"B333: a cursor that is a number":     {`"nextCursor":7`, "7"},
		"B333: a cursor that is true":         {`"nextCursor":true`, "true"},
		"B333: a cursor that is a list":       {`"nextCursor":["2"]`, "[\"2\"]"},
		"B333: a cursor that is an object":    {`"nextCursor":{"a":1}`, "{\"a\":1}"},
		"B333: a cursor above 2^53":           {`"nextCursor":9007199254740993`, "9007199254740993"},
		"B333: a second page of a text":       {`"nextCursor":"text"`, "text"},
		"B333: a second page without a list":  {`"nextCursor":"none"`, "none"},
		"B333: a second page of an object":    {`"nextCursor":"object"`, "object"},
		"B333: a cursor twice":                {`"nextCursor":"text","nextCursor":"text"`, "twice"},
		"B333: a cursor twice in other cases": {`"nextCursor":"text","NextCursor":""`, "case"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for method, member := range joined {
				a, b, r := twoServers(t, proxy.Options{}, proxy.LateAfter(5*time.Minute))
				thing := `{"name":"THING","uri":"x://THING","uriTemplate":"x://THING/{a}","inputSchema":{"type":"object"}}`
				a.answer = func(asked, _ string) string {
					if asked == method {
						return `{"` + member + `":[` + strings.ReplaceAll(thing, "THING", "read_a") + `]}`
					}
					return ""
				}
				b.answer = func(asked, params string) string {
					switch {
					case asked != method:
						return ""
					case strings.Contains(params, `"cursor":"text"`):
						return `{"` + member + `":"read_b"}`
					case strings.Contains(params, `"cursor":"none"`):
						return `{"other":[]}`
					case strings.Contains(params, `"cursor":"object"`):
						return `{"` + member + `":{"0":` + thing + `}}`
					}
					return `{"` + member + `":[` + strings.ReplaceAll(thing, "THING", "read_b") + `],` + c.member + `}`
				}
				r.initialize("{}")
				if got := r.ask(1, method, "{}"); !strings.Contains(got, "read_a") || strings.Contains(got, "read_b") {
					t.Errorf("%s: listed is %s", method, got)
				}
				if log := r.log.String(); !strings.Contains(log, "server=b") || !strings.Contains(log, "not waited for") {
					t.Errorf("%s: logged is %s", method, log)
				}
			}
		})
	}
}

// The pages of one list are bounded by their bytes and by their number, over all pages together. A server that ignores
// cursors lists its page once.
func TestPagesWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		name   string // of what each page lists
		cursor func(page int) string
		want   string // in the log
	}{
		"B334: bytes":            {strings.Repeat("b", 10_000), func(page int) string { return strconv.Itoa(page) }, "it has more than 100000 bytes"},
		"B334: pages":            {"b", strconv.Itoa, "1000 pages"},
		"B334: long cursors":     {"b", func(page int) string { return strings.Repeat("c", 10_000) + strconv.Itoa(page) }, "it has more than 100000 bytes"},
		"B334: one cursor again": {"b", func(int) string { return "1" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, r := twoServers(t, proxy.Options{}, proxy.MaxListed(100_000), proxy.LateAfter(5*time.Minute))
			var pages atomic.Int64
			a.answer = func(method, _ string) string {
				if method == "resources/list" {
					return `{"resources":[{"uri":"a://x","name":"x"}]}`
				}
				return ""
			}
			b.answer = func(method, _ string) string {
				if method != "resources/list" {
					return ""
				}
				return fmt.Sprintf(`{"resources":[{"uri":"b://x","name":%q}],"nextCursor":%q}`, c.name, c.cursor(int(pages.Add(1))))
			}
			r.initialize("{}")
			got := r.ask(1, "resources/list", "{}")
			if log := r.log.String(); !strings.Contains(got, "a://x") || c.want != "" && (strings.Contains(got, "b://x") || !strings.Contains(log, c.want)) {
				t.Errorf("after %d pages: listed is %.300s, logged is %s", pages.Load(), got, log)
			}
			if c.want == "" && (strings.Count(got, "b://x") != 1 || pages.Load() != 2) {
				t.Errorf("after %d pages: listed is %.300s", pages.Load(), got)
			}
		})
	}
}

// A list that fails after its first page, with other tools each time, leaves no texts behind.
func TestListThatFailsLeavesNoTexts(t *testing.T) {
	t.Parallel()
	if got := proxy.KeptTexts(1000); got != 2 {
		t.Errorf("the texts of %d tools are kept, want those of the accepted list and of the latest", got)
	}
}
