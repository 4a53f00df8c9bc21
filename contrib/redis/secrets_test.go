package redis_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A presigned URL and a token reach the server each time, and are neither in Redis, where
// results are stored as they are, nor in the audit log. A document is.
func TestSecretsAreNotInRedis(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	s := open(t, e.URL(), redis.Options{Plain: true, Timeout: patient})
	var log bytes.Buffer
	sink := audit.SinkFunc(func(_ context.Context, r audit.Record) error { return json.NewEncoder(&log).Encode(r) })
	hour := func(*middleware.Tool, time.Duration) time.Duration { return time.Hour } // for all but secrets
	calls := 0
	caller := chain.Standard{
		Audit: audit.New(sink, audit.Options{}), Infer: infer.New(infer.Options{}), Cache: cache.New(cache.Options{Remote: s.Cache(), Lifetime: hour}),
	}.Then(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		calls++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("sentinel-%s-%d", call.Tool.Name(), calls)}}}, nil
	}))
	for _, tool := range []*mcp.Tool{
		{Name: "get_download_url", Description: "Returns a presigned URL of a document."},
		{Name: "get_upload_token", Description: "Returns a token."},
		{Name: "get_document", Description: "Returns the text of a document."},
	} {
		tool.InputSchema = map[string]any{"type": "object"}
		for range 2 {
			want := calls + 1
			res, err := caller.CallTool(t.Context(), middleware.Call{Tool: &middleware.Tool{Server: "files", Definition: tool}})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Content[0].(*mcp.TextContent).Text; tool.Name != "get_document" && got != fmt.Sprintf("sentinel-%s-%d", tool.Name, want) {
				t.Errorf("got %s, want that of call %d", got, want)
			}
		}
	}
	client, stored := raw(t, e), log.String()
	keys := client.Keys(t.Context(), "*").Val()
	for _, key := range keys {
		stored += key + " " + client.Dump(t.Context(), key).Val() + "\n"
		if text, err := client.Get(t.Context(), key).Result(); err == nil {
			stored += text + "\n"
		}
	}
	if !strings.Contains(stored, "sentinel-get_document") || !strings.Contains(log.String(), "get_upload_token") {
		t.Fatalf("%d keys, which hold no document; the log is %s", len(keys), log.String())
	}
	if strings.Contains(stored, "sentinel-get_download_url") || strings.Contains(stored, "sentinel-get_upload_token") {
		t.Errorf("a secret is stored: %s", stored)
	}
}
