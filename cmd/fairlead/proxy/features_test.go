package proxy_test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// features is a server of the SDK with everything that the protocol has.
func features() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "features", Version: "1", Title: "Features"}, &mcp.ServerOptions{
		Instructions: "Look before you leap.",
		PageSize:     2,
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "ly"}, Total: 1}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	read := &mcp.ToolAnnotations{ReadOnlyHint: true}
	type none struct{}
	type sum struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "get_sum", Title: "Sum", Description: "Gets a sum.", Annotations: read, Meta: mcp.Meta{"x.y/z": true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, sum, error) {
			return &mcp.CallToolResult{Meta: mcp.Meta{"x.y/m": 1}}, sum{A: in.A + in.B}, nil
		})
	say := func(name string, f func(ctx context.Context, r *mcp.CallToolRequest) (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Gets it.", Annotations: read},
			func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
				text, err := f(ctx, r)
				if err != nil {
					return nil, nil, err
				}
				return mcptest.Text(text), nil, nil
			})
	}
	say("get_progress", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		for i := range 3 {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3}); err != nil {
				return "", err
			}
		}
		return "there", nil
	})
	say("get_log", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		return "said", r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "features", Data: map[string]any{"a": 1}}) //nolint:staticcheck // revisions that have it are tried
	})
	say("get_failure", func(context.Context, *mcp.CallToolRequest) (string, error) { return "", fmt.Errorf("it is not there") })
	say("get_sample", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}}) //nolint:staticcheck // revisions that have it are tried
		if err != nil {
			return "", err
		}
		return res.Content.(*mcp.TextContent).Text, nil
	})
	say("get_roots", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		res, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // revisions that have it are tried
		if err != nil {
			return "", err
		}
		return res.Roots[0].URI, nil
	})
	say("get_form", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(res.Action, res.Content["name"]), nil
	})
	say("get_slowly", func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	for i := range 3 {
		uri := "test://r/" + strconv.Itoa(i)
		s.AddResource(&mcp.Resource{Name: uri, URI: uri, MIMEType: "text/plain", Annotations: &mcp.Annotations{Priority: 0.5}},
			func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text of " + r.Params.URI}}}, nil
			})
		s.AddPrompt(&mcp.Prompt{Name: "p" + strconv.Itoa(i), Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}},
			func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Description: r.Params.Arguments["who"], Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}}, nil
			})
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "test://t/{id}"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Blob: []byte{0, 1, 2}}}}, nil
	})
	return s
}
