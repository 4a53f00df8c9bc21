package reach_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
)

func request(t *testing.T, scope string) hitl.Request {
	t.Helper()
	tool, err := middleware.NewTool("files", mcptest.Tool("delete<!channel>\n", ""), annotation.Destructive())
	if err != nil {
		t.Fatal(err)
	}
	return hitl.Request{Tool: tool, Scope: scope, Arguments: []byte(`{"path":"secret.txt"}`), Deadline: time.Date(2026, 7, 28, 15, 4, 5, 0, time.UTC)}
}

// A log that a test can read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) has(text string) func() bool {
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.b.String(), text)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// The desktop is told of each question, and the browser opened once for each client. The
// commands get texts that mean nothing to them.
func TestDesktopAndBrowser(t *testing.T) { //nolint:paralleltest // it sets PATH
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: the commands are Linux's")
	}
	dir := t.TempDir()
	for _, name := range []string{"notify-send", "xdg-open"} {
		script := "#!/bin/sh\nfor a; do last=$a; done\nprintf '%s\\n' \"" + name + " $last\" >> " + dir + "/told\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	told := func(n int) func() bool {
		return func() bool {
			text, _ := os.ReadFile(filepath.Join(dir, "told"))
			return strings.Count(string(text), "\n") == n
		}
	}
	w := &reach.Ways{Desktop: true, Browser: true, Logger: slog.New(slog.DiscardHandler)}
	for i, scope := range []string{"a", "a", "b"} {
		w.Tell(request(t, scope), "http://127.0.0.1/"+scope)
		until(t, "the person to be told", told(i+1))
	}
	text, _ := os.ReadFile(filepath.Join(dir, "told"))
	want := "xdg-open http://127.0.0.1/a\nnotify-send \"files/delete&lt;!channel&gt;\\n\" (dangerous; 1 value, 10 bytes, 1 line) waits for approval until 15:04 UTC\nxdg-open http://127.0.0.1/b\n"
	if string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}
