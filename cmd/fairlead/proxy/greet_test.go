package proxy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// Servers that all go away before any has answered are not started for ever, and one that
// refuses is heard although others go away.
func TestNoServerAnswers(t *testing.T) {
	t.Parallel()
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + mcptest.Modern + `"}}}`
	dies := func(name, when string) proxy.Server {
		return proxy.Server{Name: name, Dir: t.TempDir(), Command: []string{"sh", "-c", when + "exit 1"}}
	}
	for name, text := range map[string]string{
		"of the new revision": discover,
		"of an older one":     `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`,
		"of which none asks":  "",
	} {
		t.Run("all go away from a client "+name, func(t *testing.T) {
			t.Parallel()
			r := connectRaw(t, proxy.Options{Servers: []proxy.Server{dies("a", ""), dies("b", "sleep 0.1; ")}})
			if text != "" {
				r.send(text)
			}
			if err := mcptest.Wait(t, "the session to end", r.done); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
				t.Errorf("the session ended with %v", err)
			}
		})
	}
	t.Run("one refuses", func(t *testing.T) {
		t.Parallel()
		refuses, _ := moody(t, "b", `*server/discover*) answer '"error":{"code":-32603,"message":"out of order"}';;`)
		r := connectRaw(t, proxy.Options{Servers: []proxy.Server{dies("a", ""), refuses}}, proxy.LateAfter(50*time.Millisecond))
		r.send(discover)
		if got := r.answer("1"); !strings.Contains(string(got["error"]), "out of order") {
			t.Errorf("introduced with %s %s", got["result"], got["error"])
		}
	})
}
