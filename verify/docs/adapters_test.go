package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// adapters are the modules under contrib/ that have a README.
var adapters = []struct {
	dir   string
	sdk   string // the module that it adapts
	fresh string // a program for an empty directory; empty for that of the README, which is run too
	shows string // what the program prints
}{
	{dir: "contrib/anthropic", sdk: "github.com/anthropics/anthropic-sdk-go", fresh: anthropic, shows: "<nil> A7 is on its way"},
	{dir: "contrib/openai", sdk: "github.com/openai/openai-go/v3", fresh: openai, shows: "<nil> A7 is on its way"},
	{dir: "contrib/eino", sdk: "github.com/cloudwego/eino"},
	{dir: "contrib/mcpgo", sdk: "github.com/mark3labs/mcp-go"},
}

// The programs of a README compile against its module.
func TestGoCodeOfAdaptersCompiles(t *testing.T) {
	t.Parallel()
	for _, a := range adapters {
		t.Run(a.dir, func(t *testing.T) {
			t.Parallel()
			programs(t, root+"/"+a.dir, a.fresh == "", "README.md")
		})
	}
	if all := glob(t, "contrib/*/README.md"); len(all) != len(adapters) {
		t.Errorf("there are %d of %d adapters in the table: %q", len(adapters), len(all), all)
	}
}

// A README names the tested version of the SDK: the one in go.mod.
func TestReadmesNameTheTestedVersion(t *testing.T) {
	t.Parallel()
	for _, a := range adapters {
		version := regexp.MustCompile(regexp.QuoteMeta(a.sdk) + ` v\S+`).FindString(read(t, root, a.dir+"/go.mod"))
		if version == "" || !strings.Contains(strings.ReplaceAll(read(t, root, a.dir+"/README.md"), "`", ""), version) {
			t.Errorf("%s/README.md does not name %q, as go.mod has it", a.dir, version)
		}
	}
}

// A program works in a directory that has nothing else.
func TestAdaptersInAFreshDirectory(t *testing.T) {
	t.Parallel()
	for _, a := range adapters {
		t.Run(a.dir, func(t *testing.T) {
			t.Parallel()
			program, want := a.fresh, a.shows
			if program == "" {
				text := read(t, root, a.dir+"/README.md")
				at := goBlock.FindStringSubmatchIndex(text)
				program = text[at[2]:at[3]]
				want, _ = shown(text[at[1]:])
			}
			if got := strings.TrimSuffix(fresh(t, a.dir, program), "\n"); got != want {
				t.Errorf("it prints %q, want %q", got, want)
			}
		})
	}
}

const anthropic = `package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/chain"
	fairlead "github.com/fairlead-go/fairlead/contrib/anthropic"
	"github.com/fairlead-go/fairlead/chain/batch"
)

func main() {
	tools := catalog.New(catalog.Options{})
	_ = tools.AddFuncs("shop", gofunc.New("get_status", "", annotation.ReadOnly(), func(_ context.Context, in struct{ ID string }) (string, error) { return in.ID + " is on its way", nil }))
	host := batch.NewHost(tools, chain.Standard{}.Then(tools), batch.HostOptions{})
	given, err := fairlead.Tools(host.Tools())
	res := host.Answer(context.Background(), batch.ToolCall{ID: "1", Name: given[0].OfTool.Name, Arguments: json.RawMessage(` + "`{\"ID\":\"A7\"}`" + `)})
	fmt.Println(err, fairlead.Blocks(res[0])[0].OfText.Text)
}
`

const openai = `package main

import (
	"context"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/chain"
	fairlead "github.com/fairlead-go/fairlead/contrib/openai"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/openai/openai-go/v3"
)

func main() {
	tools := catalog.New(catalog.Options{})
	_ = tools.AddFuncs("shop", gofunc.New("get_status", "", annotation.ReadOnly(), func(_ context.Context, in struct{ ID string }) (string, error) { return in.ID + " is on its way", nil }))
	host := batch.NewHost(tools, chain.Standard{}.Then(tools), batch.HostOptions{})
	given, err := fairlead.Tools(host.Tools())
	calls := []openai.ChatCompletionMessageToolCallUnion{{ID: "1", Function: openai.ChatCompletionMessageFunctionToolCallFunction{Name: given[0].OfFunction.Function.Name, Arguments: ` + "`{\"ID\":\"A7\"}`" + `}}}
	fmt.Println(err, fairlead.Answer(context.Background(), host, calls)[0].OfTool.Content.OfString)
}
`
