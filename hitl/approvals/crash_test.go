//go:build unix

package approvals_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The names of what a process that is to be killed gets by its environment.
const (
	crashDir  = "FAIRLEAD_CRASH_DIR"
	crashWork = "FAIRLEAD_CRASH_WORK"
	crashAt   = "FAIRLEAD_CRASH_AT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		at, _ := strconv.Atoi(os.Getenv(crashAt))
		if err := victim(dir, os.Getenv(crashWork), at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A deadly file kills its process at one of four points of each write: before it,
// in its middle, when the disk has not taken it, and when it has.
type deadly struct {
	*os.File

	left int // points until the end, 0 for never
}

func (d *deadly) point() {
	if d.left--; d.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (d *deadly) Write(b []byte) (int, error) {
	d.point()
	half := len(b) / 2
	if _, err := d.File.Write(b[:half]); err != nil {
		return 0, err
	}
	d.point()
	n, err := d.File.Write(b[half:])
	d.point()
	return half + n, err
}

func (d *deadly) Sync() error {
	err := d.File.Sync()
	d.point()
	return err
}

// victim opens the store, makes calls, and prints how the log says what was open.
func victim(dir, work string, at int) error {
	var log bytes.Buffer
	store, err := approvals.OpenFileThrough(filepath.Join(dir, "approvals.jsonl"), slog.New(slog.NewTextHandler(&log, nil)),
		func(f *os.File) approvals.Sink { return &deadly{File: f, left: at} })
	if err != nil {
		return err
	}
	for _, a := range store.Interrupted() {
		if !strings.Contains(log.String(), a.ID) {
			return fmt.Errorf("the log does not say that %s is open", a.ID)
		}
		if err := store.Advance(context.Background(), a.ID, approvals.Change{To: approvals.Spent}); !errors.Is(err, approvals.ErrNoEffect) {
			return fmt.Errorf("%s, which was %s, could be spent after the restart: %w", a.ID, a.State, err)
		}
	}
	h := &host{dir: dir, prefix: work, says: work == "first"}
	guarded := guard.New(h, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil })
	h.caller = hitl.New(h, hitl.Options{Store: store, Remember: hitl.Always, AlwaysAtOnce: true})(middleware.ToolCallerFunc(
		func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := guarded.CallTool(ctx, call)
			if middleware.NotSent(err) { // once more, with the same yes
				return guarded.CallTool(ctx, call)
			}
			return res, err
		}))
	if work != "idle" {
		if err := h.work(); err != nil {
			return err
		}
	}
	return store.Close()
}

// A host pays, and keeps a ledger of what was paid.
type host struct {
	dir, prefix string
	says        bool
	caller      middleware.ToolCaller
	attempts    int
}

// work makes five calls: one that is approved, one that is denied, one whose yes is
// to be remembered, the same again, and one that is not sent at first.
func (h *host) work() error {
	tool, err := middleware.NewTool("bank", &mcp.Tool{Name: "pay"}, annotation.Destructive())
	if err != nil {
		return err
	}
	for i, to := range []string{"ann", "mallory", "rent", "rent", "busy"} {
		call := middleware.Call{ID: fmt.Sprintf("%s-%d-%s", h.prefix, i, to), Tool: tool, Arguments: fmt.Appendf(nil, `{"to":%q}`, to)}
		_, err := h.caller.CallTool(context.Background(), call)
		denied := errors.Is(err, hitl.ErrDenied)
		if want := to == "mallory" || !h.says && to != "rent"; err != nil && !denied || h.says && denied != want {
			return fmt.Errorf("%s: %w", call.ID, err)
		}
	}
	return nil
}

func (h *host) Confirm(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	switch {
	case !h.says || strings.Contains(r.CallID, "mallory"):
		return hitl.Decision{}, nil
	case strings.Contains(r.CallID, "rent"):
		return hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always, By: "ann"}, nil
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
}

type notSent struct{}

func (notSent) Error() string { return "busy" }
func (notSent) NotSent() bool { return true }

func (h *host) CallTool(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if h.attempts++; strings.HasSuffix(call.ID, "first-4-busy") && h.attempts == 4 {
		return nil, notSent{}
	}
	ledger, err := os.OpenFile(filepath.Join(h.dir, "ledger"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer ledger.Close()
	_, err = fmt.Fprintln(ledger, call.ID)
	return &mcp.CallToolResult{}, err
}

// kill runs a victim and reports whether it was killed at the point given.
func kill(t *testing.T, dir, work string, at int) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", crashDir+"="+dir, crashWork+"="+work, crashAt+"="+strconv.Itoa(at))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true
	}
	t.Fatalf("%s at %d: %v: %s", work, at, err, out)
	return false
}

func paid(t *testing.T, dir string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "ledger"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(raw))
}

// checkFile compares the file as the dead process left it with what was executed:
// once each, and only what had been written down as spent.
func checkFile(t *testing.T, dir string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "approvals.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	callOf, spent := make(map[string]string), make(map[string]int)
	for text := range strings.Lines(string(raw)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			if strings.HasSuffix(text, "\n") {
				t.Fatalf("a whole line is damaged: %s", text)
			}
			break
		}
		switch {
		case l.Approval != nil:
			callOf[l.Approval.ID] = l.Approval.CallID
		case l.Op == "advanced" && l.Change.To == approvals.Spent:
			spent[callOf[l.ID]]++
		}
	}
	executed := make(map[string]int)
	for _, id := range paid(t, dir) {
		executed[id]++
	}
	for id, n := range executed {
		if n != 1 || spent[id] != 1 {
			t.Errorf("%s was executed %d times and written down as spent %d times, want 1 and 1", id, n, spent[id])
		}
	}
	if n := executed["first-1-mallory"]; n != 0 {
		t.Errorf("what was denied was executed")
	}
}

// Killed at every point of every write, while it works and again while it
// recovers: nothing executes by itself, no grant is spent twice, and the log says
// what was open.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	every := longtest.Every(t, 6) // it starts some hundred processes
	whole := t.TempDir()
	if kill(t, whole, "first", 0) {
		t.Fatal("it was killed")
	}
	if got := strings.Join(paid(t, whole), " "); got != "first-0-ann first-2-rent first-3-rent first-4-busy" {
		t.Fatalf("without a kill it paid %q", got)
	}
	kills := 0
	for at := 1; ; at += every {
		dir := t.TempDir()
		if !kill(t, dir, "first", at) {
			break
		}
		kills++
		checkFile(t, dir)
		before := len(paid(t, dir))
		recoveries := 1
		for kill(t, dir, "idle", recoveries) {
			recoveries++
		}
		kills += recoveries - 1
		checkFile(t, dir)
		if got := len(paid(t, dir)); got != before {
			t.Errorf("B237: killed at point %d: %d executions after the restart, %d before", at, got, before)
		}
		// The model asks again, and now the answer is no: what was agreed to before the
		// end buys nothing, save what was to be remembered.
		if kill(t, dir, "second", 0) {
			t.Fatal("it was killed")
		}
		checkFile(t, dir)
		for _, id := range paid(t, dir)[before:] {
			if !strings.HasSuffix(id, "-rent") {
				t.Errorf("B237: killed at point %d: %s was executed after the restart", at, id)
			}
		}
	}
	if kills < 60/every {
		t.Errorf("only %d kills", kills)
	}
	t.Logf("%d kills", kills)
}
