package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/spf13/cobra"
)

// proxyFlags are the flags of fairlead proxy. The commands about its stores use some of them.
type proxyFlags struct {
	serverNames

	approvals string
	signIn    credentialFlags

	policy, listen, access, audit, syslog, lock, inbox, store, webhook string
	replicas                                                           int
	drain, auditAge                                                    time.Duration
	auditSize, inFlight                                                int64                                                                   // MB
	reload                                                             *policy.Live                                                            // nil without a policy
	observed                                                           func(system string) func(context.Context, string, time.Duration, error) // nil without metrics
	approve, scopes, reach                                             []string
	trust, noKnown, readOnly, annotate, observe, verbose, plain        bool
	headers                                                            []string
}

func proxyCommand() *cobra.Command {
	var o proxyFlags
	cmd := &cobra.Command{
		Use:   "proxy " + serverArgs,
		Short: "Serve MCP with the chain in front of the tools of servers",
		Long: `Serve MCP on standard input and output, or with --listen over streamable HTTP, with the
chain in front of the tools of one or several servers. The rest of the protocol passes
unchanged. Calls that are dangerous, or whose class is unknown, need a person's approval.

` + naming + `

With OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_METRICS_EXPORTER=prometheus and the other variables
of OpenTelemetry, spans and metrics of the calls are exported; with OTEL_LOGS_EXPORTER=otlp,
copies of the records of --audit as well.`,
		Example: `  fairlead proxy -- npx -y @modelcontextprotocol/server-filesystem .
  fairlead proxy --approve web --audit calls.jsonl -- npx -y @modelcontextprotocol/server-memory
  fairlead proxy --listen 127.0.0.1:8808 https://example.com/mcp
  fairlead proxy --policy policy.json --server crm=https://crm.example/mcp --server 'files=npx -y @modelcontextprotocol/server-filesystem .'`,
		RunE: o.run,
	}
	f := cmd.Flags()
	o.register(cmd)
	f.StringVar(&o.policy, "policy", "", "a policy `FILE` (see fairlead policy); nothing starts if anything in it is wrong")
	f.StringVar(&o.listen, "listen", "", "serve streamable HTTP on an `ADDRESS`, loopback without --access, instead of standard input and output")
	f.StringVar(&o.access, "access", "", "a `FILE` that says which users of other machines may use --listen, by tokens or certificates")
	f.StringArrayVar(&o.headers, "header", nil, "a header for the only server, which has an URL, as `NAME=VARIABLE` of the environment, or NAME=Bearer:VARIABLE (repeatable)")
	o.signIn.register(cmd)
	f.StringSliceVar(&o.approve, "approve", nil, "who is asked: elicit, web, terminal or deny; with several, the first answer wins (default elicit, then web)")
	f.StringVar(&o.inbox, "inbox", anyPort, "the loopback `ADDRESS` of the page where calls are approved")
	f.StringSliceVar(&o.reach, "reach", []string{"desktop"}, "how you are notified of a call that waits on that page: desktop, browser (opened once for each client) or none")
	f.StringVar(&o.webhook, "webhook", "", "an https `URL` to post a notification to as well; "+hookVariable+" has the key that signs it")
	f.StringVar(&o.audit, "audit", "", "record each call in a `FILE`")
	f.Int64Var(&o.auditSize, "audit-size", 0, "go on in a new file after so many `MB`; the old one gets a name with the time")
	f.Var((*period)(&o.auditAge), "audit-age", "go on in a new file when the first record is so old, such as 7d")
	f.StringVar(&o.syslog, "syslog", "", "send a copy of each record of --audit to a syslog server at an `ADDRESS`: unix:///dev/log, udp://HOST:514, tcp://HOST:PORT or tls://HOST:6514?ca=FILE")
	f.StringVar(&o.lock, "lock", "", "refuse tools whose definitions are not those of a lock `FILE`")
	f.BoolVar(&o.trust, "trust", false, "trust the annotations that servers declare, also where they lower a class")
	registerNoKnown(cmd, &o.noKnown)
	f.BoolVar(&o.readOnly, "read-only", false, "list and call only tools that are safe")
	f.BoolVar(&o.annotate, "annotate", false, "list the tools with the annotations that the chain goes by, for clients that decide by them")
	f.BoolVar(&o.observe, "observe", false, "ask nothing, and refuse only what the policy denies; --audit records what would have been done. It protects nothing")
	f.StringSliceVar(&o.scopes, "scope", nil, "what clients may do, such as crm.read or '*.read' (default everything)")
	f.StringVar(&o.store, "store", "", "a `FOLDER` that keeps approvals for all proxies in front of the same servers, or a Redis such as redis://localhost:6379/0, where these also share cache and rate limits")
	o.registerPlain(cmd)
	f.StringVar(&o.approvals, "approvals", "", "a PostgreSQL `URL`, such as postgres://localhost/fairlead, for approvals, their revocations and the history")
	f.DurationVar(&o.drain, "drain", drainTime, "how long calls may take to end after SIGTERM, an interrupt, or the end of the input")
	f.Int64Var(&o.inFlight, "in-flight", 0, "hold at most so many `MB` of what servers have sent until clients have it, at least 80 (default a quarter of GOMEMLIMIT, or 512)")
	f.IntVar(&o.replicas, "replicas", 1, "how many proxies share the store")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log more to standard error")
	for _, refuses := range []string{"read-only", "scope", "lock", "approve"} {
		cmd.MarkFlagsMutuallyExclusive("observe", refuses)
	}
	return cmd
}

