package main

import (
	"strconv"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/maypok86/otter/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// store is the cache alone, which reads the arguments, against stores that are
// handed a key. There is no goal: they do less.
func store() contest {
	plain, err := lru.New[string, *mcp.CallToolResult](1000)
	if err != nil {
		panic(err)
	}
	expiring := expirable.NewLRU[string, *mcp.CallToolResult](1000, nil, time.Hour)
	otters := otter.Must(&otter.Options[string, *mcp.CallToolResult]{MaximumSize: 1000})
	keys := make([]string, turns)
	for i := range keys {
		keys[i] = "crm/find_invoices/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd" + strconv.Itoa(i)
		plain.Add(keys[i], answer)
		expiring.Add(keys[i], answer)
		otters.Set(keys[i], answer)
	}
	getting := func(get func(string) (*mcp.CallToolResult, bool)) func(int) error {
		return func(n int) error {
			for i := range n {
				if res, ok := get(keys[i%turns]); !ok || res != answer {
					return errWrong
				}
			}
			return nil
		}
	}
	return contest{
		name: "store/get",
		ours: asking(func(s *server) middleware.ToolCaller { return cache.New(cache.Options{Shared: true})(s) }, 200, false, ""),
		peers: []subject{
			{"lru", getting(plain.Get)}, {"expirable", getting(expiring.Get)}, {"otter", getting(otters.GetIfPresent)},
		},
		allocs: 1,
	}
}
