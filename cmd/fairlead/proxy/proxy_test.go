package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	mcptest.Main(m, map[string]func() *mcp.Server{"things": things, "features": features, "watched": watched, "deep": deep})
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

// connect puts a proxy in front of the server of things, and a client before it.
func connect(t testing.TB, version string, o proxy.Options, client *mcp.ClientOptions) *front {
	t.Helper()
	f := &front{ledger: t.TempDir() + "/ledger", log: newLines(t), served: make(chan error, 1)}
	if o.Servers == nil {
		o.Servers = []proxy.Server{child(t, "things", ledgerKey+"="+f.ledger)}
	}
	o.Stderr = f.log
	o.Logger = slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := p.ServeLines(t.Context(), in, out)
		_ = out.Close()
		f.served <- err
	}()
	// The servers write to the ledger to their end, so that its folder can go only then.
	t.Cleanup(func() { mcptest.Wait(t, "the proxy to end", ended) })
	f.ClientSession = mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, client),
		&mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, version)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.log.String())
		}
	})
	return f
}

func (f *front) call(t testing.TB, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	res, err := f.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// text is the first text of a result.
func text(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) == 0 {
		t.Fatal("the result has no content")
	}
	return res.Content[0].(*mcp.TextContent).Text
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

func eachVersion(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func approve(yes bool) hitl.Confirmer {
	return hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		if yes {
			return hitl.Decision{Verdict: hitl.Approved, By: "test"}, nil
		}
		return hitl.Decision{Reason: "not today"}, nil
	})
}

func TestListsCallsAndRefuses(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version string) {
		f := connect(t, version, proxy.Options{}, nil)
		if got := f.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("the client speaks %s", got)
		}
		list, err := f.ListTools(mcptest.Context(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Equal(names, thingNames) {
			t.Errorf("got %v, want %v", names, thingNames)
		}
		if got := text(t, f.call(t, "list_things", nil)); got != "a, b" {
			t.Errorf("got %q", got)
		}
		res := f.call(t, "delete_thing", map[string]any{"id": "a"})
		if !res.IsError || !strings.Contains(text(t, res), "it was not approved") {
			t.Errorf("got %v %q, want an error that says why", res.IsError, text(t, res))
		}
		if got, want := ledgerOf(t, f.ledger), []string{"list {}"}; !slices.Equal(got, want) {
			t.Errorf("the server did %v, want %v", got, want)
		}
	})
}
