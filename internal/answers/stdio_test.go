//go:build unix

package answers_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/internal/answers"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endsBy is the environment variable that makes this binary a server. Its value is what ends the
// server.
const endsBy = "ANSWERS_TEST_ENDS_BY"

const statusOfSIGTERM = 15

func TestMain(m *testing.M) {
	switch by := os.Getenv(endsBy); by {
	case "":
		os.Exit(m.Run())
	case "SIGKILL":
		signal.Ignore(syscall.SIGTERM)
	default:
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		go func() {
			<-told
			os.Exit(statusOfSIGTERM)
		}()
	}
	fmt.Println(`{"jsonrpc":"2.0","method":"notifications/ready"}`)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if os.Getenv(endsBy) == "input" {
		os.Exit(0)
	}
	select {}
}

// A server's process ends by the end of its input, then by SIGTERM, then by SIGKILL.
func TestProcessEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		by       string
		patience time.Duration
		least    time.Duration // that the end takes
		want     string
	}{
		{"input", time.Minute, 0, "exit status 0"},
		{"SIGTERM", 100 * time.Millisecond, 100 * time.Millisecond, "exit status 15"},
		{"SIGKILL", 100 * time.Millisecond, 200 * time.Millisecond, "signal: killed"},
	} {
		t.Run(tt.by, func(t *testing.T) {
			t.Parallel()
			server := exec.CommandContext(t.Context(), os.Args[0])
			server.Env = append(os.Environ(), endsBy+"="+tt.by)
			conn, err := answers.Transport(&mcp.CommandTransport{Command: server, TerminateDuration: tt.patience}, nil).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(t.Context()); err != nil { // it is ready
				t.Fatal(err)
			}
			begin := time.Now()
			err = conn.Close()
			if took := time.Since(begin); took < tt.least || took > 30*time.Second {
				t.Errorf("the end took %v, want at least %v", took, tt.least)
			}
			if got := server.ProcessState.String(); got != tt.want {
				t.Errorf("the process ended by %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}
