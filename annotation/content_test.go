package annotation_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestContentAnnotations(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, wire string
		want       annotation.Content
		fault      string
	}{
		{"nothing", `{}`, annotation.Content{}, ""},
		{"all of it", `{"audience":["user","assistant"],"priority":0.7,"lastModified":"2026-01-02T03:04:05Z"}`,
			annotation.Content{Audience: []mcp.Role{"user", "assistant"}, Priority: new(0.7), LastModified: day}, ""},
		{"the minimum, which the SDK cannot distinguish from absent", `{"priority":0}`, annotation.Content{}, ""},
		{"the most", `{"priority":1}`, annotation.Content{Priority: new(1.0)}, ""},
		{"more than the most", `{"priority":1.01}`, annotation.Content{}, "annotation: priority: 1.01 is not between 0 and 1"},
		{"negative", `{"priority":-0.1}`, annotation.Content{}, "annotation: priority: -0.1 is not between 0 and 1"},
		{"a stranger", `{"audience":["root"]}`, annotation.Content{Audience: []mcp.Role{"root"}}, `annotation: audience: "root" is neither user nor assistant`},
		{"a day", `{"lastModified":"2026-01-02"}`, annotation.Content{}, `annotation: lastModified: want a time as in RFC 3339, such as 2025-01-12T15:00:58Z, got "2026-01-02"`},
		{"all wrong", `{"audience":["x"],"priority":2,"lastModified":"now"}`, annotation.Content{Audience: []mcp.Role{"x"}},
			"annotation: audience: \"x\" is neither user nor assistant\nannotation: priority: 2 is not between 0 and 1\nannotation: lastModified: want a time as in RFC 3339, such as 2025-01-12T15:00:58Z, got \"now\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := func(form string, got annotation.Content, err error) {
				t.Helper()
				fault := ""
				if err != nil {
					fault = err.Error()
				}
				if !reflect.DeepEqual(got, tt.want) || fault != tt.fault {
					t.Errorf("%s: got %+v and %q\nwant %+v and %q", form, got, fault, tt.want, tt.fault)
				}
			}
			var sdk mcp.Annotations
			if err := json.Unmarshal([]byte(tt.wire), &sdk); err != nil {
				t.Fatal(err)
			}
			got, err := annotation.ContentOf(&sdk)
			check("the SDK", got, err)
			if err == nil {
				again, err := annotation.ContentOf(got.MCP())
				check("declared again", again, err)
			}
		})
	}
}

func TestContentIsForItsAudience(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		audience        []mcp.Role
		user, assistant bool
	}{
		{nil, true, true},
		{[]mcp.Role{}, true, true},
		{[]mcp.Role{"user"}, true, false},
		{[]mcp.Role{"assistant"}, false, true},
		{[]mcp.Role{"assistant", "user"}, true, true},
		{[]mcp.Role{"auditor"}, false, false},
		{[]mcp.Role{"Assistant"}, false, false},
	} {
		c := annotation.Content{Audience: tt.audience}
		if u, a := c.For("user"), c.For("assistant"); u != tt.user || a != tt.assistant {
			t.Errorf("%v: for the user %v, for the assistant %v", tt.audience, u, a)
		}
	}
}

func TestMissingPriorityCountsAsTheMiddle(t *testing.T) {
	t.Parallel()
	if got := (annotation.Content{}).Rank(); got != 0.5 {
		t.Errorf("got %v, want 0.5", got)
	}
	least := annotation.Content{Priority: new(0.0)}
	read, err := annotation.ContentOf(least.MCP())
	if err != nil || read.Rank() >= 0.001 || read.Rank() <= 0 {
		t.Errorf("a priority of 0 is read as %v (%v)", read.Rank(), err)
	}
	if (annotation.Content{}).MCP() != nil {
		t.Error("nothing is declared as something")
	}
	if err := (annotation.Content{Priority: new(math.NaN())}).Validate(); err == nil {
		t.Error("NaN is a priority")
	}
}
