package eino_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool that takes anything takes an object all the same.
func TestEachToolTakesAnObject(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	if err := desk.Tools.AddTools("any", desk.Caller, &mcp.Tool{Name: "list_all", InputSchema: json.RawMessage(`{ }`)}); err != nil {
		t.Fatal(err)
	}
	for _, one := range config(t, desk).Tools {
		info, err := one.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		parameters, err := info.ToJSONSchema()
		raw, _ := json.Marshal(parameters)
		if err != nil || !strings.Contains(string(raw), `"type":"object"`) {
			t.Errorf("%s: %v: %s", info.Name, err, raw)
		}
	}
}

// A model is shown the numbers of a schema with all digits that the server wrote.
func TestSchemasKeepDigits(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993,"multipleOf":1.1}}}`,
		`{"type":"object","properties":{"n":{"enum":[9007199254740993,0.1000000000000000055]}}}`,
		`{"type":"object","properties":{"n":{"const":9007199254740993}}}`,
		`{"type":"object","properties":{"n":{"default":{"deep":[1.1]}}}}`,
		`{"type":"object","properties":{"n":{"examples":["a",18446744073709551617,null,true]}}}`,
		`{"type":"object","properties":{"n":{"anyOf":[{"const":9007199254740993},{"not":{"enum":[0.1000000000000000055]}}],"items":{"default":-9007199254740993}}}}`,
		`{"type":"object","$defs":{"n":{"const":9007199254740993}},"patternProperties":{"^n":{"const":9007199254740995}}}`,
		`{"type":"object","properties":{"n":{"enum":null,"default":null}}}`,
	} {
		desk := batchtest.New(t)
		if err := desk.Tools.AddTools("long", desk.Caller, &mcp.Tool{Name: "find", InputSchema: json.RawMessage(written)}); err != nil {
			t.Fatal(err)
		}
		for _, one := range config(t, desk).Tools {
			info, err := one.Info(t.Context())
			if err != nil || info.Name != "long__find" {
				continue
			}
			parameters, err := info.ToJSONSchema()
			shown, _ := json.Marshal(parameters)
			if err != nil || numbers(string(shown)) != numbers(written) {
				t.Errorf("%v:\n%s is shown as\n%s", err, written, shown)
			}
		}
	}
}

// numbers returns the numbers in a text, sorted as texts.
func numbers(text string) string {
	all := regexp.MustCompile(`[:\[,](-?[0-9][^,\]}]*)`).FindAllString(text, -1)
	for i := range all {
		all[i] = all[i][1:]
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// own is a tool that Eino has already, in the two forms.
type own struct{ ran *[]string }

func (own) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "delete_page", Desc: "Deletes a page.", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"id": {Type: schema.String, Required: true}})}, nil
}

func (o own) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	*o.ran = append(*o.ran, arguments)
	return "deleted", nil
}

type streaming struct{ own }

func (streaming) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "list_pages", Desc: "Lists the pages."}, nil
}

func (streaming) InvokableRun() {} // it only streams

func (s streaming) StreamableRun(_ context.Context, arguments string, _ ...tool.Option) (*schema.StreamReader[string], error) {
	*s.ran = append(*s.ran, arguments)
	return schema.StreamReaderFromArray([]string{"one, ", "two"}), nil
}
