package proxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// levelsKey names how deep the server of deep tools nests one of its schemas.
const levelsKey = "FAIRLEAD_TEST_LEVELS"

// deep serves two tools, one of them with a schema that no Go server can write. It does
// not return.
func deep() *mcp.Server {
	levels, _ := strconv.Atoi(os.Getenv(levelsKey))
	answers := map[string]string{
		"initialize":      `{"protocolVersion":"` + mcptest.Legacy + `","capabilities":{"tools":{}},"serverInfo":{"name":"deep","version":"1"}}`,
		"server/discover": `{"resultType":"complete","supportedVersions":["` + mcptest.Modern + `"],"ttlMs":0,"cacheScope":"private","capabilities":{"tools":{}},"serverInfo":{"name":"deep","version":"1"}}`,
		"tools/list": `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"list_things","inputSchema":{"type":"object"}},{"name":"deep","inputSchema":{"type":"object","x":` +
			strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}}]}`,
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r mcptest.Request
		if json.Unmarshal(in.Bytes(), &r) == nil && r.ID != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, answers[r.Method])
		}
	}
	os.Exit(0)
	return nil
}

func TestDeepSchemaTakesNoListAway(t *testing.T) {
	t.Parallel()
	for _, levels := range []string{"9000", "100000"} {
		t.Run(levels, func(t *testing.T) {
			t.Parallel()
			eachVersion(t, func(t *testing.T, version string) {
				f := connect(t, version, proxy.Options{Servers: []proxy.Server{child(t, "deep", levelsKey+"="+levels)}}, nil)
				list, err := f.ListTools(mcptest.Context(t), nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(list.Tools) != 1 || list.Tools[0].Name != "list_things" {
					t.Errorf("got %d tools", len(list.Tools))
				}
				if log := f.log.String(); !strings.Contains(log, "nested deeper than 512 levels") {
					t.Error("the log does not name the tool that was left out")
				}
			})
		})
	}
}
