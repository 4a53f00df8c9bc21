package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/learn"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/doubt"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

type proxyFlags struct {
	serverNames

	approvals string

	policy, listen, access, audit, lock, inbox, store, webhook string
	replicas                                                   int
	drain                                                      time.Duration
	approve, scopes, reach                                     []string
	trust, readOnly, annotate, observe, verbose                bool
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
of OpenTelemetry, spans and metrics of the calls are exported.`,
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
	f.StringSliceVar(&o.approve, "approve", nil, "who is asked: elicit, web, terminal or deny; with several, the first answer wins (default elicit, then web)")
	f.StringVar(&o.inbox, "inbox", anyPort, "the loopback `ADDRESS` of the page where calls are approved")
	f.StringSliceVar(&o.reach, "reach", []string{"desktop"}, "how you are notified of a call that waits on that page: desktop, browser (opened once for each client) or none")
	f.StringVar(&o.webhook, "webhook", "", "an https `URL` to post a notification to as well; "+hookVariable+" has the key that signs it")
	f.StringVar(&o.audit, "audit", "", "record each call in a `FILE`")
	f.StringVar(&o.lock, "lock", "", "refuse tools whose definitions are not those of a lock `FILE`")
	f.BoolVar(&o.trust, "trust", false, "trust the annotations that servers declare, also where they lower a class")
	f.BoolVar(&o.readOnly, "read-only", false, "list and call only tools that are safe")
	f.BoolVar(&o.annotate, "annotate", false, "list the tools with the annotations that the chain goes by, for clients that decide by them")
	f.BoolVar(&o.observe, "observe", false, "ask nothing, and refuse only what the policy denies; --audit records what would have been done. It protects nothing")
	f.StringSliceVar(&o.scopes, "scope", nil, "what clients may do, such as crm.read or '*.read' (default everything)")
	f.StringVar(&o.store, "store", "", "a `FOLDER` that keeps approvals for all proxies in front of the same servers, or a Redis such as redis://localhost:6379/0, where these also share cache and rate limits")
	f.StringVar(&o.approvals, "approvals", "", "a PostgreSQL `URL`, such as postgres://localhost/fairlead, for approvals, their revocations and the history")
	f.DurationVar(&o.drain, "drain", 10*time.Second, "how long calls that a server has may take to end after SIGTERM or an interrupt")
	f.IntVar(&o.replicas, "replicas", 1, "how many proxies share the store")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log more to standard error")
	for _, refuses := range []string{"read-only", "scope", "lock", "approve"} {
		cmd.MarkFlagsMutuallyExclusive("observe", refuses)
	}
	return cmd
}

func (o *proxyFlags) run(cmd *cobra.Command, args []string) (err error) {
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
	p := proxy.Options{
		Drain: o.drain, Trust: o.trust, ReadOnly: o.readOnly, Annotate: o.annotate, Observe: o.observe, Stderr: cmd.ErrOrStderr(), Logger: log,
	}
	if p.Servers, err = o.targets(args, cmd.ArgsLenAtDash()); err != nil {
		return err
	}
	decided, err := o.openPolicy(&p, log)
	if err != nil {
		return err
	}
	for _, s := range o.scopes {
		p.Scopes = append(p.Scopes, catalog.Scope{Permission: s})
	}
	if name := o.file(o.lock, decided.Lock); name != "" {
		if p.Lock, err = loadLock(name); err != nil {
			return err
		}
	}
	if name := o.file(o.audit, decided.Audit); name != "" {
		var file *audit.File
		if file, err = audit.OpenFile(name, log); err != nil {
			return fmt.Errorf("--audit: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		p.Audit, p.Doubt = file, inDoubt(file, log)
	}
	if o.observe && p.Audit == nil {
		return errors.New("--observe records what would have been done; name the file by --audit FILE")
	}
	if o.observe {
		log.Warn("OBSERVING: nobody is asked, and nothing is refused but what the policy denies; each call runs. End it and leave out --observe to be protected")
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	by := decided.By
	if len(o.approve) > 0 {
		by = strings.Split(strings.ToLower(strings.Join(o.approve, ",")), ",")
	}
	if o.replicas < 1 {
		return fmt.Errorf("--replicas %d: at least this one is there", o.replicas)
	}
	var export func() error
	if p.Telemetry, export, err = telemetry(ctx, log, o.listen == ""); err != nil {
		return err
	}
	defer func() {
		if err := export(); err != nil {
			log.Warn("telemetry: " + err.Error())
		}
	}()
	waiting := inbox.Options{Logger: log}
	public, err := o.openAccess(ctx, &p, &waiting)
	if err != nil {
		return fmt.Errorf("--access: %w", err)
	}
	var shared *redis.Store
	switch {
	case o.store != "" && !isRedis(o.store):
		var file *approvals.File
		if file, err = o.openFolder(p.Servers, log); err != nil {
			return fmt.Errorf("--store: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		waiting.Store = file
	case o.store != "":
		if shared, err = o.openStore(cmd.Context(), p.Servers, log); err != nil {
			return fmt.Errorf("--store: %w", err)
		}
		defer func() { err = errors.Join(err, shared.Close()) }()
		waiting.Board, waiting.Store = shared.Board(), shared.Approvals()
	default:
		waiting.Store = approvals.NewMemory()
	}
	if o.approvals != "" {
		kept, err := o.openApprovals(cmd.Context(), p.Servers, log)
		if err != nil {
			return err
		}
		defer kept.Close()
		waiting.Store = kept
	}
	p.Share = func(c *cache.Options, limit *ratelimit.Options, ask *hitl.Options) {
		if shared != nil {
			c.Remote = shared.Cache()
			limit.Shared, limit.Replicas = shared.Limiter(), o.replicas
		}
		if ask.Store = waiting.Store; o.store == "" && o.approvals == "" && ask.Remember == hitl.Always {
			log.Warn("policy: without --store nothing is remembered for always, since it would end with this process; for the session it is")
			ask.Remember = hitl.Session
		}
	}
	ways, err := o.ways(log)
	if err != nil {
		return err
	}
	page := &page{ctx: ctx, address: o.inbox, out: cmd.ErrOrStderr(), in: inbox.New(waiting), reach: ways, public: public}
	p.Page = page.in
	if p.Confirm, err = approvers(by, page); err != nil {
		return err
	}
	p.Waits = waits(by, public)
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

// openPolicy reads the file of --policy, if there is one.
func (o *proxyFlags) openPolicy(p *proxy.Options, log *slog.Logger) (*policy.Policy, error) {
	if o.policy == "" {
		return new(policy.Policy), nil
	}
	live, err := policy.OpenLive(o.policy, log)
	if err != nil {
		return nil, err
	}
	p.Policy = live.Now
	decided := live.Now()
	for _, w := range decided.Warnings {
		log.Warn(w)
	}
	return decided, unnamed(decided, p.Servers)
}

// openAccess reads the file of --access, if there is one, and returns the address of the page of approvals, "" for one
// on this machine.
func (o *proxyFlags) openAccess(ctx context.Context, p *proxy.Options, waiting *inbox.Options) (page string, err error) {
	switch {
	case o.access == "":
		return "", nil
	case o.listen == "":
		return "", errors.New("it is about the address of --listen; name one, such as --listen :8808")
	}
	if p.Access, err = access.Open(ctx, o.access); err != nil || len(p.Access.Approvers) == 0 {
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

// inDoubt returns a ledger with the calls that were in doubt when the record was closed.
func inDoubt(file *audit.File, log *slog.Logger) *doubt.Ledger {
	ledger := doubt.NewLedger(doubt.LedgerOptions{Logger: log})
	for _, r := range file.InDoubt() {
		ledger.Add(doubt.Call{ID: r.Call, Scope: r.Scope, Server: r.Server, Tool: r.Tool, Time: r.Time, Arguments: r.Arguments})
	}
	return ledger
}

const hookVariable = "FAIRLEAD_WEBHOOK_KEY"

// ways returns how a person is notified of a question on the page.
func (o *proxyFlags) ways(log *slog.Logger) (*reach.Ways, error) {
	w := &reach.Ways{Logger: log, Desktop: slices.Contains(o.reach, "desktop"), Browser: slices.Contains(o.reach, "browser")}
	for _, way := range o.reach {
		if way != "desktop" && way != "browser" && way != "none" {
			return nil, fmt.Errorf("--reach %s: it is none of desktop, browser and none", way)
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

// file is a file that the command line names, or else the policy, beside itself.
func (o *proxyFlags) file(flag, inPolicy string) string {
	if flag != "" || inPolicy == "" || filepath.IsAbs(inPolicy) {
		return cmp.Or(flag, inPolicy)
	}
	return filepath.Join(filepath.Dir(o.policy), inPolicy)
}

func (o *proxyFlags) targets(words []string, dash int) ([]proxy.Server, error) {
	targets, err := o.serverNames.targets(words, dash)
	if err != nil {
		return nil, err
	}
	var all []proxy.Server
	for _, t := range targets {
		if t.SSE {
			return nil, fmt.Errorf("the server %s speaks HTTP with SSE, which the protocol has given up; the proxy speaks streamable HTTP", t)
		}
		s := proxy.Server{Name: t.ID, URL: t.URL, Header: t.Header, Command: t.Command, Dir: t.Dir}
		for name, value := range t.Env {
			s.Env = append(s.Env, name+"="+value)
		}
		all = append(all, s)
	}
	return all, nil
}

// telemetry exports spans and metrics as OpenTelemetry's environment variables configure it; nil if
// they name no exporter and no endpoint. End exports what is left.
func telemetry(ctx context.Context, log *slog.Logger, stdio bool) (t proxy.Telemetry, end func() error, err error) {
	spans, errOfSpans := exporter(ctx, "TRACES", stdio, autoexport.NewSpanExporter)
	reader, errOfMetrics := exporter(ctx, "METRICS", stdio, autoexport.NewMetricReader)
	if err = errors.Join(errOfSpans, errOfMetrics); err != nil || spans == nil && reader == nil {
		return nil, func() error { return nil }, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attribute.String("service.name", "fairlead")), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	global.SetErrorHandler(global.ErrorHandlerFunc(func(err error) { log.WarnContext(ctx, "telemetry: "+err.Error()) }))
	tracers := trace.NewTracerProvider(trace.WithBatcher(spans), trace.WithResource(about))
	meters := metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(about))
	o := otel.Options{MeterProvider: meters, Propagator: propagation.TraceContext{}}
	if spans != nil { // else there is nothing to propagate either
		o.TracerProvider = tracers
	}
	return otel.New(o), func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return errors.Join(tracers.Shutdown(ctx), meters.Shutdown(ctx))
	}, nil
}

// exporter returns what exports a signal; nil if the environment names neither it nor an endpoint.
func exporter[T, O any](ctx context.Context, signal string, stdio bool, open func(context.Context, ...O) (T, error)) (out T, err error) {
	variable := "OTEL_" + signal + "_EXPORTER"
	switch name := os.Getenv(variable); {
	case os.Getenv("OTEL_SDK_DISABLED") == "true":
	case stdio && name == "console":
		err = fmt.Errorf("%s: standard output has MCP; name another exporter, or --listen", variable)
	case name+os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "":
		if out, err = open(ctx); err != nil {
			err = fmt.Errorf("%s: %w", variable, err)
		}
	}
	return out, err
}

func policyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "policy",
		Short: "Check, explain, learn and test a policy file for the proxy",
		Example: `  fairlead policy check policy.json
  fairlead policy explain policy.json --tool files/delete_file`,
	}, policyCheckCommand(), policyExplainCommand(), policyLearnCommand(), policySchemaCommand(), policyTestCommand())
}

func policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check FILE",
		Short:   "Report mistakes in a policy file, with line and key",
		Example: "  fairlead policy check policy.json",
		Args:    needs("FILE", true),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := policy.Load(args[0])
			if err != nil {
				return atFault(err)
			}
			for _, w := range p.Warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
			}
			if _, err := offline(p); err != nil { // what only a middleware knows
				return atFault(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is in order: %d rules, %d words on tools\n", args[0], len(p.Rules), len(p.Tools))
			return nil
		},
	}
}

// offline is a proxy that is only looked at.
func offline(p *policy.Policy) (*proxy.Proxy, error) {
	somebody := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil })
	return proxy.New(proxy.Options{Servers: []proxy.Server{{Name: "server"}}, Policy: func() *policy.Policy { return p }, Confirm: somebody})
}

func policyExplainCommand() *cobra.Command {
	var tool, description string
	cmd := &cobra.Command{
		Use:   "explain FILE --tool SERVER/TOOL [URL | -- COMMAND [ARG...]]",
		Short: "Show which rule decides about a tool, and what the chain does with its calls",
		Long: `Show which rule decides about a tool, and what the chain does with its calls. Without a
server, the tool has only its name and --description; with one, what the server lists.`,
		Example: `  fairlead policy explain policy.json --tool files/delete_file
  fairlead policy explain policy.json --tool server/delete_file -- npx -y @modelcontextprotocol/server-filesystem .`,
		Args: needs("FILE", false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tool == "" {
				return errors.New("--tool is missing; name one as SERVER/TOOL")
			}
			p, err := policy.Load(args[0])
			if err != nil {
				return atFault(err)
			}
			known, err := policy.ParsePattern(tool)
			if err != nil || !known.Exact() {
				return fmt.Errorf("--tool %q is not SERVER/TOOL", tool)
			}
			add := func(c *catalog.Catalog) error {
				nothing := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					return nil, errors.New("it is not called")
				})
				return c.AddTools(known.Server, nothing, &mcp.Tool{Name: known.Tool, Description: description, InputSchema: map[string]any{"type": "object"}})
			}
			if len(args) > 1 {
				one := serverFlags{serverNames: serverNames{name: known.Server}, wait: listPatience}
				targets, err := one.targets(args[1:], cmd.ArgsLenAtDash()-1)
				if err != nil {
					return err
				}
				all, err := one.connect(cmd.Context(), targets, nil)
				if err != nil {
					return err
				}
				defer all.close()
				add = func(c *catalog.Catalog) error {
					return c.Add(cmd.Context(), known.Server, all.asked[0].server.Session)
				}
			}
			looked, err := offline(p)
			if err != nil {
				return atFault(err)
			}
			text, err := looked.Explain(add, tool)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return written("answer", err)
		},
	}
	cmd.Flags().StringVar(&tool, "tool", "", "the tool, as `SERVER/TOOL`")
	cmd.Flags().StringVar(&description, "description", "", "the tool's description, if no server is given")
	return cmd
}

func policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON schema of a policy file, for editors",
		Example: "  fairlead policy schema > policy.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(policy.Schema)
			return written("schema", err)
		},
	}
}

func policyLearnCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "learn RECORD...",
		Short: "Write a policy file from recorded calls, for review",
		Long: `Reads records as 'fairlead audit' does, and writes a policy file with a comment for each tool: how
often it was called, and what people decided. Only decisions of people count, as 'fairlead proxy'
and 'fairlead call' record them. What they approved three times, and never denied, is proposed in a
comment; what they only denied is denied. As it is written, the file allows nothing.`,
		Example: `  fairlead policy learn calls.jsonl --out policy.json`,
		Args:    needs("RECORD", false),
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := records(cmd, args)
			if err != nil {
				return err
			}
			text, err := record.Policy(time.Now())
			if err != nil {
				return err
			}
			if out == "" {
				_, err = cmd.OutOrStdout().Write(text)
				return written("policy", err)
			}
			f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the person names it
			if err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			_, err = f.Write(text)
			return written("policy", errors.Join(err, f.Close()))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "a new `FILE` (default standard output)")
	return cmd
}

func policyTestCommand() *cobra.Command {
	var against []string
	cmd := &cobra.Command{
		Use:   "test FILE --against RECORD",
		Short: "Print what a policy changes about recorded calls",
		Long: `Runs recorded calls against a policy file, without a server, and prints for each tool how many
were asked about, refused and allowed, and how many would be. What depends on other calls, such
as limits, is left out. A tool has its recorded class, so a call that a rule asked about counts as
dangerous; the policy's own "tools" come first.

The exit code is 1 if a call that was asked about or refused would be allowed, or one that ran
would be refused. It is 2 if the policy or a record cannot be used.`,
		Example: `  fairlead policy test policy.json --against calls.jsonl`,
		Args:    needs("FILE", true),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := policy.Load(args[0])
			if err != nil {
				return err
			}
			record, err := records(cmd, against)
			if err != nil {
				return err
			}
			changes, err := record.Compare(cmd.Context(), p)
			if err != nil {
				return err
			}
			if err := changes.Write(cmd.OutOrStdout()); err != nil {
				return written("table", err)
			}
			if changes.Loosened+changes.Broken > 0 {
				return atFault(fmt.Errorf("%d calls that were asked about or refused would be allowed, and %d that ran would be refused", changes.Loosened, changes.Broken))
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&against, "against", nil, "a `RECORD`: an audit file or a folder of them (may be given again)")
	must(cmd.MarkFlagRequired("against"))
	return cmd
}

// records reads audit files and folders of them, and prints what they lack.
func records(cmd *cobra.Command, paths []string) (*learn.Record, error) {
	var files []string
	for _, path := range paths {
		of, err := recordFiles(path)
		if err != nil {
			return nil, err
		}
		files = append(files, of...)
	}
	record, err := learn.Read(files)
	if err != nil {
		return nil, err
	}
	for _, note := range record.Notes() {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	return record, nil
}
