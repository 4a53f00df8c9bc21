package proxy_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// A server over HTTP/2 may execute a call and then claim that it has not begun it. The call is sent once, for its one
// approval, and its outcome is unknown.
func TestCallIsSentOnceOverHTTP2(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*mcptest.HTTP2Stream){
		"REFUSED_STREAM": (*mcptest.HTTP2Stream).Refuse,
		"GOAWAY":         (*mcptest.HTTP2Stream).GoAway,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var executed atomic.Int32
			url, trusting := mcptest.ServeHTTP2(t, func(s *mcptest.HTTP2Stream) {
				var m upMessage
				_ = json.Unmarshal(s.Body, &m)
				result := map[string]string{
					"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}`,
					"tools/list": `{"tools":[` + deleteThing + `]}`,
				}[m.Method]
				switch {
				case m.Method == "tools/call":
					executed.Add(1)
					end(s)
				case m.ID == nil:
					s.Accept()
				default:
					s.Answer(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
				}
			})
			p, err := proxy.New(proxy.Options{Confirm: approve(true), Servers: []proxy.Server{{Name: "up", URL: url, RoundTripper: trusting}}})
			if err != nil {
				t.Fatal(err)
			}
			got := new(plain).client(t, p).call(deleteOne)
			if !strings.Contains(got, "may or may not have happened") || executed.Load() != 1 {
				t.Errorf("executed %d times, and the model is told %s", executed.Load(), got)
			}
		})
	}
}
