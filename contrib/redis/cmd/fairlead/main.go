// Command fairlead is the command with Redis in it: proxy --store shares memory, pace
// and approvals with other proxies in front of the same servers.
//
//	go run ./cmd/fairlead proxy --store redis://localhost:6379/0 --listen 127.0.0.1:8808 https://example.com/mcp
package main

import (
	"github.com/fairlead-go/fairlead/contrib/redis/internal/opener"
	"github.com/fairlead-go/fairlead/internal/command"
)

func main() { command.Main(opener.Open) }
