package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/connect"
	"github.com/fairlead-go/fairlead/cmd/fairlead/hook"
	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/hooksocket"
	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/sockets"
	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/spf13/cobra"
)

// hookFlags are the flags of fairlead hook.
type hookFlags struct {
	proxyFlags

	client, named  string // the agent, and the socket
	explain, serve bool
	patience, idle time.Duration
	proxied        []string
}

// Exit code 2 blocks the call in every agent, and standard error is the reason. Other codes do not block.
const exitBlocks = 2

func hookCommand() *cobra.Command {
	var o hookFlags
	cmd := &cobra.Command{
		Use:   "hook --client NAME",
		Short: "Answer the hooks of a coding agent, for its shell, edits, fetches and MCP tools",
		Long: `Answer one event of a coding agent's hooks: read it from standard input, and write the
agent's form of the decision. Reads are allowed. The agent asks its user about other calls,
with Fairlead's reason in its dialog, or, where it has no question for hooks, the call is
denied. Results and the user's words are taken in, so that a later question shows where a
value came from.

A process that the first hook starts keeps the sessions. It ends by itself. An event that
cannot be judged blocks the call, with exit code 2.`,
		Example: `  fairlead hook --client claude-code --policy policy.json --audit calls.jsonl < event.json
  fairlead hook --client codex --explain < event.json`,
		Args: cobra.NoArgs,
		RunE: o.run,
	}
	f := cmd.Flags()
	f.StringVar(&o.client, "client", "", "the agent: "+strings.Join(hook.Clients(), ", "))
	f.StringVar(&o.policy, "policy", "", "a policy `FILE` (see fairlead policy); nothing is allowed if anything in it is wrong")
	f.StringVar(&o.lock, "lock", "", "a lock `FILE` (see fairlead lock), by whose definitions the tools of its MCP servers are judged")
	f.StringVar(&o.audit, "audit", "", "record each call in a `FILE`")
	f.StringVar(&o.store, "store", "", "a `FOLDER` that keeps approvals")
	f.StringSliceVar(&o.approve, "approve", nil, "who is asked in the place of the agent's dialog: web or deny (default the agent)")
	f.StringVar(&o.inbox, "inbox", anyPort, "the loopback `ADDRESS` of the page where calls are approved")
	f.StringSliceVar(&o.reach, "reach", []string{"desktop"}, "how you are notified of a call that waits on that page: desktop, browser (opened once) or none")
	f.StringVar(&o.webhook, "webhook", "", "an https `URL` to post a notification to as well; "+hookVariable+" has the key that signs it")
	f.BoolVar(&o.observe, "observe", false, "allow what the policy does not deny, and record what would have been decided; needs --audit")
	f.StringSliceVar(&o.proxied, "proxied", nil, "MCP `SERVERS` that the agent reaches through fairlead proxy, by the agent's names: the proxy decides about their calls")
	f.BoolVar(&o.explain, "explain", false, "print what would be decided and why, and decide nothing")
	f.DurationVar(&o.patience, "patience", 50*time.Second, "how long an event may wait for a decision; less than the agent's timeout")
	f.DurationVar(&o.idle, "idle", time.Hour, "how long the process that keeps the sessions stays without an event")
	f.StringVar(&o.named, "socket", "", "the absolute `PATH` of the socket of the process that keeps the sessions, in a folder of yours alone; fairlead-hook names it")
	f.BoolVar(&o.serve, "serve", false, "be that process; hooks start it themselves")
	return cmd
}

func (o *hookFlags) run(cmd *cobra.Command, _ []string) error {
	if o.observe && o.audit == "" {
		return blocks(errors.New("--observe records what would have been done; name the file by --audit FILE"))
	}
	socket, err := o.socket()
	switch {
	case err != nil && o.serve:
		return err
	case err != nil && o.named != "":
		return blocks(err)
	}
	if o.serve {
		return o.serveHooks(cmd, socket)
	}
	event, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 64<<20))
	if err != nil {
		return blocks(fmt.Errorf("the event cannot be read: %w", err))
	}
	if o.explain {
		return o.explainEvent(cmd, event)
	}
	ctx, stop := context.WithTimeout(cmd.Context(), o.patience+5*time.Second)
	defer stop()
	out, err := o.answer(ctx, cmd, socket, event)
	if err != nil {
		return blocks(err)
	}
	_, err = cmd.OutOrStdout().Write(out)
	return blocks(err)
}

// blocks ends the program so that the agent does not make the call.
func blocks(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitBlocks, fmt.Errorf(hooksocket.NotJudged+": %w", err)}
}

