package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// skillsScenario is the one about skills that judges a proxy: whoever lists them reads no file of theirs.
const skillsScenario = "sep-2640-client-no-prefetch"

// A client lists the skills of a server through the proxy, which reads none of them ahead of need.
func TestProxyReadsNoSkillAhead(t *testing.T) {
	suite, bin := needed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all, err := client(t, suite, "2025-11-25", skillsScenario, self+" "+bin)
	if got := sum(all); err != nil || got.passed == 0 || got.failed+got.open > 0 {
		t.Errorf("%v: %+v", err, all)
	}
}

// listSkills lists the skills of a server as a client does that has just connected.
func listSkills(ctx context.Context, at string) error {
	session, answer := "", []byte(nil)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"lister","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"skills/list","params":{}}`,
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(message))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		answer, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return err
		}
		if session == "" {
			session = res.Header.Get("Mcp-Session-Id")
		}
	}
	if !bytes.Contains(answer, []byte("pdf-processing")) {
		return fmt.Errorf("the skills are %s", answer)
	}
	return nil
}
