//go:build unix

package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/internal/proxy"
	"github.com/fairlead-go/fairlead/internal/testserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// passThrough is a proxy made of the SDK, without a chain: what ours is measured by.
func passThrough(b *testing.B, s proxy.Server, version string) *mcp.Server {
	b.Helper()
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: s.URL}
	if s.URL == "" {
		cmd := exec.Command(s.Command[0], s.Command[1:]...)
		cmd.Env = append(os.Environ(), s.Env...)
		transport = &mcp.CommandTransport{Command: cmd}
	}
	back := testserver.Dial(b, nil, transport, version)
	out := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	list, err := back.ListTools(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, tool := range list.Tools {
		out.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return back.CallTool(ctx, &mcp.CallToolParams{Meta: r.Params.Meta, Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return out
}

// BenchmarkProxy measures a safe call through a proxy of the SDK and through ours, with
// the processor time of this process beside it: the client, the proxy, and over HTTP the
// server too, which all three ways have alike.
func BenchmarkProxy(b *testing.B) {
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range testserver.Versions {
			server := func(b *testing.B) proxy.Server {
				b.Helper()
				if transport == "stdio" {
					return child(b, "things")
				}
				return serve(b, things(), version)
			}
			b.Run(transport+"/direct/"+version, func(b *testing.B) {
				s := server(b)
				if s.URL != "" {
					measure(b, &mcp.StreamableClientTransport{Endpoint: s.URL}, version)
					return
				}
				measure(b, testserver.ChildTransport(b, "things"), version)
			})
			b.Run(transport+"/sdk/"+version, func(b *testing.B) {
				out := passThrough(b, server(b), version)
				if transport == "stdio" {
					measure(b, lines2(b, func(ctx context.Context, in io.ReadCloser, w io.WriteCloser) error {
						return out.Run(ctx, &mcp.IOTransport{Reader: in, Writer: w})
					}), version)
					return
				}
				h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return out }, &mcp.StreamableHTTPOptions{Stateless: version >= testserver.Modern}))
				b.Cleanup(h.Close)
				measure(b, &mcp.StreamableClientTransport{Endpoint: h.URL}, version)
			})
			b.Run(transport+"/fairlead/"+version, func(b *testing.B) {
				o := proxy.Options{Servers: []proxy.Server{server(b)}}
				if transport == "http" {
					measure(b, &mcp.StreamableClientTransport{Endpoint: listenOn(b, o)}, version)
					return
				}
				p, err := proxy.New(o)
				if err != nil {
					b.Fatal(err)
				}
				measure(b, lines2(b, func(ctx context.Context, in io.ReadCloser, w io.WriteCloser) error { return p.ServeLines(ctx, in, w) }), version)
			})
		}
	}
}

// lines2 is the way to something that serves a pair of pipes.
func lines2(b *testing.B, serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error) mcp.Transport {
	b.Helper()
	in, toServer := pipe(b)
	fromServer, out := pipe(b)
	ended := make(chan error, 1)
	go func() { ended <- serve(context.Background(), in, out) }()
	b.Cleanup(func() {
		_ = toServer.Close()
		<-ended
	})
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer}
}

func pipe(b *testing.B) (*os.File, *os.File) {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	return r, w
}

var distinct atomic.Int64

// measure calls one after the other, and then from 64 callers at once. No two calls are
// alike, so that nothing is answered from memory.
func measure(b *testing.B, t mcp.Transport, version string) {
	b.Helper()
	cs := testserver.Dial(b, nil, t, version)
	call := func(b *testing.B) {
		res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "list_things", Arguments: map[string]any{"n": strconv.FormatInt(distinct.Add(1), 10)}})
		if err != nil || res.IsError {
			b.Error(res, err)
		}
	}
	call(b)
	b.Run("one", func(b *testing.B) {
		cpu := processor()
		for b.Loop() {
			call(b)
		}
		b.ReportMetric(float64(processor()-cpu)/float64(b.N), "cpu-ns/op")
	})
	b.Run("64", func(b *testing.B) {
		cpu := processor()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				call(b)
			}
		})
		b.ReportMetric(float64(processor()-cpu)/float64(b.N), "cpu-ns/op")
	})
}

// processor is the time that this process has had.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
