package proxy_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// raw speaks to a proxy by hand.
type raw struct {
	log  *lines
	t    testing.TB
	in   *io.PipeWriter
	out  chan map[string]json.RawMessage
	done chan error
}

func connectRaw(t testing.TB, o proxy.Options, change ...func(*proxy.Proxy)) *raw {
	t.Helper()
	log := newLines(t)
	o.Stderr, o.Logger = log, slog.New(slog.NewTextHandler(log, nil))
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(p)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	r := &raw{t: t, log: log, in: toProxy, out: make(chan map[string]json.RawMessage, 100), done: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.done <- p.ServeLines(context.Background(), in, out)
		_ = out.Close()
	}()
	go func() {
		for d := json.NewDecoder(fromProxy); ; {
			var m map[string]json.RawMessage
			if d.Decode(&m) != nil {
				close(r.out)
				return
			}
			r.out <- m
		}
	}()
	t.Cleanup(func() {
		_ = toProxy.Close()
		mcptest.Wait(t, "the proxy to end", ended) // its servers write to ledgers until then
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return r
}

func (r *raw) send(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, text+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) next() map[string]json.RawMessage {
	r.t.Helper()
	return mcptest.Wait(r.t, "a message of the proxy's", r.out)
}

// answer waits for the answer to a request.
func (r *raw) answer(id string) map[string]json.RawMessage {
	r.t.Helper()
	for {
		m := r.next()
		if m == nil {
			r.t.Fatalf("no answer to %s", id)
		}
		if string(m["id"]) == id && m["method"] == nil {
			return m
		}
	}
}

func (r *raw) initialize(capabilities string) {
	r.t.Helper()
	r.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"raw","version":"1"}}}`)
	r.answer(`"i"`)
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}
