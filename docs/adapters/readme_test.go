// Package adapters_test checks the READMEs of the adapters under contrib/. It is in a
// module that is never released, since a released one imports nothing internal of
// another.
package adapters_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/docstest"
)

var adapters = []struct {
	name  string
	sdk   string
	runs  bool   // the README's programs run without a model
	fresh string // a program for a fresh directory; "" is the README's first
}{
	{"anthropic", "github.com/anthropics/anthropic-sdk-go", false, anthropic},
	{"eino", "github.com/cloudwego/eino", true, ""},
	{"mcpgo", "github.com/mark3labs/mcp-go", true, ""},
	{"openai", "github.com/openai/openai-go/v3", false, openai},
}

func TestReadmes(t *testing.T) {
	t.Parallel()
	for _, a := range adapters {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("..", "..", "contrib", a.name)
			docstest.Tested(t, dir, a.sdk)
			docstest.Programs(t, dir, func(string) bool { return a.runs }, "README.md")
		})
	}
}

// A fresh directory has nothing but a program of a few lines.
func TestFreshDirectories(t *testing.T) {
	t.Parallel()
	for _, a := range adapters {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("..", "..", "contrib", a.name)
			program, want := a.fresh, "<nil> A7 is on its way"
			if program == "" {
				program, want = docstest.First(t, filepath.Join(dir, "README.md"))
			}
			if got := strings.TrimSuffix(docstest.Fresh(t, dir, program), "\n"); got != want {
				t.Errorf("it prints %q and not %q", got, want)
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
	"github.com/fairlead-go/fairlead/chain"
	fairlead "github.com/fairlead-go/fairlead/contrib/anthropic"
	"github.com/fairlead-go/fairlead/loop"
)

func main() {
	tools := catalog.New(catalog.Options{})
	_ = tools.AddFuncs("shop", catalog.NewFunc("get_status", "", annotation.ReadOnly(), func(_ context.Context, in struct{ ID string }) (string, error) { return in.ID + " is on its way", nil }))
	host := loop.New(tools, chain.Standard{}.Then(tools), loop.Options{})
	given, err := fairlead.Tools(host.Tools())
	res := host.Answer(context.Background(), loop.Request{ID: "1", Name: given[0].OfTool.Name, Arguments: json.RawMessage(` + "`{\"ID\":\"A7\"}`" + `)})
	fmt.Println(err, fairlead.Blocks(res[0])[0].OfText.Text)
}
`

const openai = `package main

import (
	"context"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	fairlead "github.com/fairlead-go/fairlead/contrib/openai"
	"github.com/fairlead-go/fairlead/loop"
	"github.com/openai/openai-go/v3"
)

func main() {
	tools := catalog.New(catalog.Options{})
	_ = tools.AddFuncs("shop", catalog.NewFunc("get_status", "", annotation.ReadOnly(), func(_ context.Context, in struct{ ID string }) (string, error) { return in.ID + " is on its way", nil }))
	host := loop.New(tools, chain.Standard{}.Then(tools), loop.Options{})
	given, err := fairlead.Tools(host.Tools())
	calls := []openai.ChatCompletionMessageToolCallUnion{{ID: "1", Function: openai.ChatCompletionMessageFunctionToolCallFunction{Name: given[0].OfFunction.Function.Name, Arguments: ` + "`{\"ID\":\"A7\"}`" + `}}}
	fmt.Println(err, fairlead.Answer(context.Background(), host, calls)[0].OfTool.Content.OfString)
}
`
