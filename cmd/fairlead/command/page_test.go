package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
)

// A dangerous call waits on the page, whose address is on standard error, until somebody
// there says yes.
func TestProxyApprovesOnThePage(t *testing.T) {
	t.Parallel()
	memory := filepath.Join(t.TempDir(), "memory")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", memory, "github.com/modelcontextprotocol/go-sdk/examples/server/memory").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	said, errs := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- command.Run(ctx, []string{"proxy", "--approve", "web", "--reach", "none", "--", memory}, in, out, errs)
	}()
	t.Cleanup(func() {
		stop()
		_ = toProxy.Close()
		<-ended
	})
	links := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if _, link, ok := strings.Cut(lines.Text(), "waits for approval at "); ok {
				links <- strings.Fields(link)[0]
			}
		}
	}()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete_entities","arguments":{"entityNames":["Ada"]}}}`,
	} {
		go func() { fmt.Fprintln(toProxy, line) }()
		if !strings.Contains(line, "initialize\"") {
			continue
		}
		if !bufio.NewScanner(fromProxy).Scan() {
			t.Fatal("no answer")
		}
	}
	decide(t, <-links)
	var answer struct {
		Result struct {
			IsError bool `json:"isError"`
		} `json:"result"`
	}
	if err := json.NewDecoder(fromProxy).Decode(&answer); err != nil || answer.Result.IsError {
		t.Errorf("got %+v, %v", answer, err)
	}
}

// decide opens the link as a browser does, and presses the button for yes.
func decide(t *testing.T, link string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	page := func(res *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s %v\n%s", res.Status, err, text)
		}
		return string(text)
	}
	where, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	press := func(text, button string) string {
		t.Helper()
		form := regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>`)
		for _, f := range form.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(f[2], button) {
				continue
			}
			values := url.Values{}
			for _, field := range regexp.MustCompile(`<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"`).FindAllStringSubmatch(f[2], -1) {
				values.Set(field[1], field[2])
			}
			if b := regexp.MustCompile(`<button[^>]*name="([^"]*)"[^>]*value="([^"]*)"[^>]*>[^<]*` + button).FindStringSubmatch(f[2]); b != nil {
				values.Set(b[1], b[2])
			}
			to, err := where.Parse(strings.ReplaceAll(f[1], "&amp;", "&"))
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to.String(), strings.NewReader(values.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Origin", where.Scheme+"://"+where.Host)
			return page(browser.Do(req)) //nolint:bodyclose // page closes it
		}
		t.Fatalf("there is no button %q on\n%s", button, text)
		return ""
	}
	text := page(browser.Get(link)) //nolint:bodyclose // page closes it
	text = press(text, "Go in")
	list, err := where.Parse("/approvals/")
	if err != nil {
		t.Fatal(err)
	}
	// The line with the link is written before the question stands on the page.
	for end := time.Now().Add(time.Minute); !strings.Contains(text, "Approve") && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text = page(browser.Get(list.String())) //nolint:bodyclose // page closes it
	}
	press(text, "Approve")
}
