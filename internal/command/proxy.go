package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/internal/dial"
	"github.com/fairlead-go/fairlead/internal/policy"
	"github.com/fairlead-go/fairlead/internal/proxy"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/shell"
)

// proxyFlags are what the proxy is told on the command line.
type proxyFlags struct {
	name, policy, listen, audit, lock, inbox string
	approve, servers, scopes                 []string
	trust, readOnly, verbose                 bool
}

func proxyCommand() *cobra.Command {
	var o proxyFlags
	cmd := &cobra.Command{
		Use:   "proxy [flags] (URL | --server NAME=URL|COMMAND... | -- COMMAND [ARG...])",
		Short: "Serve MCP with the chain in front of the tools of servers",
		Long: `Serve MCP, on standard input and output or with --listen over streamable HTTP, with the
chain in front of the tools of one server or of several. Everything else of the protocol
passes untouched. Dangerous calls, and those of which nothing is known, wait for a person.`,
		Example: `  fairlead proxy -- npx -y @modelcontextprotocol/server-filesystem .
  fairlead proxy --approve web --audit calls.jsonl -- npx -y @modelcontextprotocol/server-memory
  fairlead proxy --listen 127.0.0.1:8808 https://example.com/mcp
  fairlead proxy --policy policy.json --server crm=https://crm.example/mcp --server 'files=npx -y @modelcontextprotocol/server-filesystem .'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() < 0 && len(args) > 1 {
				return errors.New("a server's command stands behind two hyphens: fairlead proxy -- COMMAND ARGS")
			}
			return o.run(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.name, "name", "server", "the `ID` by which policies and records know the one server")
	f.StringArrayVar(&o.servers, "server", nil, "one of several servers, as `NAME=URL` or NAME=COMMAND; tools are then called NAME__TOOL")
	f.StringVar(&o.policy, "policy", "", "a policy `FILE` (see fairlead policy); nothing starts if anything in it is wrong")
	f.StringVar(&o.listen, "listen", "", "serve streamable HTTP on a loopback `ADDRESS` in place of standard input and output")
	f.StringSliceVar(&o.approve, "approve", nil, "who is asked: elicit, web, terminal or deny; with several, the first answer wins (default elicit, then web)")
	f.StringVar(&o.inbox, "inbox", "127.0.0.1:0", "the loopback `ADDRESS` of the page where calls are approved")
	f.StringVar(&o.audit, "audit", "", "record each call in a `FILE`")
	f.StringVar(&o.lock, "lock", "", "refuse tools whose definitions are not those of a lock `FILE`")
	f.BoolVar(&o.trust, "trust", false, "believe what the servers declare")
	f.BoolVar(&o.readOnly, "read-only", false, "show and call only what reads")
	f.StringSliceVar(&o.scopes, "scope", nil, "what clients may do, such as crm.read or '*.read' (default everything)")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say more on standard error")
	return cmd
}

func (o *proxyFlags) run(cmd *cobra.Command, args []string) (err error) {
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
	p := proxy.Options{Trust: o.trust, ReadOnly: o.readOnly, Stderr: cmd.ErrOrStderr(), Logger: log}
	if p.Servers, err = o.targets(args); err != nil {
		return err
	}
	decided := new(policy.Policy)
	if o.policy != "" {
		live, err := policy.OpenLive(o.policy, log)
		if err != nil {
			return err
		}
		p.Policy, decided = live.Now, live.Now()
		for _, w := range decided.Warnings {
			log.Warn(w)
		}
	}
	for _, s := range o.scopes {
		p.Scopes = append(p.Scopes, catalog.Scope{Permission: s})
	}
	if name := o.file(o.lock, decided.Lock); name != "" {
		if p.Lock, err = catalog.LoadLock(name); err != nil {
			return fmt.Errorf("--lock: %w; make one with fairlead lock accept", err)
		}
	}
	if name := o.file(o.audit, decided.Audit); name != "" {
		file, err := audit.OpenFile(name, log)
		if err != nil {
			return fmt.Errorf("--audit: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		p.Audit = file
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	by := o.approve
	if len(by) == 0 {
		by = decided.By
	}
	if p.Confirm, err = approvers(ctx, by, o.inbox, cmd.ErrOrStderr(), log); err != nil {
		return err
	}
	served, err := proxy.New(p)
	if err != nil {
		return err
	}
	if o.listen != "" {
		err = served.ListenAndServe(ctx, o.listen, func(url string) { fmt.Fprintln(cmd.ErrOrStderr(), "fairlead: serving MCP at", url) })
	} else {
		err = served.ServeLines(ctx, cmd.InOrStdin(), cmd.OutOrStdout())
	}
	if _, unreachable := errors.AsType[*proxy.UnreachableError](err); unreachable {
		return &exitError{exitUnreachable, err}
	}
	return err
}

// file is a file that the command line names, or else the policy, beside itself.
func (o *proxyFlags) file(flag, inPolicy string) string {
	if flag != "" || inPolicy == "" || filepath.IsAbs(inPolicy) {
		return firstOf(flag, inPolicy)
	}
	return filepath.Join(filepath.Dir(o.policy), inPolicy)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// targets are the servers that the command line names.
func (o *proxyFlags) targets(args []string) ([]proxy.Server, error) {
	switch {
	case len(args) > 0 && len(o.servers) > 0:
		return nil, errors.New("name one server, or several with --server, and not both")
	case len(args) > 0:
		s, err := server(o.name, args)
		return []proxy.Server{s}, err
	case len(o.servers) == 0:
		return nil, errors.New("name a server: an URL, a command behind two hyphens, or several with --server NAME=URL|COMMAND")
	}
	var all []proxy.Server
	seen := make(map[string]bool)
	for _, text := range o.servers {
		name, target, ok := strings.Cut(text, "=")
		words, err := shell.Fields(target, nil)
		if !ok || name == "" || err != nil || len(words) == 0 {
			return nil, fmt.Errorf("--server %q is not NAME=URL or NAME=COMMAND", text)
		}
		if seen[name] {
			return nil, fmt.Errorf("--server: two servers are called %q; give each a name of its own", name)
		}
		seen[name] = true
		s, err := server(name, words)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func server(name string, target dial.Target) (proxy.Server, error) {
	if strings.ContainsAny(name, "/*?[] \t\n") || strings.Contains(name, "__") {
		return proxy.Server{}, fmt.Errorf("%q is no name for a server; use letters, digits and hyphens", name)
	}
	if len(target) == 1 && strings.Contains(target[0], "://") {
		if !strings.HasPrefix(target[0], "http://") && !strings.HasPrefix(target[0], "https://") {
			return proxy.Server{}, fmt.Errorf("%w: %q is no http or https URL", dial.ErrUsage, target[0])
		}
		return proxy.Server{Name: name, URL: target[0]}, nil
	}
	return proxy.Server{Name: name, Command: target}, nil
}
