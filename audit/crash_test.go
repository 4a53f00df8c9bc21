//go:build unix

package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The names of what a process that is to be killed gets by its environment.
const (
	crashDir = "FAIRLEAD_CRASH_DIR"
	crashAt  = "FAIRLEAD_CRASH_AT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		at, _ := strconv.Atoi(os.Getenv(crashAt))
		if err := victim(dir, at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// deadly files kill their process at one of the points of each write: before it, in
// its middle, after it, and after the disk has taken it.
type deadly struct {
	*os.File

	left *int // points until the end, of both files
}

func (d deadly) point() {
	if *d.left--; *d.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (d deadly) Write(b []byte) (int, error) {
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

func (d deadly) WriteAt(b []byte, at int64) (int, error) {
	n, err := d.File.WriteAt(b, at) // one write of less than a sector
	d.point()
	return n, err
}

func (d deadly) Sync() error {
	err := d.File.Sync()
	d.point()
	return err
}

// victim opens the file and makes calls, which all write to a ledger.
func victim(dir string, at int) error {
	f, err := audit.OpenFileThrough(filepath.Join(dir, "calls.jsonl"), nil, func(f *os.File) audit.Disk { return deadly{f, &at} })
	if err != nil {
		return err
	}
	trail := audit.New(f, audit.Options{})
	pays := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		ledger, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer ledger.Close()
		_, err = fmt.Fprintln(ledger, call.ID)
		return textResult("paid"), err
	})
	caller := trail.Record(trail.Intent(pays))
	tools := make([]*middleware.Tool, 0, 3)
	for name, a := range map[string]annotation.Annotations{
		"pay": annotation.Destructive(), "add": annotation.Write(), "salary": with(annotation.Write(), annotation.Restricted, annotation.Yes),
	} {
		made, err := middleware.NewTool("bank", &mcp.Tool{Name: name}, a)
		if err != nil {
			return err
		}
		tools = append(tools, made)
	}
	for i := range 4 {
		for _, made := range tools {
			call := middleware.Call{ID: fmt.Sprintf("%d-%d-%s", os.Getpid(), i, made.Name()), Tool: made, Arguments: json.RawMessage(`{"to":"ann"}`)}
			if _, err := caller.CallTool(context.Background(), call); err != nil {
				return err
			}
		}
	}
	return f.Close()
}

// kill runs a victim and reports whether it was killed at the point given.
func kill(t *testing.T, dir string, at int) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", crashDir+"="+dir, crashAt+"="+strconv.Itoa(at))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true
	}
	t.Fatalf("at %d: %v: %s", at, err, out)
	return false
}

// One file, and process after process that is killed in the middle of writing to it, at every
// point in turn: no record is ever lost or joined to another, executed calls have an intent, and
// in the end each call has one end.
func TestB273KilledAtEveryPointOfWriting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "calls.jsonl")
	const points = 60
	every, kills := longtest.Every(t, 5), 0
	var before []byte
	for at := 1; at <= points; at += every {
		if !kill(t, dir, at) {
			t.Fatalf("it was not killed at %d", at)
		}
		kills++
		if _, err := os.Stat(name + ".head"); err != nil {
			t.Fatal(err)
		}
		got := verify(t, name)
		if got.State != audit.Whole && got.State != audit.Interrupted {
			t.Fatalf("killed at %d: %s: %s", at, got.State, got.Problem)
		}
		raw := read(t, name)
		if !bytes.HasPrefix(raw, before) {
			t.Fatalf("killed at %d: earlier contents have changed", at)
		}
		before = raw
		checkLedger(t, dir, raw)
	}
	if kill(t, dir, 0) {
		t.Fatal("it was killed")
	}
	got := verify(t, name)
	if got.State != audit.Whole || len(got.Open) != 0 || got.Recovered == 0 {
		t.Fatalf("in the end: %+v", got)
	}
	intents, ends := checkLedger(t, dir, read(t, name))
	for id, n := range intents {
		if n != 1 || ends[id] != 1 {
			t.Errorf("%s has %d intents and %d ends", id, n, ends[id])
		}
	}
	t.Logf("%d kills, %d records, %d starts that found something to mend, %d calls", kills, got.Records, got.Recovered, len(intents))
}

// checkLedger compares the file with what was executed.
func checkLedger(t *testing.T, dir string, raw []byte) (intents, ends map[string]int) {
	t.Helper()
	intents, ends = make(map[string]int), make(map[string]int)
	for text := range strings.Lines(string(raw)) {
		var r audit.Record
		if json.Unmarshal([]byte(text), &r) != nil {
			continue // torn; Verify has looked at these
		}
		switch r.Kind {
		case audit.Intent:
			intents[r.Call]++
		case audit.End:
			ends[r.Call]++
		}
	}
	ledger, err := os.ReadFile(filepath.Join(dir, "ledger"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for id := range strings.FieldsSeq(string(ledger)) {
		if intents[id] != 1 {
			t.Errorf("%s was executed and has %d intents", id, intents[id])
		}
	}
	return intents, ends
}