// answer has the process that keeps the sessions answer an event, and starts it if there is none. Where it cannot be
// started, the event is answered here.
func (o *hookFlags) answer(ctx context.Context, cmd *cobra.Command, socket string, event []byte) ([]byte, error) {
	if socket != "" {
		out, err := hooksocket.Dial(ctx, socket, o.client, event)
		if !errors.Is(err, hooksocket.ErrUnreachable) {
			return out, err
		}
		if o.start(ctx) == nil {
			out, err = hooksocket.Dial(ctx, socket, o.client, event)
			if !errors.Is(err, hooksocket.ErrUnreachable) {
				return out, err
			}
		}
	}
	guard, end, err := o.guard(cmd, false)
	if err != nil {
		return nil, err
	}
	defer end()
	return guard.Handle(ctx, o.client, event)
}

// explainEvent prints the decision about an event and the class of its call.
func (o *hookFlags) explainEvent(cmd *cobra.Command, event []byte) error {
	o.audit, o.observe = "", false
	guard, end, err := o.guard(cmd, false)
	if err != nil {
		return atFault(err)
	}
	defer end()
	text, err := guard.Explain(cmd.Context(), o.client, event)
	if err != nil {
		return atFault(err)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text)
	return written("answer", err)
}

// socket returns the name of the socket of the process with these flags and this program: another program, or other
// flags, have a process of their own, so that an old one does not answer for a new one.
func (o *hookFlags) socket() (string, error) {
	if o.named != "" {
		dir := filepath.Dir(o.named)
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("--socket %s: want an absolute path", o.named)
		}
		return o.named, owned.Private(dir)
	}
	dir, err := sockets.Folder()
	if err != nil {
		return "", err
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(program)
	if err != nil {
		return "", err
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	about := []string{program, info.ModTime().String(), version()}
	for _, file := range []string{o.policy, o.lock, o.audit, o.store} {
		if file != "" && !filepath.IsAbs(file) {
			file = filepath.Join(folder, file)
		}
		about = append(about, file)
	}
	name := sha256.Sum256(fmt.Appendf(nil, "%q %q %v", about, o.words(), os.Getuid()))
	return filepath.Join(dir, hex.EncodeToString(name[:8])+".hook"), nil
}

// words are the flags that the process that keeps the sessions is started with.
func (o *hookFlags) words() []string {
	words := []string{"hook", "--serve"}
	for _, flag := range []struct{ name, value string }{
		{"--inbox", o.inbox}, {"--patience", o.patience.String()}, {"--idle", o.idle.String()}, {"--policy", o.policy}, {"--lock", o.lock}, {"--audit", o.audit},
		{"--store", o.store}, {"--webhook", o.webhook}, {"--approve", strings.Join(o.approve, ",")}, {"--reach", strings.Join(o.reach, ",")}, {"--proxied", strings.Join(o.proxied, ",")}, {"--socket", o.named},
	} {
		if flag.value != "" {
			words = append(words, flag.name+"="+flag.value)
		}
	}
	if o.observe {
		words = append(words, "--observe")
	}
	return words
}

// startTime is how long the process may take to be there, on a machine that is busy: an event that is decided without it
// has no sources, and its record no outcome. One that ends before is noticed at once.
const startTime = 15 * time.Second

// start starts the process that keeps the sessions, and waits until it answers or ends.
func (o *hookFlags) start(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	ready, told, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	c := exec.CommandContext(context.WithoutCancel(ctx), program, o.words()...)
	c.Stdout = told
	detach(c)
	if err := errors.Join(c.Start(), told.Close()); err != nil {
		return err
	}
	go func() { _ = c.Wait() }()
	_ = ready.SetReadDeadline(time.Now().Add(startTime))
	defer context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Now()) })()
	_, err = ready.Read(make([]byte, 1))
	return err
}

// serveHooks answers hooks until no event has come for a time.
func (o *hookFlags) serveHooks(cmd *cobra.Command, socket string) error {
	listener, err := hook.Listen(cmd.Context(), socket)
	ready := func() {
		fmt.Fprintln(cmd.OutOrStdout(), "ready")
		if f, ok := cmd.OutOrStdout().(*os.File); ok {
			_ = f.Close() // the hook that waits has gone, or has its word
		}
	}
	if errors.Is(err, os.ErrExist) {
		ready() // another one was faster
		return nil
	}
	if err != nil {
		return err
	}
	guard, end, err := o.guard(cmd, true)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer end()
	ready()
	return guard.Serve(cmd.Context(), listener, o.idle)
}

