package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// childKey names the variable that selects one of children.
const childKey = "FAIRLEAD_BENCH_CHILD"

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
