package command_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials/credentialstest"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// links passes on each address of a page to sign in that is written to it.
type links struct {
	mu   sync.Mutex
	text strings.Builder
	seen map[string]bool
	each func(page string)
}

var signInPage = regexp.MustCompile(`http://127\.0\.0\.1:\d+/sign-in/[A-Z0-9]+ `)

func (l *links) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	for _, page := range signInPage.FindAllString(l.text.String(), -1) {
		if !l.seen[page] {
			l.seen[page] = true
			go l.each(strings.TrimSpace(page))
		}
	}
	return len(p), nil
}

func (l *links) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// One person starts the proxy in front of a server that wants OAuth: the first client waits until the page was used, the
// next one needs none, and after a revocation a call names the page.
func TestProxyOfOnePersonSignsIn(t *testing.T) {
	server := credentialstest.New(t, true)
	dir := filepath.Join(t.TempDir(), "credentials")
	signedIn := make(chan string, 10)
	run := func() (*mcp.ClientSession, *links) {
		errs := &links{seen: map[string]bool{}, each: func(page string) {
			_, text := credentialstest.SignIn(t, server.Browser(t, "ann", nil), page)
			signedIn <- text
		}}
		ours, theirs := io.Pipe()
		answers, out := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			ended <- command.Run(context.Background(), []string{"proxy", "--approve", "deny", "--reach", "none", "--credentials", dir, "--name", "crm", server.URL}, ours, out, errs)
		}()
		cs := mcptest.Dial(t, mcptest.NewClient(), &mcp.IOTransport{Reader: answers, Writer: theirs}, mcptest.Legacy)
		t.Cleanup(func() {
			_ = cs.Close()
			_ = theirs.Close()
			mcptest.Wait(t, "the proxy to end", ended)
		})
		return cs, errs
	}
	user := func(cs *mcp.ClientSession) string {
		res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "get_user"})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	first, errs := run()
	if got := user(first); got != "ann" {
		t.Errorf("got %q, %s", got, errs)
	}
	if text := mcptest.Wait(t, "the page", signedIn); !strings.Contains(text, "Signed in for crm") {
		t.Errorf("the page shows %s", text)
	}
	second, errs := run()
	if got := user(second); got != "ann" || errs.String() != "" {
		t.Errorf("the next client: got %q, %s", got, errs)
	}
	if _, out, _ := told(t, "credentials", "list", "--credentials", dir); !strings.Contains(out, server.URL) || strings.Contains(out, "access-") {
		t.Errorf("the list: %s", out)
	}
	if code, out, text := told(t, "credentials", "revoke", "--credentials", dir, server.URL); code != 0 || !strings.Contains(out, "revoked: "+server.URL) {
		t.Errorf("got %d, %s, %s", code, out, text)
	}
	if left := server.Secrets(); len(left) != 0 {
		t.Errorf("%d tokens still count at the issuer", len(left))
	}
	if code, _, text := told(t, "credentials", "revoke", "--credentials", dir, server.URL); code != 1 || !strings.Contains(text, "is not signed in at") {
		t.Errorf("the second time: got %d, %s", code, text)
	}
	if got := user(second); !strings.Contains(got, "Ask the user to open http://127.0.0.1:") {
		t.Errorf("after the revocation: got %q", got)
	}
	if got := mcptest.Wait(t, "the page", signedIn); !strings.Contains(got, "Signed in for crm") {
		t.Errorf("the page shows %s", got)
	}
	if got := user(second); got != "ann" {
		t.Errorf("after the second page: got %q", got)
	}
}

// The command signs in without a client, and nothing is made for a server at which nobody signs in.
func TestCredentialsAdd(t *testing.T) {
	server := credentialstest.New(t, false)
	dir := filepath.Join(t.TempDir(), "credentials")
	over := make(chan string, 1)
	errs := &links{seen: map[string]bool{}, each: func(page string) {
		_, text := credentialstest.SignIn(t, server.Browser(t, "ann", nil), page)
		over <- text
	}}
	var out strings.Builder
	t.Setenv("PATH", t.TempDir()) // no browser
	if code := command.Run(t.Context(), []string{"credentials", "add", "--credentials", dir, server.URL}, strings.NewReader(""), &out, errs); code != 0 || !strings.Contains(out.String(), "signed in: "+server.URL) {
		t.Errorf("got %d, %s, %s", code, out.String(), errs)
	}
	mcptest.Wait(t, "the page", over)
	unused := filepath.Join(t.TempDir(), "unused")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"add", "--credentials", unused, "--", "server"}, "is a command"},
		{[]string{"revoke", "--credentials", unused}, "--all"},
		{[]string{"revoke", "--credentials", unused, "--all"}, "signed in nowhere"},
		{[]string{"list", "--credentials", unused, "--oauth", "x"}, "no flag --oauth"},
	} {
		if code, _, text := told(t, append([]string{"credentials"}, c.args...)...); code == 0 || !strings.Contains(text, c.want) {
			t.Errorf("%q: got %d, %s", c.args, code, text)
		}
	}
	if _, err := os.Stat(unused); err == nil {
		t.Error("a folder was made for nothing")
	}
}

// What replicas share is in Redis or in PostgreSQL, sealed: the commands work as over a folder, and not without a key.
func TestCredentialsOfReplicas(t *testing.T) {
	stores := map[string]string{"Redis": redistest.New(t).URL(), "PostgreSQL": postgrestest.New(t).URL()}
	t.Setenv("PATH", t.TempDir()) // no browser
	for name, url := range stores {
		t.Run(name, func(t *testing.T) {
			t.Setenv("FAIRLEAD_STORE_KEY", "")
			if code, _, text := told(t, "credentials", "list", "--credentials", url); code == 0 || !strings.Contains(text, "FAIRLEAD_STORE_KEY is not set") {
				t.Errorf("without a key: got %d, %s", code, text)
			}
			t.Setenv("FAIRLEAD_STORE_KEY", strings.Repeat("0f", 32))
			server := credentialstest.New(t, false)
			errs := &links{seen: map[string]bool{}, each: func(page string) { credentialstest.SignIn(t, server.Browser(t, "ann", nil), page) }}
			var out strings.Builder
			if code := command.Run(t.Context(), []string{"credentials", "add", "--credentials", url, server.URL}, strings.NewReader(""), &out, errs); code != 0 {
				t.Fatalf("got %d, %s, %s", code, out.String(), errs)
			}
			if code, list, text := told(t, "credentials", "list", "--credentials", url); code != 0 || !strings.Contains(list, server.URL) {
				t.Errorf("got %d, %s, %s", code, list, text)
			}
			if code, gone, text := told(t, "credentials", "revoke", "--credentials", url, "--all"); code != 0 || !strings.Contains(gone, "revoked: "+server.URL) {
				t.Errorf("got %d, %s, %s", code, gone, text)
			}
			if code, list, text := told(t, "credentials", "list", "--credentials", url); code != 0 || strings.Contains(list, server.URL) {
				t.Errorf("after the revocation: got %d, %s, %s", code, list, text)
			}
		})
	}
}
