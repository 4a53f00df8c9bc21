package proxy_test

import (
	"testing"
	"testing/synctest"

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
