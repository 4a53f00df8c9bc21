package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// children are the processes that this program becomes if childKey names one: proxies between its
// standard streams and their own server, and that server.
func children() map[string]func() error {
	return map[string]func() error{
		"server": answerLines,
		"copy":   func() error { return between(func([]byte) error { return nil }) },
		"envelope": func() error {
			return between(func(line []byte) error {
				var m struct{ ID, Method, Params, Result, Error json.RawMessage }
				return json.Unmarshal(line, &m)
			})
		},
		"fairlead": func() error {
			p, err := proxy.New(proxy.Options{Servers: []proxy.Server{{Name: "things", Command: serverCommand().Args, Env: []string{childKey + "=server"}}}})
			if err != nil {
				return err
			}
			return p.ServeLines(context.Background(), os.Stdin, os.Stdout)
		},
		"pass_through": func() error { return passThrough(context.Background()) },
	}
}

// sizeKey is how many bytes a result of the server has.
const sizeKey = "FAIRLEAD_BENCH_BYTES"

func serverCommand() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childKey+"=server")
	return cmd
}

// pipes starts a process, and returns the streams to it and from it.
func pipes(cmd *exec.Cmd) (in io.WriteCloser, out io.Reader, err error) {
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	return in, out, cmd.Start()
}

// between copies lines between a client and the server, and calls look with each.
func between(look func(line []byte) error) error {
	server := serverCommand()
	in, out, err := pipes(server)
	if err != nil {
		return err
	}
	go func() {
		_ = eachLine(os.Stdin, in, look)
		_ = in.Close()
	}()
	return errors.Join(eachLine(out, os.Stdout, look), server.Wait())
}

func eachLine(in io.Reader, out io.Writer, look func([]byte) error) error {
	for lines := bufio.NewReaderSize(in, 1<<20); ; {
		line, err := lines.ReadSlice('\n')
		if err == nil {
			err = look(line)
		}
		if err == nil {
			_, err = out.Write(line)
		}
		if err != nil {
			return err
		}
	}
}

// answerLines is a server of one tool with a result of JSON rows in a text.
func answerLines() error {
	size, _ := strconv.Atoi(os.Getenv(sizeKey))
	row := `{"id":1234,"name":"Ada Lovelace","city":"London"}, `
	text, err := json.Marshal(strings.Repeat(row, size/len(row)+1)[:size])
	if err != nil {
		return err
	}
	results := map[string][]byte{
		"initialize": []byte(`{"protocolVersion":"` + legacy + `","capabilities":{"tools":{}},"serverInfo":{"name":"things","version":"1"}}`),
		"tools/list": []byte(`{"tools":[{"name":"find_thing","description":"Finds a thing.","inputSchema":{"type":"object"}}]}`),
		"tools/call": fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, text),
	}
	return eachLine(os.Stdin, io.Discard, func(line []byte) error {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(line, &m); err != nil || m.ID == nil {
			return err
		}
		_, err := fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, results[m.Method])
		return err
	})
}

// A lineClient calls the tool of the server behind a proxy that is a process of its own.
type lineClient struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	bytes int // of a result, at least
	asked int
}

