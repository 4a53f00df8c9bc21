package catalog_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bombs are schemas that make a validator run out of stack, memory or time.
var bombs = map[string]func() string{
	"a circle": func() string { return `{"type":"object","allOf":[{"$ref":"#"},{"$ref":"#"}]}` },
	"a circle of two": func() string {
		return `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`
	},
	"a fan": fan,
	"nested": func() string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, 300) + `{}` + strings.Repeat(`}}`, 300)
	},
	"many":                 many,
	"long":                 func() string { return `{"type":"object","description":"` + strings.Repeat("x", 5<<20) + `"}` },
	"another document":     func() string { return `{"type":"object","properties":{"a":{"$ref":"http://169.254.169.254/latest"}}}` },
	"through a dependency": func() string { return `{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}` },
}

// fan is a schema; each of its levels applies the next one twice.
func fan() string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/d0","$defs":{`)
	for i := range 24 {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	b.WriteString(`"d24":{}}}`)
	return b.String()
}

// many is a schema of more properties than any person reads.
func many() string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	for i := range 100_000 {
		fmt.Fprintf(&b, `"a%d":{},`, i)
	}
	b.WriteString(`"a":{}}}`)
	return b.String()
}

const bombKey = "FAIRLEAD_TEST_BOMB"

// A bomb may end the process that meets it, so each goes off in one of its own: the
// process lives, the bomb is left out and the tool beside it is there.
func TestSchemaBombsDoNoHarm(t *testing.T) {
	if name := os.Getenv(bombKey); name != "" {
		meet(t, bombs[name]())
		return
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range bombs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestSchemaBombsDoNoHarm$", "-test.timeout=5m") // one that never ends
			cmd.Env = append(os.Environ(), bombKey+"="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("after %v: %v\n%.2000s", time.Since(begun), err, out)
			}
		})
	}
}

// meet lists a bomb beside a sound tool and validates against what is taken.
func meet(t *testing.T, bomb string) {
	t.Helper()
	server := mcptest.New()
	mcptest.Add(server, mcptest.Tool("list_a", ""), nothing)
	armed := mcptest.Tool("list_bomb", "")
	armed.InputSchema = json.RawMessage(bomb)
	server.AddTool(armed, nil)
	tools := catalog.New(catalog.Options{})
	if err := tools.Add(t.Context(), "s", mcptest.Connect(t, server, nil)); err != nil {
		// A message that the SDK itself cannot read takes its server along, and no more.
		t.Logf("the whole server was left out: %v", err)
		return
	}
	if _, ok := tools.Lookup("s", "list_a"); !ok {
		t.Error("the sound tool is not there")
	}
	if _, ok := tools.Lookup("s", "list_bomb"); ok {
		t.Error("the bomb was taken")
	}
	for _, tool := range tools.List() {
		validate(t, tool.Definition)
	}
}

func validate(t *testing.T, def *mcp.Tool) {
	t.Helper()
	raw, err := json.Marshal(def.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(map[string]any{"a": "x"}); err != nil {
		t.Error(err)
	}
}
