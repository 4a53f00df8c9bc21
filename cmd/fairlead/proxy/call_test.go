package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The person behind the client is asked in whichever way its revision has.
func TestClientsUserIsAsked(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"allow", "deny"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			client := func() *mcp.ClientOptions {
				return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked.Add(1)
					if !strings.Contains(r.Params.Message, " asks for things/delete_thing") {
						t.Errorf("the form says %q", r.Params.Message)
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": answer}}, nil
				}}
			}
			t.Cleanup(func() {
				if got := asked.Load(); got != 8 {
					t.Errorf("asked %d times, want once in each of 8 ways", got)
				}
			})
			eachWay(t, proxy.Options{Confirm: elicit.New(elicit.Options{})}, client, func(t *testing.T, cs *mcp.ClientSession, _ string) {
				res := callTool(t, cs, "delete_thing", map[string]any{"id": "a"})
				if got := text(t, res); res.IsError == (answer == "allow") || answer == "allow" && got != "it is gone" {
					t.Errorf("got %v %q", res.IsError, got)
				}
			})
		})
	}
}

// The call of a client without forms reports that it waits, ends as waiting, and takes the
// decision when it is made again, once.
func TestCallThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		answers := make(chan bool)
		r := connectRaw(t, proxy.Options{
			Servers: []proxy.Server{{Name: "things", Open: func() (io.ReadWriteCloser, error) {
				here, there := net.Pipe()
				_, err := things().Connect(t.Context(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
				return here, err
			}}},
			Policy: func() func() *policy.Policy {
				p := &policy.Policy{Patience: 12 * time.Second}
				return func() *policy.Policy { return p }
			}(),
			Confirm: hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
				asked.Add(1)
				select {
				case <-answers:
					return hitl.Decision{Verdict: hitl.Approved}, nil
				case <-ctx.Done():
					return hitl.Decision{}, context.Cause(ctx)
				}
			}),
			Waits: func(context.Context) string { return "on a page" },
		})
		r.initialize("{}")
		call := func(id int) (told string, progress []float64) {
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"progressToken":"p%d"},"name":"delete_thing","arguments":{"id":"a"}}}`, id, id))
			for {
				m := r.next()
				var p struct {
					ProgressToken, Message string
					Progress               float64
					Content                []struct{ Text string }
				}
				if err := json.Unmarshal(append(m["params"], m["result"]...), &p); err != nil {
					t.Fatal(err)
				}
				switch {
				case string(m["id"]) == fmt.Sprint(id):
					return p.Content[0].Text, progress
				case string(m["method"]) == `"notifications/progress"`:
					if p.ProgressToken != fmt.Sprintf("p%d", id) || !strings.Contains(p.Message, "waiting") {
						t.Errorf("got %s", m["params"])
					}
					progress = append(progress, p.Progress)
				}
			}
		}
		for id := range 2 {
			began := time.Now()
			told, progress := call(id)
			if !strings.Contains(told, "waits for the user's approval on a page until") || time.Since(began) != 12*time.Second {
				t.Errorf("after %v: %s", time.Since(began), told)
			}
			if len(progress) != 2 || progress[0] <= 0 || progress[0] >= progress[1] || progress[1] >= 1 {
				t.Errorf("its progress was %v", progress)
			}
		}
		answers <- true
		if told, _ := call(2); told != "it is gone" || asked.Load() != 1 {
			t.Errorf("asked %d times: %s", asked.Load(), told)
		}
		if told, _ := call(3); !strings.Contains(told, "waits for") || asked.Load() != 2 {
			t.Errorf("asked %d times: %s", asked.Load(), told)
		}
		time.Sleep(time.Hour) // the question ends
	})
}