// guard returns a guard with the policy, the store and the record of the flags, and what closes them.
func (o *hookFlags) guard(cmd *cobra.Command, stays bool) (g *hook.Guard, end func(), err error) {
	var ends []func() error
	closeAll := func() {
		for _, e := range slices.Backward(ends) {
			_ = e()
		}
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	options := hook.Options{Observe: o.observe, Proxied: o.proxied, Patience: o.patience, Logger: log}
	if o.policy != "" {
		live, err := policy.OpenLive(o.policy, log)
		if err != nil {
			return nil, nil, err
		}
		options.Policy = live.Current
	}
	options.Lock, options.Configured = o.accepted(options.Policy), configured
	if _, err := options.Lock(); err != nil {
		return nil, nil, err
	}
	if o.audit != "" {
		file, err := openRecord(o.audit, log)
		if err != nil {
			return nil, nil, err
		}
		ends = append(ends, file.Close)
		options.Audit, options.Doubt = file, inDoubt(file, nil, log)
	}
	waiting := inbox.Options{Logger: log, Store: approvals.NewMemory()}
	if o.store != "" {
		file, err := o.openFolder([]proxy.Server{{Name: "agents"}}, log)
		if err != nil {
			return nil, nil, fmt.Errorf("--store: %w", err)
		}
		ends = append(ends, file.Close)
		waiting.Store = file
		if options.Writes, err = proxy.OpenWrites(o.store, log); err != nil {
			return nil, nil, fmt.Errorf("--store: %w", err)
		}
		ends = append(ends, options.Writes.Close)
	}
	options.Store = waiting.Store
	if options.Confirm, err = o.confirmer(cmd, waiting, log, stays); err != nil {
		return nil, nil, err
	}
	if g, err = hook.New(options); err != nil {
		return nil, nil, err
	}
	ends = append(ends, func() error { g.Close(); return nil })
	return g, closeAll, nil
}

// configured returns the files of an agent with a server, and whether each starts the proxy. Without a home there are
// those of the project alone.
func configured(client, server, folder string) (files []string, proxied bool) {
	home, _ := os.UserHomeDir()
	proxied = true
	for _, c := range (connect.Machine{Home: home, System: runtime.GOOS, Env: os.Getenv}).Configured(client, server, folder) {
		files, proxied = append(files, c.Path), proxied && c.Proxied
	}
	return files, proxied
}

// accepted returns what reads the lock file of the flag, or of the policy as it is now, again once it has changed. One
// that cannot be used is an error, since it does not show what was accepted.
func (o *hookFlags) accepted(now func() (*policy.Policy, error)) func() (*pins.Lock, error) {
	var mu sync.Mutex
	var name string
	var seen [sha256.Size]byte
	var lock *pins.Lock
	return func() (*pins.Lock, error) {
		mu.Lock()
		defer mu.Unlock()
		in := ""
		if now != nil {
			p, err := now()
			if err != nil {
				return nil, err
			}
			in = p.Lock
		}
		file := o.file(o.lock, in)
		if file == "" {
			return nil, nil // no lock is not an empty one
		}
		text, err := os.ReadFile(file) //nolint:gosec // it is the file that the person named
		if sum := sha256.Sum256(text); err == nil && lock != nil && file == name && sum == seen {
			return lock, owned.File(file)
		} else if lock, err = loadLock(file); err == nil {
			name, seen = file, sum
		}
		return lock, err
	}
}

// confirmer returns who is asked in the place of the agent's dialog, nil for the agent.
func (o *hookFlags) confirmer(cmd *cobra.Command, waiting inbox.Options, log *slog.Logger, stays bool) (hitl.Confirmer, error) {
	nobody := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Reason: "nobody is asked, by --approve"}, nil
	})
	switch {
	case len(o.approve) == 0:
		return nil, nil //nolint:nilnil // nil is the agent
	case !stays || slices.Equal(o.approve, []string{"deny"}): // without the process that stays there is no page
		return nobody, nil
	case !slices.Equal(o.approve, []string{"web"}):
		return nil, fmt.Errorf("--approve %s: want web or deny", strings.Join(o.approve, ","))
	}
	ways, err := o.ways(log)
	if err != nil {
		return nil, err
	}
	return approvers(o.approve, &page{ctx: cmd.Context(), address: o.inbox, out: cmd.ErrOrStderr(), in: inbox.New(waiting), reach: ways}, nil)
}