func newLineClient(cmd *exec.Cmd, size int) (*lineClient, error) {
	cmd.Env = append(append(os.Environ(), cmd.Env...), sizeKey+"="+strconv.Itoa(size))
	cmd.Stderr = os.Stderr
	in, out, err := pipes(cmd)
	if err != nil {
		return nil, err
	}
	c := &lineClient{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20), bytes: size}
	hello := `{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
	if err := errors.Join(c.send("initialize", hello), c.receive(1)); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c, errors.Join(err, c.send("tools/list", "{}"), c.receive(1))
}

func (c *lineClient) send(method, params string) error {
	c.asked++
	_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.asked, method, params)
	return err
}

// receive reads a response, of at least that many bytes.
func (c *lineClient) receive(size int) error {
	line, err := c.out.ReadSlice('\n')
	if err == nil && (len(line) < size || !bytes.Contains(line, []byte(`"result":`))) {
		err = fmt.Errorf("an answer that is not one: %.300s", line)
	}
	return err
}

// calls makes n calls, so many of them at once.
func (c *lineClient) calls(n, atOnce int) error {
	slots := make(chan struct{}, atOnce)
	var sending error
	var all sync.WaitGroup
	all.Go(func() {
		for range n {
			slots <- struct{}{}
			args := fmt.Sprintf(`{"name":"find_thing","arguments":{"id":"%d","text":"%s"}}`, c.asked, strings.Repeat("x", 150))
			sending = errors.Join(sending, c.send("tools/call", args))
		}
	})
	var err error
	for range n {
		err = errors.Join(err, c.receive(c.bytes))
		<-slots
	}
	all.Wait()
	return errors.Join(err, sending)
}

// cpu is the CPU time of the proxy's process so far, in steps of 10 ms.
func (c *lineClient) cpu() time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	_, stat, _ = bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(stat))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (c *lineClient) close() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}

// results is a safe call through `fairlead proxy` with a result of that size, by the CPU
// time of the proxy's process: beside a copy of lines, a parser of each message's envelope, a
// proxy of the Go SDK and, if npm is there, one of the SDK for Node.
func results(name string, size, atOnce int) benchmark {
	name = "result/" + name + "/" + strconv.Itoa(atOnce)
	return benchmark{name: name, run: func(p pace) (row, error) {
		c := contest{name: name, goals: map[string]float64{"pass_through": 1.5}, allocs: math.Inf(1)}
		switch {
		case size > 1000:
			c.goals = map[string]float64{"envelope": 0.67, "pass_through": 3, "node": 1}
		case atOnce > 1:
			c.goals["envelope"] = 0.4
		}
		p.batch, p.rounds = 30*p.batch, p.rounds/3+1
		ways := []string{"fairlead", "copy", "envelope", "pass_through"}
		script, err := nodeProxy()
		if err == nil {
			ways = append(ways, "node")
		} else {
			fmt.Fprintln(os.Stderr, "bench: without Node:", err)
		}
		for _, way := range ways {
			cmd := exec.Command(os.Args[0])
			cmd.Env = []string{childKey + "=" + way}
			if way == "node" {
				cmd = exec.Command("node", script, os.Args[0])
				cmd.Env = []string{childKey + "=server", "NODE_NO_WARNINGS=1"} // of 64 calls that wait for a pipe
			}
			client, err := newLineClient(cmd, size)
			if err != nil {
				return row{}, fmt.Errorf("%s: %s: %w", name, way, err)
			}
			defer client.close()
			c.ways = append(c.ways, subject{name: way, run: func(n int) error { return client.calls(n, atOnce) }, cpu: client.cpu})
		}
		return play(c, p)
	}}
}

// nodeProxy makes a script that passes messages between two transports of the SDK for Node, as mcp-remote does.
var nodeProxy = sync.OnceValues(func() (script string, err error) {
	if flag.Lookup("test.v") != nil {
		return "", errors.New("a test needs no network")
	}
	folder := filepath.Join(os.TempDir(), "fairlead-bench-node")
	const sdk = "@modelcontextprotocol/sdk@1.20.0"
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		if out, err := exec.Command("npm", "install", "--silent", "--ignore-scripts", "--prefix", folder, sdk).CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm install %s: %w: %s", sdk, err, out)
		}
	}
	script = filepath.Join(folder, "proxy.mjs")
	return script, os.WriteFile(script, []byte(`
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
const client = new StdioServerTransport()
const server = new StdioClientTransport({ command: process.argv[2], env: process.env })
client.onmessage = m => server.send(m)
server.onmessage = m => client.send(m)
process.stdin.on('end', () => server.close().then(() => process.exit(0)))
await server.start()
await client.start()
`), 0o600)
})

// legacy is the last revision of the protocol with sessions.
const legacy = "2025-11-25"

// childKey names the variable that selects one of children.
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

// passThrough is a proxy that is made of the SDK's server and client and has no chain.
func passThrough(ctx context.Context) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	back, err := client.Connect(ctx, &mcp.CommandTransport{Command: serverCommand()}, &mcp.ClientSessionOptions{ProtocolVersion: legacy})
	if err != nil {
		return err
	}
	defer back.Close()
	list, err := back.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	front := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	for _, tool := range list.Tools {
		front.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return back.CallTool(ctx, &mcp.CallToolParams{Meta: r.Params.Meta, Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return front.Run(ctx, &mcp.StdioTransport{})
}

// overCores measures calls a second: of so many goroutines ÷ of one. Reads are all new, or one that is cached.
// Since other work may have the second core, the gain is compared with that of a hash, which shares nothing.
func overCores(name string, workers int, least float64, arguments func(worker, n int) json.RawMessage) benchmark {
	return benchmark{name, func(p pace) (row, error) {
		caller := cache.New(cache.Options{Entries: 10_000, Shared: true})(middleware.ToolCallerFunc(
			func(context.Context, middleware.Call) (result, error) { return answer, nil }))
		heap := make([]byte, 64<<20) // a host has one, too; with less the collector hardly ever rests
		defer runtime.KeepAlive(heap)
		const each = 5000
		made := 0
		call := func(worker, n int) error {
			_, err := caller.CallTool(context.Background(), middleware.Call{Tool: reads, Arguments: arguments(worker, made+n)})
			return err
		}
		text := make([]byte, 2<<10)
		hash := func(int, int) error { sha256.Sum256(text); return nil }
		gain := func(do func(worker, n int) error) (ratio float64, cost time.Duration, err error) {
			var took [2]time.Duration
			for i, workers := range []int{1, workers} {
				var all sync.WaitGroup
				errs := make([]error, workers)
				begun := time.Now()
				for w := range workers {
					all.Go(func() {
						for n := range each {
							errs[w] = errors.Join(errs[w], do(w, n))
						}
					})
				}
				all.Wait()
				took[i] = time.Since(begun) / time.Duration(workers*each)
				err = errors.Join(err, errors.Join(errs...))
				made += each
			}
			return float64(took[0]) / float64(took[1]), took[1], err
		}
		var one, ofHash, costs []float64
		for range p.rounds {
			calls, cost, err := gain(call)
			hashes, _, err2 := gain(hash)
			if err := errors.Join(err, err2); err != nil {
				return row{}, fmt.Errorf("%s: %w", name, err)
			}
			one, ofHash, costs = append(one, calls), append(ofHash, calls/hashes), append(costs, float64(cost))
		}
		r := row{Name: name, Ratio: map[string]float64{"one": round2(median(one)), "hash": round2(median(ofHash))}, PeerAllocs: map[string]float64{}}
		r.Goal, r.Cost = fmt.Sprintf("≥ %g× the gain of a hash, on %d cores", least, runtime.GOMAXPROCS(0)), time.Duration(median(costs)).String()
		r.Met = r.Ratio["hash"] >= least
		return r, nil
	}}
}
