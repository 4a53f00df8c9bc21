package proxy_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
)

// oneShot are the requests of a client that writes them all and ends its input.
var oneShot = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"x://y"}}`,
	`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"add_thing","arguments":{}}}`,
}

// What was read before the end of the input is carried out and answered, also a write that runs.
func TestEndOfInputIsAnswered(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 2} {
		t.Run(fmt.Sprint(servers, " servers"), func(t *testing.T) {
			t.Parallel()
			s, records := newPlain(writeThing), new(book)
			s.hold = make(chan struct{})
			o := proxy.Options{Drain: time.Hour, Confirm: approve(true), Audit: records}
			name := "add_thing"
			for i := range servers {
				o.Servers = append(o.Servers, proxy.Server{Name: fmt.Sprint("s", i), Open: s.open})
			}
			if servers > 1 {
				name = "s0__add_thing"
			}
			r := connectRaw(t, o)
			for _, line := range oneShot {
				r.send(strings.Replace(line, `"name":"add_thing"`, `"name":"`+name+`"`, 1))
			}
			_ = r.in.Close()
			until(t, "the write to run", func() bool { return len(s.calls()) == 1 })
			select {
			case err := <-r.done:
				t.Fatalf("the proxy has ended before its answers: %v", err)
			default:
			}
			close(s.hold)
			answered := make(map[string]bool)
			for len(answered) < 4 {
				m := r.next()
				if m == nil {
					t.Fatalf("only %v were answered", answered)
				}
				if m["error"] != nil {
					t.Errorf("%s was answered with %s", m["id"], m["error"])
				}
				answered[string(m["id"])] = m["method"] == nil
			}
			if err := mcptest.Wait(t, "the proxy to end", r.done); err != nil {
				t.Error(err)
			}
			if got := records.ends(); len(got) != 1 || !strings.HasPrefix(got[0], "add_thing ok") {
				t.Errorf("recorded %q", got)
			}
		})
	}
}

// A call that waits for a person when its client's input ends is not made, and nothing waits for it.
func TestEndOfInputWithAnOpenQuestion(t *testing.T) {
	t.Parallel()
	s, asked := newPlain(deleteThing), make(chan bool, 1)
	o := proxy.Options{Drain: time.Hour, Servers: []proxy.Server{{Name: "s", Open: s.open}}}
	o.Confirm = hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
		asked <- true
		<-ctx.Done()
		return hitl.Decision{}, context.Cause(ctx)
	})
	r := connectRaw(t, o)
	r.send(oneShot[0])
	r.send(strings.Replace(oneShot[4], "add_thing", "delete_thing", 1))
	mcptest.Wait(t, "the question", asked)
	_ = r.in.Close()
	if got := string(r.answer("4")["result"]); !strings.Contains(got, "not") {
		t.Errorf("got %s", got)
	}
	if err := mcptest.Wait(t, "the proxy to end", r.done); err != nil || len(s.calls()) > 0 {
		t.Errorf("%v, executed %q", err, s.calls())
	}
}

// A server whose question the client cannot answer any more gets an error in its place, and can end its call.
func TestEndOfInputAnswersTheServersQuestions(t *testing.T) {
	t.Parallel()
	s, _ := moody(t, "a", `
		*resources/read*) echo "$line" > held; say "$question";;
		*'"error"'*) line=$(cat held); answer '"result":{"by":"itself"}';;`)
	r := connectRaw(t, proxy.Options{Drain: time.Hour, Servers: []proxy.Server{s}})
	r.send(oneShot[0])
	r.send(oneShot[3])
	_ = r.in.Close()
	if got := string(r.answer("3")["result"]); got != `{"by":"itself"}` {
		t.Errorf("got %s", got)
	}
	if err := mcptest.Wait(t, "the proxy to end", r.done); err != nil {
		t.Error(err)
	}
}

// A relay answers what it has read before it ends.
func TestRelayAnswersAfterTheEndOfTheInput(t *testing.T) {
	t.Parallel()
	s := newPlain(writeThing)
	in := strings.NewReader(strings.Join(oneShot, "\n") + "\n")
	var out strings.Builder
	err := proxy.Relay(t.Context(), proxy.Server{Name: "s", Open: s.open}, in, &out, io.Discard, slog.New(slog.DiscardHandler), time.Hour, func([]byte) {}, func([]byte) {})
	if err != nil {
		t.Error(err)
	}
	for id := range 4 {
		if !strings.Contains(out.String(), fmt.Sprintf(`"id":%d,"result"`, id+1)) {
			t.Errorf("no answer to %d", id+1)
		}
	}
}
