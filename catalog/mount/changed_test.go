package mount_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// After an announced change whose list cannot be read, no call is sent, safe or not: its definition may be the one that has
// changed. The proxy has the same rule, see its TestAnnouncedChangeThatCannotBeRead.
func TestAnnouncedChangeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, flawed := range map[string]func(p *mcptest.Peer, r mcptest.Request){
		"B420: an error":                  func(p *mcptest.Peer, r mcptest.Request) { p.Fail(r, `{"code":-32603,"message":"no list today"}`) },
		"B420: no tools":                  func(p *mcptest.Peer, r mcptest.Request) { p.Reply(r, `{"others":[]}`) },
		"B420: tools that are a number":   func(p *mcptest.Peer, r mcptest.Request) { p.Reply(r, `{"tools":7}`) },
		"B420: a cursor that is a number": func(p *mcptest.Peer, r mcptest.Request) { p.Reply(r, `{"tools":[],"nextCursor":7}`) },
		"B420: no answer":                 func(*mcptest.Peer, mcptest.Request) {},
	} {
		for _, tool := range []string{"list_notes", "update_file"} {
			t.Run(name+"/"+tool, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					tools := catalog.New(catalog.Options{})
					defer tools.Close()
					var peer atomic.Pointer[mcptest.Peer]
					var fails atomic.Bool
					var ran atomic.Int32
					client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(tools, nil))
					mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "srv", nil })
					cs := mcptest.Dial(t, client, mount.Transport(mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
						peer.Store(p)
						switch {
						case r.Method == "tools/call":
							ran.Add(1)
							p.Reply(r, `{"content":[]}`)
						case fails.Load():
							flawed(p, r)
						default:
							p.Reply(r, mcptest.Tools("", `{"name":"`+tool+`","inputSchema":{"type":"object"}}`))
						}
					})), mcptest.Legacy)
					add(t, tools, "srv", cs)
					call := func() error {
						_, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: tool})
						return err
					}
					if err := call(); err != nil || ran.Load() != 1 {
						t.Fatalf("at first it was called %d times: %v", ran.Load(), err)
					}
					fails.Store(true)
					peer.Load().Write(listChanged)
					synctest.Wait()
					for range 3 { // before the catalog has read the list by itself, while it waits to do so again, and later
						err := call()
						if !errors.Is(err, guard.ErrRefused) || !middleware.NotSent(err) || ran.Load() != 1 {
							t.Errorf("it was called %d times, and ended with %v", ran.Load(), err)
						}
						if told := middleware.ForModel(err); !strings.Contains(told, "they could not be listed again") {
							t.Errorf("the model reads %q", told)
						}
						time.Sleep(45 * time.Second)
					}
					fails.Store(false)
					if err := call(); err != nil || ran.Load() != 2 {
						t.Errorf("once the list can be read, it was called %d times: %v", ran.Load(), err)
					}
				})
			})
		}
	}
}

// Calls that come together wait for one list, and one that gives up does not end it.
func TestCallsShareTheListOfAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tools := catalog.New(catalog.Options{})
		defer tools.Close()
		var peer atomic.Pointer[mcptest.Peer]
		var lists atomic.Int32
		client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, mount.Options(tools, nil))
		mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "srv", nil })
		cs := mcptest.Dial(t, client, mount.Transport(mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
			peer.Store(p)
			if r.Method == "tools/call" {
				p.Reply(r, `{"content":[]}`)
				return
			}
			lists.Add(1)
			time.Sleep(100 * time.Millisecond) // less than the catalog waits before it lists by itself
			p.Reply(r, mcptest.Tools("", `{"name":"list_notes","inputSchema":{"type":"object"}}`))
		})), mcptest.Legacy)
		add(t, tools, "srv", cs)
		lists.Store(0)
		peer.Load().Write(listChanged)
		synctest.Wait()
		ended := make(chan error, 20)
		for i := range cap(ended) {
			go func() {
				ctx, stop := context.WithCancel(mcptest.Context(t))
				defer stop()
				if i == 0 {
					time.AfterFunc(10*time.Millisecond, stop)
				}
				_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "list_notes"})
				ended <- err
			}()
			synctest.Wait()
		}
		failed := 0
		for range cap(ended) {
			if err := <-ended; err != nil {
				failed++
				if !middleware.NotSent(err) {
					t.Errorf("got %v", err)
				}
			}
		}
		if lists.Load() != 1 || failed != 1 {
			t.Errorf("%d calls failed, and there were %d lists; want one of each", failed, lists.Load())
		}
	})
}
