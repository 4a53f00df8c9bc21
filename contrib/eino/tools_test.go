package eino_test

import (
	"context"
	"encoding/json"
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
