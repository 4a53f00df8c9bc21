package command

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whoever interrupts the program has it end, whatever it waits for.
func TestInterruptEndsWhatWaitsForInput(t *testing.T) {
	t.Parallel()
	url, dir := lying(t), t.TempDir()
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"infer":     {[]string{"infer"}, exitFindings},
		"arguments": {[]string{"call", "get_account", "--arguments", "-", url}, exitUsage},
		"a class":   {[]string{"review", "--all", "--lock", filepath.Join(dir, "a.lock"), url}, exitFindings},
		"an answer": {[]string{"lock", "accept", "--lock", filepath.Join(dir, "a.lock"), url}, exitFindings},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			typed, keyboard := io.Pipe()
			t.Cleanup(func() { _ = keyboard.Close() })
			ended := make(chan int, 1)
			var out, errs bytes.Buffer
			go func() { ended <- Run(ctx, c.args, typed, &out, &errs) }()
			_, _ = keyboard.Write([]byte("y")) // which ends when somebody reads it
			interrupt()
			select {
			case code := <-ended:
				if code != c.code || c.code != exitOK && !strings.Contains(errs.String(), "fairlead: ") {
					t.Errorf("exit %d, want %d; stderr %q", code, c.code, errs.String())
				}
			case <-time.After(20 * time.Second):
				t.Error("it goes on")
			}
		})
	}
}
