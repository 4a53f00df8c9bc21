// Command fairlead shows what the tools of MCP servers can do, and why it thinks
// so.
package main

import "github.com/fairlead-go/fairlead/internal/command"

func main() { command.Main(nil) }
