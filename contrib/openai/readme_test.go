package openai_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/internal/docstest"
)

func TestReadme(t *testing.T) {
	t.Parallel()
	docstest.Tested(t, "README.md", "github.com/openai/openai-go/v3")
	docstest.Programs(t, func(string) bool { return false }, "README.md")
}

// A fresh directory with nothing but the adapter and a few lines.
func TestAFreshDirectory(t *testing.T) {
	t.Parallel()
	got := docstest.Fresh(t, `package main

import (
	"context"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/gofunc"
	"github.com/fairlead-go/fairlead/chain"
	fairlead "github.com/fairlead-go/fairlead/contrib/openai"
	"github.com/fairlead-go/fairlead/loop"
	"github.com/openai/openai-go/v3"
)

func main() {
	tools := catalog.New(catalog.Options{})
	_ = tools.AddFuncs("shop", gofunc.New("get_status", "", annotation.ReadOnly(), func(_ context.Context, in struct{ ID string }) (string, error) { return in.ID + " is on its way", nil }))
	host := loop.New(tools, chain.Standard{}.Then(tools), loop.Options{})
	given, err := fairlead.Tools(host.Tools())
	calls := []openai.ChatCompletionMessageToolCallUnion{{ID: "1", Function: openai.ChatCompletionMessageFunctionToolCallFunction{Name: given[0].OfFunction.Function.Name, Arguments: `+"`{\"ID\":\"A7\"}`"+`}}}
	fmt.Println(err, fairlead.Answer(context.Background(), host, calls)[0].OfTool.Content.OfString)
}
`)
	if got != "<nil> A7 is on its way\n" {
		t.Errorf("it prints %q", got)
	}
}
