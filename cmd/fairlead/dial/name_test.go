package dial_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
)

func TestServersAreNamedByWhatRunsThem(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem .":          "server-filesystem",
		"npx -y @modelcontextprotocol/server-memory@2025.8.4":       "server-memory",
		"npx --package=@acme/mcp acme-mcp --key secret":             "acme-mcp",
		"npx -p @acme/mcp acme-mcp":                                 "acme-mcp",
		"npm exec -y some-server":                                   "some-server",
		"uvx mcp-server-git --repository /srv":                      "mcp-server-git",
		"uvx --from git+https://a.example/x mcp-x":                  "mcp-x",
		"uv --directory /srv/weather run weather.py":                "weather",
		"python3 -m mcp_server_fetch":                               "mcp_server_fetch",
		"python -c print(1)":                                        "python",
		"node /home/me/weather/build/index.js":                      "weather",
		"node build/index.js":                                       "server",
		"docker run -i --rm -e TOKEN=secret -v /a:/b mcp/files /b":  "files",
		"docker run -i --rm -e TOKEN ghcr.io/github/mcp-server:1.2": "mcp-server",
		`cmd /c npx -y some-server`:                                 "some-server",
		`C:\tools\weather.exe`:                                      "weather",
		"/usr/local/bin/mcp-weather secret":                         "mcp-weather",
		"env TOKEN=secret mcp-weather":                              "mcp-weather",
		"go run ./cmd/weather":                                      "weather",
		"java -jar target/weather-1.0.jar":                          "weather-1.0",
		"https://crm.example/mcp?key=secret":                        "crm.example",
		"https://user:secret@crm.example:8443/secret/mcp":           "crm.example-8443",
		"http://localhost:3000/mcp":                                 "localhost-3000",
		"http://[::1]:3000/mcp":                                     "1-3000",
		"x__y":                                                      "x_y",
	} {
		if got := dial.Words(strings.Fields(line)...); got.ID != want || got.Check() != nil {
			t.Errorf("%s: got %q (%v), want %q", line, got.ID, got.Check(), want)
		}
	}
	if got := dial.Command().ID; got != "server" {
		t.Errorf("no command: got %q", got)
	}
	if got := dial.Several([]dial.Target{dial.Words("npx", "a"), dial.Words("uvx", "a")}); got[0].ID != "a" || got[1].ID != "a-2" {
		t.Errorf("two of a name: got %q and %q", got[0].ID, got[1].ID)
	}
}
