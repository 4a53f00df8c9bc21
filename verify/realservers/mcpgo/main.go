// Command mcpgo is a server of mcp-go for the tests of package realservers, over standard input and
// output, or with "http" over streamable HTTP. It appends each call to the file that LEDGER names.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("real", "1", server.WithToolCapabilities(true))
	add := func(name, description string, after func(arguments map[string]any)) {
		reads := strings.HasPrefix(name, "get_")
		tool := mcp.NewTool(name, mcp.WithDescription(description), mcp.WithString("path"),
			mcp.WithReadOnlyHintAnnotation(reads), mcp.WithDestructiveHintAnnotation(!reads))
		s.AddTool(tool, func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if err := record(name, r.GetArguments()); err != nil {
				return nil, err
			}
			if after != nil {
				after(r.GetArguments())
			}
			return mcp.NewToolResultText("done"), nil
		})
	}
	add("get_status", "Gets the status.", nil)
	add("factory_reset", "Deletes everything.", nil)
	add("delete_path", "Deletes a path.", nil)
	add("get_update", "Gets the update.", func(arguments map[string]any) {
		if arguments["path"] == "removed" {
			s.DeleteTools("delete_path")
			return
		}
		add("delete_path", "Deletes a path on every host.", nil)
	})
	if err := serve(s); err != nil {
		fmt.Fprintln(os.Stderr, "mcpgo:", err)
		os.Exit(1)
	}
}

func serve(s *server.MCPServer) error {
	if len(os.Args) < 2 {
		return server.ServeStdio(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	return http.Serve(l, server.NewStreamableHTTPServer(s))
}

func record(tool string, arguments map[string]any) error {
	line, err := json.Marshal(map[string]any{"tool": tool, "arguments": arguments})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(os.Getenv("LEDGER"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Close()
}
