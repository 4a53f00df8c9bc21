package infer_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// FuzzTool: nothing panics, the same definition gives the same answer, the answer
// is consistent, and some words are never safe wherever they lead.
func FuzzTool(f *testing.F) {
	for _, lines := range cases {
		for line := range strings.Lines(lines) {
			if parts := strings.Split(line, "|"); len(parts) == 3 {
				f.Add(parts[0], parts[1], "", `{"properties":{"action":{"enum":["list","delete"]}}}`)
			}
		}
	}
	f.Add("x", "- a b\n\n* c: d (e) f/g — h’s i\x00j \x1b[1mk", "T", "{}")
	f.Fuzz(func(t *testing.T, name, description, title, schema string) {
		def := &mcp.Tool{Name: name, Description: description, Title: title, InputSchema: json.RawMessage(schema)}
		a := infer.Tool(def)
		if b := infer.Tool(def); !reflect.DeepEqual(a, b) {
			t.Fatalf("two answers: %v and %v", a, b)
		}
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		if len(a.Evidence) == 0 || a.Complexity == "" {
			t.Fatalf("no evidence: %v", a)
		}
		for _, e := range a.Evidence {
			if e.Source != annotation.Inferred || e.Value == "" || e.Place == "" {
				t.Fatalf("evidence without a reason: %+v", e)
			}
		}
		leading := *def
		leading.Name = "delete_" + name
		if got := infer.Tool(&leading).Safety(); got == annotation.Safe || got == annotation.Moderate {
			t.Fatalf("%q: %v", leading.Name, got)
		}
	})
}
