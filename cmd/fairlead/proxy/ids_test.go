package proxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// Some servers answer the ID 1 as "1". The answer is taken, and the log reports it.
func TestAnswerUnderTheOtherFormOfItsID(t *testing.T) {
	t.Parallel()
	const errorStatus = "HTTP with the status of an error"
	for name, c := range map[string]struct {
		asked, answered string
		taken           bool
	}{
		"a number as a text":            {`7`, `"7"`, true},
		"a text as a number":            {`"7"`, `7`, true},
		"a text as a number in between": {`"7"`, `7.0`, false},
		"another number":                {`7`, `8`, false},
		"a long number":                 {`9007199254740993`, `"9007199254740993"`, true},
		"a rounded number":              {`9007199254740993`, `9007199254740992`, false},
	} {
		for _, way := range []string{"stdio", "HTTP", errorStatus} {
			if way == errorStatus && !c.taken {
				continue // the status is the answer then
			}
			t.Run(name+" over "+way, func(t *testing.T) {
				t.Parallel()
				log := newLines(t)
				o := proxy.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}
				reads := func(w io.Writer, id string) {
					_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"method":"resources/read"}}`+"\n", id)
				}
				var client *lineClient
				if way != "stdio" {
					u := newUpstream(t, http.StatusNotFound)
					u.hooked(func(w http.ResponseWriter, m upMessage) bool {
						if m.Method != "resources/read" {
							return false
						}
						w.Header().Set("Content-Type", "application/json")
						if way == errorStatus {
							w.WriteHeader(http.StatusBadRequest)
						}
						reads(w, c.answered)
						return true
					})
					client = u.client(t, o)
				} else {
					o.Servers = []proxy.Server{{Name: "stringly", Open: func() (io.ReadWriteCloser, error) {
						here, there := net.Pipe()
						go func() {
							for in := bufio.NewScanner(there); in.Scan(); {
								var m upMessage
								switch _ = json.Unmarshal(in.Bytes(), &m); m.Method {
								case "initialize":
									_, _ = fmt.Fprintf(there, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`+"\n", m.ID)
								case "resources/read":
									reads(there, c.answered)
								}
							}
						}()
						return here, nil
					}}}
					p, err := proxy.New(o)
					if err != nil {
						t.Fatal(err)
					}
					client = new(plain).client(t, p)
				}
				client.send(`{"jsonrpc":"2.0","id":` + c.asked + `,"method":"resources/read","params":{"uri":"x://y"}}`)
				if c.taken {
					if got := <-client.answer(c.asked); !strings.Contains(got, "resources/read") {
						t.Fatalf("got %s", got)
					}
				}
				until(t, "the report", func() bool {
					return strings.Contains(log.String(), map[bool]string{true: "in another form", false: "not sent"}[c.taken])
				})
			})
		}
	}
}

// A client's request is answered under its ID as it was written, whatever text or number that is. A call with an ID of
// another type, or with none, is not made.
func TestIDsOfEveryKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ids  []string
		made bool
	}{
		"B331: numbers": {[]string{`0`, `-1`, `7`, `1.5`, `1e2`, `1E400`, `-0`, `9007199254740993`, `18446744073709551616`}, true},
		"B331: texts":   {[]string{`""`, `"1"`, `" "`, `"\u0000"`, `"\u00e9"`, `"é"`, `"fairlead-1"`, `"__proto__"`, `"` + strings.Repeat("x", 100_000) + `"`}, true},
		"B331: others":  {[]string{`null`, `true`, `false`, `{}`, `[]`, `[1]`, `{"id":1}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPlain(deleteThing)
			r := connectRaw(t, proxy.Options{Servers: []proxy.Server{{Name: "plain", Open: s.open}}, Confirm: approve(true)})
			r.initialize("{}")
			for i, id := range c.ids {
				r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"delete_thing","arguments":{"n":%d}}}`, id, i))
				if c.made {
					if got := r.answer(id); got["result"] == nil {
						t.Errorf("%.100s was answered with %s", id, got["error"])
					}
				}
			}
			r.ask(999, "ping", "{}")
			if got := len(s.calls()); c.made && got != len(c.ids) || !c.made && got > 0 {
				t.Errorf("%d calls were executed: %q", got, s.calls())
			}
		})
	}
}
