package proxy_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// A list that was asked for before its server announced a change does not settle the change.
func TestListOlderThanAnAnnouncement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPlain(readThing, writeThing)
		c := s.client(t, s.proxy(t, proxy.Options{Confirm: approve(true)}))
		c.call(`{"name":"add_thing"}`)
		s.held, s.hold = "tools/list", make(chan struct{})
		c.send(`{"jsonrpc":"2.0","id":"old","method":"tools/list"}`)
		synctest.Wait() // the server has put its answer together
		s.redefine(readThing)
		synctest.Wait() // the proxy has its announcement; a call before that may go on
		answer := make(chan string)
		go func() { answer <- c.call(`{"name":"add_thing"}`) }()
		synctest.Wait()
		close(s.hold)
		if got := <-answer; len(s.calls()) > 1 {
			t.Errorf("the server executed a tool that it had removed: %s", got)
		}
	})
}

// After an announced change whose list cannot be read, no call is sent, safe or not: its definition may be the one that has
// changed. The library has the same rule, see TestAnnouncedChangeThatCannotBeRead of catalog/mount.
func TestAnnouncedChangeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, flawed := range map[string]string{
		"B420: an error":                  `"error":{"code":-32603,"message":"no list today"}`,
		"B420: no tools":                  `"result":{"others":[]}`,
		"B420: tools that are a number":   `"result":{"tools":7}`,
		"B420: a cursor that is a number": `"result":{"tools":[],"nextCursor":7}`,
	} {
		for tool, definition := range map[string]string{"read_thing": readThing, "add_thing": writeThing} {
			t.Run(name+"/"+tool, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newPlain(definition)
					var fails atomic.Bool
					s.frame = func(id, result string) string {
						if fails.Load() && strings.Contains(result, `"tools"`) {
							return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, flawed)
						}
						return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
					}
					c := s.client(t, s.proxy(t, proxy.Options{Confirm: approve(false)}))
					call := func(n int) string {
						return c.call(fmt.Sprintf(`{"name":%q,"arguments":{"n":%d}}`, tool, n))
					}
					if got := call(0); len(s.calls()) != 1 {
						t.Fatalf("at first: %s", got)
					}
					fails.Store(true)
					s.redefine(definition)
					synctest.Wait()
					for n := range 3 { // before the catalog has read the list by itself, while it waits to do so again, and later
						if got := call(n + 1); len(s.calls()) != 1 || !strings.Contains(got, `"error"`) && !strings.Contains(got, `"isError":true`) {
							t.Errorf("it was called %d times, and ended with %s", len(s.calls()), got)
						}
						time.Sleep(45 * time.Second)
					}
					fails.Store(false)
					if got := call(4); len(s.calls()) != 2 {
						t.Errorf("once the list can be read, it was called %d times: %s", len(s.calls()), got)
					}
				})
			})
		}
	}
}
