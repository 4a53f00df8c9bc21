package mount_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// counter is a server that holds one number: every tool with a name that begins with "add" raises it, the
// others return it.
func counter(n *atomic.Int64, tools ...*mcp.Tool) *mcp.Server {
	server := mcptest.New()
	for _, tool := range tools {
		mcptest.Add(server, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			if strings.HasPrefix(tool.Name, "add") {
				n.Add(1)
			}
			return mcptest.Text("sentinel-" + strconv.FormatInt(n.Load(), 10)), nil
		})
	}
	return server
}

func called(t *testing.T, cs *mcp.ClientSession, name string) string {
	t.Helper()
	res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name})
	return text(t, res, err)
}

// A host that polls a job over HTTP sees it end at the next call.
func TestPollSeesTheEndOfAJob(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		var n atomic.Int64
		server := counter(&n, mcptest.Tool("get_job_status", "Returns the status of a job. Poll until done."), mcptest.Tool("get_ticket", ""))
		cs, _ := mcptest.ConnectHTTP(t, server, nil, version)
		tools := catalog.New(catalog.Options{})
		add(t, tools, "jobs", cs)
		caller := chain.Standard{Cache: cache.New(cache.Options{})}.Then(tools)
		for _, want := range []string{"get_job_status sentinel-0", "get_ticket sentinel-0", "", "get_job_status sentinel-1", "get_ticket sentinel-0"} {
			if want == "" {
				n.Add(1) // the host is not notified
				continue
			}
			name, want, _ := strings.Cut(want, " ")
			tool, _ := tools.Lookup("jobs", name)
			res, err := caller.CallTool(mcptest.Context(t), middleware.Call{Tool: tool})
			if got := text(t, res, err); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	})
}

// A presigned URL and a token reach the server each time, and are in no store.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	server := counter(&n, mcptest.Tool("get_download_url", "Returns a presigned URL."), mcptest.Tool("get_document", "Returns a document and a signed URL to it."))
	tools := catalog.New(catalog.Options{})
	add(t, tools, "files", mcptest.Connect(t, server, nil))
	for name, hint := range map[string]annotation.Annotations{"get_download_url": {Freshness: annotation.Stable}, "get_document": {ReadOnly: annotation.Yes}} {
		if err := tools.Override("files", name, hint); err != nil { // no freshness opens the cache to a secret
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	sink := audit.SinkFunc(func(_ context.Context, r audit.Record) error { return json.NewEncoder(&log).Encode(r) })
	kept := &spy{Remote: cache.NewMemory()}
	store := cache.NewStore(cache.StoreOptions{})
	for _, o := range []cache.Options{{Store: store}, {Store: store, Remote: kept}} {
		caller := chain.Standard{Audit: audit.New(sink, audit.Options{}), Cache: cache.New(o)}.Then(tools)
		for _, name := range []string{"get_download_url", "get_document"} {
			tool, _ := tools.Lookup("files", name)
			for range 2 {
				n.Add(1)
				res, err := caller.CallTool(mcptest.Context(t), middleware.Call{Tool: tool})
				if got, want := text(t, res, err), "sentinel-"+strconv.FormatInt(n.Load(), 10); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		}
	}
	if got := store.Stats(); got.Entries != 0 || kept.asked.Load() != 0 || strings.Contains(log.String(), "sentinel") || log.Len() == 0 {
		t.Errorf("the store has %d results, the remote was asked %d times, the log is %s", got.Entries, kept.asked.Load(), log.String())
	}
}

type spy struct {
	cache.Remote

	asked atomic.Int64
}

func (s *spy) Look(ctx context.Context, q cache.Read) (cache.Lookup, error) {
	s.asked.Add(1)
	return s.Remote.Look(ctx, q)
}

// Reader and writer on two sessions: the read after the write is new.
func TestReadAfterAWriteOfAnotherSession(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		t.Run("of one server", func(t *testing.T) {
			var n atomic.Int64
			server, std := mcptest.New(), chain.Standard{Cache: cache.New(cache.Options{})}
			chained := std.Middleware()
			for name, a := range map[string]annotation.Annotations{
				"get_ticket": {ReadOnly: annotation.Yes, Freshness: annotation.Shared}, "add_ticket": annotation.Write(),
			} {
				tool, err := middleware.NewTool("crm", mcptest.Tool(name, ""), a)
				if err != nil {
					t.Fatal(err)
				}
				server.AddTool(tool.Definition, serve.ToolHandler(tool, chained, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					if name == "add_ticket" {
						n.Add(1)
					}
					return mcptest.Text("sentinel-" + strconv.FormatInt(n.Load(), 10)), nil
				}))
			}
			a, b := mcptest.ConnectVersion(t, server, nil, version), mcptest.ConnectVersion(t, server, nil, version)
			newAfterAWrite(t, a, b, &n)
		})
		t.Run("of two clients", func(t *testing.T) {
			var n atomic.Int64
			server := counter(&n, mcptest.Tool("get_ticket", ""), mcptest.Tool("add_ticket", ""))
			std := chain.Standard{Cache: cache.New(cache.Options{})}.Middleware()
			var sessions [2]*mcp.ClientSession
			for i := range sessions {
				client, tools := mcptest.NewClient(), catalog.New(catalog.Options{})
				mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "crm", std })
				sessions[i] = mcptest.ConnectVersion(t, server, client, version)
				add(t, tools, "crm", sessions[i])
			}
			newAfterAWrite(t, sessions[0], sessions[1], &n)
		})
	})
}

func newAfterAWrite(t *testing.T, reader, writer *mcp.ClientSession, n *atomic.Int64) {
	t.Helper()
	called(t, reader, "get_ticket")
	n.Add(1) // past the chain
	if got := called(t, reader, "get_ticket"); got != "sentinel-0" {
		t.Errorf("a second read: got %q, want the one that is cached", got)
	}
	called(t, writer, "add_ticket")
	if got := called(t, reader, "get_ticket"); got != "sentinel-2" {
		t.Errorf("after the write: got %q", got)
	}
}
