package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	if os.Getenv("FAIRLEAD_TEST_REAPS") != "" {
		reaps()
		return
	}
	mcptest.Main(programtest.Tests{M: m}, map[string]func() *mcp.Server{"things": things, "features": features, "watched": watched, "deep": deep, "conditional": conditional})
}

// ledgerKey names the file in which the server of things writes down what it did.
const ledgerKey = "FAIRLEAD_TEST_LEDGER"

// did writes a line to the ledger before anything else can happen.
func did(line string) {
	name := os.Getenv(ledgerKey)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		panic(err)
	}
}

// pidKey names the file in which the server of things writes down its process's number.
const pidKey = "FAIRLEAD_TEST_PID"

// goOn is what the name of the file adds to the ledger's that lets the server of things end what takes long.
const goOn = ".go-on"

// aliveSocket is what the name of the socket adds to the ledger's that is connected as long as the server of things lives.
const aliveSocket = ".alive"

var alive net.Conn

// things is a server whose tools read, delete, take long and die.
func things() *mcp.Server {
	s := mcptest.New()
	if name := os.Getenv(pidKey); name != "" {
		if err := os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			panic(err)
		}
	}
	if ledger := os.Getenv(ledgerKey); ledger != "" { // in a process of its own
		alive, _ = net.Dial("unix", ledger+aliveSocket) // if a test listens
	}
	add := func(name, description string, handle func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)) {
		mcptest.Add(s, mcptest.Tool(name, description), handle)
	}
	add("list_things", "Lists the things.", func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		did("list " + string(arguments))
		return mcptest.Text("a, b"), nil
	})
	add("delete_thing", "Deletes a thing.", func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		did("delete " + string(arguments))
		return mcptest.Text("it is gone"), nil
	})
	add("delete_slowly", "Deletes a thing.", func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		did("delete " + string(arguments))
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			if _, err := os.Stat(os.Getenv(ledgerKey) + goOn); err == nil {
				break
			}
			if ctx.Err() != nil {
				did("cancelled " + string(arguments))
				break
			}
		}
		return mcptest.Text("it is gone"), nil
	})
	add("delete_and_die", "Deletes a thing.", func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		did("delete " + string(arguments))
		os.Exit(3)
		return nil, nil
	})
	return s
}

var thingNames = []string{"delete_and_die", "delete_slowly", "delete_thing", "list_things"}

// A front is a proxy with a client of the SDK before it.
type front struct {
	*mcp.ClientSession

	ledger string
	log    *lines
	served chan error
}

// lines is a log that a test can read while it is written.
type lines struct{ w *os.File }

func (l *lines) Write(p []byte) (int, error) { return l.w.Write(p) }
func (l *lines) String() string {
	text, _ := os.ReadFile(l.w.Name())
	return string(text)
}

func newLines(t testing.TB) *lines {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &lines{f}
}

// child is a server of this test binary's.
func child(t testing.TB, name string, env ...string) proxy.Server {
	t.Helper()
	exe, key := mcptest.Child(t, name)
	return proxy.Server{Name: name, Command: []string{exe}, Env: append(env, key)}
}

// ledgerOf reads what the server did.
func ledgerOf(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" })
}
