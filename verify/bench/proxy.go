package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The last revision of the protocol with sessions, and the first without.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// childKey names which of children this program is to be.
const childKey = "FAIRLEAD_BENCH_CHILD"

// serveChild is the child that this process is meant to be, and reports whether it was one.
func serveChild() bool {
	child := children()[os.Getenv(childKey)]
	if child == nil {
		return false
	}
	if err := child(); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	return true
}

// things is a server that says which thing it was asked for.
func things() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "things", Version: "1"}, nil)
	tool := &mcp.Tool{Name: "find_thing", Description: "Finds a thing.", InputSchema: json.RawMessage(`{"type":"object"}`)}
	s.AddTool(tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var asked struct {
			ID string `json:"id"`
		}
		err := json.Unmarshal(r.Params.Arguments, &asked)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "thing " + asked.ID}}}, err
	})
	return s
}

// A wire is the transport and the revision between all that take part.
type wire struct{ transport, version string }

// A way is one from a client to a server of its own.
type way struct {
	wire

	session *mcp.ClientSession
	closers []func()
}

// ends has something closed with the way, the last first.
func (w *way) ends(f func()) { w.closers = append(w.closers, f) }

func (w *way) close() {
	for _, f := range slices.Backward(w.closers) {
		f()
	}
}

// server starts a server of things: a process of its own, or one behind a socket.
func (w *way) server() (proxy.Server, error) {
	if w.transport == "http" {
		return proxy.Server{Name: "things", URL: w.listen(things())}, nil
	}
	exe, err := os.Executable()
	return proxy.Server{Name: "things", Command: []string{exe}, Env: []string{childKey + "=things"}}, err
}

// listen puts a server of the SDK behind a socket.
func (w *way) listen(s *mcp.Server) (url string) {
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: w.version >= modern}))
	w.ends(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL
}

// to is how a client of the SDK reaches a server.
func (w *way) to(s proxy.Server) mcp.Transport {
	if s.URL != "" {
		return w.toURL(s.URL)
	}
	cmd := exec.Command(s.Command[0])
	cmd.Env = append(os.Environ(), s.Env...)
	return &mcp.CommandTransport{Command: cmd}
}

// toURL has as many connections as there are callers, and not two, so that no way is
// measured by what it takes to open them.
func (w *way) toURL(url string) mcp.Transport {
	pool := &http.Transport{MaxIdleConnsPerHost: callers}
	w.ends(pool.CloseIdleConnections)
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: pool}}
}

// through has a proxy serve a pair of pipes.
func (w *way) through(serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error) (mcp.Transport, error) {
	in, toProxy, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromProxy, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = serve(context.Background(), in, out) // which fails the calls
	}()
	w.ends(func() {
		_ = toProxy.Close() // by its client already, if there was one
		<-ended
		_, _ = in.Close(), out.Close()
	})
	return &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, nil
}

func (w *way) dial(t mcp.Transport) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	cs, err := client.Connect(context.Background(), t, &mcp.ClientSessionOptions{ProtocolVersion: w.version})
	if err == nil {
		w.ends(func() { _ = cs.Close() })
	}
	return cs, err
}

// direct is the way without a proxy.
func (w *way) direct() (mcp.Transport, error) {
	s, err := w.server()
	if err != nil {
		return nil, err
	}
	return w.to(s), nil
}

// fairlead is the way through ours.
func (w *way) fairlead() (mcp.Transport, error) {
	s, err := w.server()
	if err != nil {
		return nil, err
	}
	p, err := proxy.New(proxy.Options{Servers: []proxy.Server{s}})
	if err != nil {
		return nil, err
	}
	if w.transport == "stdio" {
		return w.through(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			return p.ServeLines(ctx, in, out)
		})
	}
	ctx, stop := context.WithCancel(context.Background())
	url, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		err = p.ListenAndServe(ctx, "127.0.0.1:0", func(u string) { url <- u })
	}()
	w.ends(func() {
		stop()
		<-ended
	})
	select {
	case <-ended:
		return nil, err
	case u := <-url:
		return w.toURL(u), nil
	}
}

var (
	questions atomic.Int64
	errThing  = errors.New("the answer to another question")
)

// ask asks for a thing that nobody has asked for, so that nothing comes from memory.
func (w *way) ask() error {
	id := strconv.FormatInt(questions.Add(1), 10)
	res, err := w.session.CallTool(context.Background(), &mcp.CallToolParams{Name: "find_thing", Arguments: map[string]any{"id": id}})
	if err != nil {
		return err
	}
	if len(res.Content) == 1 && !res.IsError {
		if text, ok := res.Content[0].(*mcp.TextContent); ok && text.Text == "thing "+id {
			return nil
		}
	}
	return errThing
}

// callers is how many call at once.
const callers = 64

// one asks n times, one question after the other.
func (w *way) one(n int) error {
	for range n {
		if err := w.ask(); err != nil {
			return err
		}
	}
	return nil
}

// many asks n times in all.
func (w *way) many(n int) error {
	var all sync.WaitGroup
	var asked atomic.Int64
	errs := make([]error, callers)
	for i := range errs {
		all.Go(func() {
			for errs[i] == nil && asked.Add(1) <= int64(n) {
				errs[i] = w.ask()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// proxied is a safe call through ours, against a proxy made of the SDK without a chain
// and against none, by the CPU time of this process: the client, the proxy and, over
// HTTP, the server, which all have alike. Of 64 callers the calls a second count too.
func proxied(w wire, at int) benchmark {
	name := "proxy/" + w.transport
	if at > 1 {
		name += "/" + strconv.Itoa(at)
	}
	if w.version == legacy {
		name += "/sessions"
	}
	return benchmark{name: name, run: func(p pace) (row, error) {
		runs := make([]func(int) error, 3)
		for i, open := range []func(*way) (mcp.Transport, error){(*way).fairlead, (*way).passThrough, (*way).direct} {
			way := &way{wire: w}
			defer way.close()
			t, err := open(way)
			if err == nil {
				way.session, err = way.dial(t)
			}
			if err != nil {
				return row{}, fmt.Errorf("%s: %w", name, err)
			}
			runs[i] = way.one
			if at > 1 {
				runs[i] = way.many
			}
		}
		c := contest{
			name: name, ours: runs[0], peers: []subject{{name: "pass_through", run: runs[1]}, {name: "direct", run: runs[2]}},
			goals: map[string]float64{"pass_through": 0.91}, allocs: math.Inf(1),
		}
		p.batch *= 3 // a call takes that much longer than most
		if at > 1 {
			p.batch, p.rounds = p.batch*3, p.rounds/2+1 // a few calls of each caller
			c.throughput = map[string]float64{"pass_through": 0.9}
		}
		return play(c, p)
	}}
}
