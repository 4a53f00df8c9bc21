package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
)

// results is a safe call through `fairlead proxy` with a result of that size, by the CPU
// time of the proxy's process: beside a copy of lines, a parser of each message's envelope, a
// proxy of the Go SDK and, if npm is there, one of the SDK for Node.
func results(name string, size, atOnce int) benchmark {
	name = "result/" + name + "/" + strconv.Itoa(atOnce)
	return benchmark{name: name, run: func(p pace) (row, error) {
		c := contest{name: name, goals: map[string]float64{"pass_through": 1.5, "node": 1.2}, allocs: math.Inf(1)}
		switch {
		case size > 1000:
			c.goals = map[string]float64{"envelope": 0.67, "pass_through": 3, "node": 1.2}
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