// openPolicy reads the file of --policy, if there is one.
func (o *proxyFlags) openPolicy(p *proxy.Options, log *slog.Logger) (*policy.Policy, error) {
	if o.policy == "" {
		return new(policy.Policy), nil
	}
	live, err := policy.OpenLive(o.policy, log)
	if err != nil {
		return nil, err
	}
	p.Policy, o.reload = live.Now, live
	decided := live.Now()
	for _, w := range decided.Warnings {
		log.Warn(w)
	}
	return decided, unnamed(decided, p.Servers)
}

// openAccess reads the file of --access, if there is one, and returns the address of the page of approvals, "" for one
// on this machine.
func (o *proxyFlags) openAccess(p *proxy.Options, waiting *inbox.Options) (page string, err error) {
	switch {
	case o.access == "":
		return "", nil
	case o.listen == "":
		return "", errors.New("it is about the address of --listen; name one, such as --listen :8808")
	}
	if p.Access, err = access.Open(o.access); err != nil || len(p.Access.Approvers) == 0 {
		return "", err
	}
	waiting.User, waiting.Hosts = p.Access.Approver, p.Access.Hosts
	return "https://" + p.Access.Hosts[0] + "/approvals/", nil
}

// unnamed rejects a policy whose rules are about "server", which was the name of a server without one, since
// they would not count any more.
func unnamed(p *policy.Policy, servers []proxy.Server) error {
	const before = "server"
	if slices.ContainsFunc(servers, func(s proxy.Server) bool { return s.Name == before }) {
		return nil
	}
	lines := map[int]string{}
	for _, r := range p.Rules {
		lines[r.Line] = r.Tool.Server
	}
	for _, t := range p.Tools {
		lines[t.Line] = t.Tool.Server
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		if lines[line] == before {
			return fmt.Errorf("policy: %s: there is no server %q; write %q, or start with --name %s", p.At(line), before, servers[0].Name, before)
		}
	}
	return nil
}

