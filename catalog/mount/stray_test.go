package mount_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// linesOfServers returns lines that are not messages, as servers write them to their standard output: banners, logs, and
// messages that are quoted, cut off or of another version; and lines that are messages. The proxy's test has them too.
func linesOfServers(t *testing.T) (stray, messages map[string]string) {
	t.Helper()
	text, err := os.ReadFile("../../internal/answers/testdata/lines.json")
	if err != nil {
		t.Fatal(err)
	}
	var lines struct{ Stray, Messages map[string]string }
	if err := json.Unmarshal(text, &lines); err != nil || len(lines.Stray) < 15 || len(lines.Messages) < 5 {
		t.Fatalf("%v, %d and %d lines", err, len(lines.Stray), len(lines.Messages))
	}
	lines.Stray["another version"] = `{"jsonrpc":"1.0","id":1,"result":{}}`         // the proxy encodes it anew
	lines.Stray["an answer to nothing"] = `{"jsonrpc":"2.0","id":null,"result":{}}` // the proxy has no call for it
	lines.Stray["not in UTF-8"] = "caf\xe9"
	return lines.Stray, lines.Messages
}

// A line that is a message is not left out.
func TestMessagesAreNotStray(t *testing.T) {
	t.Parallel()
	_, messages := linesOfServers(t)
	for name, line := range messages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
				p.Write(line)
				p.Reply(r, `{"tools":[{"name":"list_notes","inputSchema":{"type":"object"}}]}`)
			})
			tools := catalog.New(catalog.Options{})
			cs := mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil), mount.Transport(peer), mcptest.Legacy)
			if err := tools.Add(t.Context(), "notes", cs); err != nil {
				t.Fatal(err)
			}
			for _, f := range tools.Findings() {
				if f.Kind == finding.Stray {
					t.Errorf("%q: found %v", line, f)
				}
			}
		})
	}
}

// A line on standard output that is not a message is left out, before the handshake, beside a list and within a call.
func TestStrayLinesAreLeftOut(t *testing.T) {
	t.Parallel()
	stray, _ := linesOfServers(t)
	for name, line := range stray {
		for _, version := range []string{mcptest.Legacy, mcptest.Modern} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				peer := mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
					p.Write(line)
					switch r.Method {
					case "tools/list":
						p.Reply(r, `{"tools":[{"name":"list_notes","inputSchema":{"type":"object"}}]}`)
					default:
						p.Reply(r, `{"content":[{"type":"text","text":"done"}]}`)
					}
					p.Write(line)
				})
				tools := catalog.New(catalog.Options{})
				cs := mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil), mount.Transport(peer), version)
				if err := tools.Add(t.Context(), "notes", cs); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_notes"})
					if err != nil || output.Text(res) != "done" {
						t.Fatalf("got %v, %v", res, err)
					}
				}
				var found []string
				for _, f := range tools.Findings() {
					if f.Kind == finding.Stray {
						found = append(found, f.Text)
					}
				}
				if want := min(1, len(strings.TrimSpace(line))); len(found) != want {
					t.Errorf("found %q, want %d findings", found, want)
				}
			})
		}
	}
}

// The logger of a catalog gets the first ten lines, and then one each time that their number has doubled.
func TestStrayLinesAreLoggedInPart(t *testing.T) {
	t.Parallel()
	const lines = 1000
	peer := mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
		if r.Method == "tools/list" {
			p.Reply(r, `{"tools":[{"name":"list_notes","inputSchema":{"type":"object"}}]}`)
			return
		}
		for i := range lines {
			p.Write(fmt.Sprintf("step %d of %s\x1b[2J", i, strings.Repeat("x", 1000)))
		}
		p.Reply(r, `{"content":[]}`)
	})
	var log bytes.Buffer
	tools := catalog.New(catalog.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	cs := mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil), mount.Transport(peer), mcptest.Legacy)
	if err := tools.Add(t.Context(), "notes", cs); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_notes"}); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(got) != 16 || !strings.Contains(got[0], `server=notes lines=1 text="step 0 of xxx`) || !strings.Contains(got[15], "lines=512") || log.Len() > 16*500 {
		t.Errorf("got %d lines of %d bytes: %q", len(got), log.Len(), got)
	}
}
