package proxy_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watched is a server whose two resources can be subscribed to.
func watched() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "watched", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
			did("subscribe " + r.Params.URI)
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, uri := range []string{"test://kept", "test://left"} {
		s.AddResource(&mcp.Resource{Name: uri, URI: uri}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text"}}}, nil
		})
	}
	mcptest.Add(s, mcptest.Tool("change_things", "Changes both things."), func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		for _, uri := range []string{"test://left", "test://kept"} {
			if err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
				return nil, err
			}
		}
		return mcptest.Text("changed"), nil
	})
	mcptest.Add(s, mcptest.Tool("delete_and_die", "Deletes a thing."), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	return s
}

// A server that was started again is asked for what the client had subscribed to, and
// the client looks again at what may have changed meanwhile.
func TestSubscriptionsOutliveTheServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prefix string
		more   bool
	}{"one server": {}, "one of two": {"watched__", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger := t.TempDir() + "/ledger"
			servers := []proxy.Server{child(t, "watched", ledgerKey+"="+ledger)}
			if c.more {
				servers = append(servers, child(t, "things"))
			}
			updated := make(chan string, 10)
			f := connect(t, mcptest.Legacy, proxy.Options{Servers: servers, Confirm: approve(true)}, &mcp.ClientOptions{
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
			})
			ctx := mcptest.Context(t)
			if _, err := f.ListResources(ctx, nil); err != nil { // who has which
				t.Fatal(err)
			}
			for _, uri := range []string{"test://left", "test://kept"} {
				if err := f.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "test://left"}); err != nil {
				t.Fatal(err)
			}
			f.call(t, c.prefix+"delete_and_die", nil)
			for _, when := range []string{"the server is back", "it changes something"} {
				select {
				case uri := <-updated:
					if uri != "test://kept" {
						t.Errorf("when %s the client hears of %s", when, uri)
					}
				case <-ctx.Done():
					t.Fatalf("when %s the client hears of nothing", when)
				}
				f.call(t, c.prefix+"change_things", nil)
			}
			want := []string{"subscribe test://left", "subscribe test://kept", "subscribe test://kept"}
			if got := ledgerOf(t, ledger); !slices.Equal(got, want) {
				t.Errorf("the server did %q, want %q", got, want)
			}
		})
	}
}