// inDoubt returns a ledger over a store, nil for none, with the calls that were in doubt when the record was closed, if
// there is one.
func inDoubt(file *audit.File, store doubt.Store, log *slog.Logger) *doubt.Ledger {
	ledger := doubt.NewLedger(doubt.LedgerOptions{Store: store, Logger: log})
	if file == nil {
		return ledger
	}
	for _, r := range file.InDoubt() {
		ledger.Add(doubt.Call{ID: r.Call, Scope: r.Scope, Server: r.Server, Tool: r.Tool, Time: r.Time, Arguments: r.Arguments})
	}
	return ledger
}

// hookVariable names the variable with the key that signs what is posted to --webhook.
const hookVariable = "FAIRLEAD_WEBHOOK_KEY"

// ways returns how a person is notified of a question on the page.
func (o *proxyFlags) ways(log *slog.Logger) (*reach.Ways, error) {
	w := &reach.Ways{Logger: log, Desktop: slices.Contains(o.reach, "desktop"), Browser: slices.Contains(o.reach, "browser")}
	for _, way := range o.reach {
		if way != "desktop" && way != "browser" && way != "none" {
			return nil, fmt.Errorf("--reach: want desktop, browser or none, got %s", way)
		}
	}
	if o.webhook == "" {
		return w, nil
	}
	var err error
	if w.Webhook, err = reach.NewWebhook(o.webhook, os.Getenv(hookVariable)); err != nil {
		return nil, fmt.Errorf("--webhook: %w", err)
	}
	return w, nil
}

// file returns a file that the command line names, or else one that the policy names, relative to the policy's folder;
// "" if neither does.
func (o *proxyFlags) file(flag, inPolicy string) string {
	if flag != "" || inPolicy == "" || filepath.IsAbs(inPolicy) {
		return cmp.Or(flag, inPolicy)
	}
	return filepath.Join(filepath.Dir(o.policy), inPolicy)
}

// targets returns the servers that a command line names, as the proxy takes them.
func (o *proxyFlags) targets(words []string, dash int) ([]proxy.Server, error) {
	targets, err := o.serverNames.targets(words, dash)
	if err == nil {
		err = o.addHeaders(targets)
	}
	if err != nil {
		return nil, err
	}
	var all []proxy.Server
	faults := 0
	for _, t := range targets {
		if t.SSE && t.Fault == nil {
			t.Fault = fmt.Errorf("the server %s speaks HTTP with SSE, which the protocol has given up; the proxy speaks streamable HTTP", t)
		}
		if fault := t.Fault; fault != nil {
			if faults++; faults == len(targets) {
				return nil, fault
			}
			// It keeps its name and its place, so that those of the others do not depend on it.
			all = append(all, proxy.Server{Name: t.ID, Open: func() (io.ReadWriteCloser, error) { return nil, fault }})
			continue
		}
		s := proxy.Server{Name: t.ID, URL: t.URL, Header: t.Header, Command: t.Command, Dir: t.Dir, Offers: t.Tools.Offers}
		for name, value := range t.Env {
			s.Env = append(s.Env, name+"="+value)
		}
		all = append(all, s)
	}
	return all, nil
}

// addHeaders adds those of --header, whose values are in the environment, where other users do not see them.
func (o *proxyFlags) addHeaders(targets []dial.Target) error {
	if len(o.headers) == 0 {
		return nil
	}
	if len(targets) != 1 || targets[0].URL == "" {
		return errors.New("--header is for one server, which has an URL; write the headers of several in a file for --config")
	}
	t := &targets[0]
	if t.Header == nil {
		t.Header = make(map[string]string)
	}
	for _, text := range o.headers {
		name, variable, defines := strings.Cut(text, "=")
		variable, bearer := strings.CutPrefix(variable, "Bearer:")
		if !defines || name == "" || variable == "" {
			return fmt.Errorf("--header %q is neither NAME=VARIABLE nor NAME=Bearer:VARIABLE", text)
		}
		value, set := os.LookupEnv(variable)
		if !set {
			return fmt.Errorf("--header %s: the variable %q is not set", name, variable)
		}
		if bearer {
			value = "Bearer " + value
		}
		t.Header[name] = value
	}
	return nil
}
