// Package command is the command line of the program fairlead.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/fairlead-go/fairlead/cmd/fairlead/errtext"
	"github.com/fairlead-go/fairlead/cmd/fairlead/nearest"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/shell"
)

// Exit codes.
const (
	exitOK          = 0
	exitFindings    = 1 // something in the input was at fault
	exitUsage       = 2
	exitUnreachable = 3
)

type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// atFault ends the program with the code for what was looked at; nil stays nil.
func atFault(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitFindings, err}
}

func written(what string, err error) error {
	if err == nil {
		return nil
	}
	return atFault(fmt.Errorf("writing the %s: %w", what, err))
}

// group returns a command that has only others under it.
func group(c *cobra.Command, under ...*cobra.Command) *cobra.Command {
	c.Args = noSuchCommand // another word is a mistake, and not a question for help
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	c.AddCommand(under...)
	return c
}

// Run runs the program with its arguments and returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	program := root()
	program.SetArgs(args)
	program.SetIn(stdin)
	program.SetOut(stdout)
	program.SetErr(stderr)
	ran, err := program.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "fairlead:", harmless(errtext.Of(err)))
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	fmt.Fprintf(stderr, "Run '%s --help' for what it takes.\n", ran.CommandPath())
	return exitUsage
}

// harmless makes text for a terminal safe, since it may hold what a server wrote.
func harmless(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && safetext.Invisible(r) }) {
		return safetext.Text(text)
	}
	return text
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version + " " + info.GoVersion
	}
	return "(unknown)"
}

func root() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:           "fairlead",
		Short:         "See what the tools of MCP servers can do to you, and why",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return noneEmpty(cmd.Flags())
		},
	},
		approvalsCommand(),
		approveCommand(),
		auditCommand(),
		callCommand(),
		inferCommand(),
		inspectCommand(),
		lockCommand(),
		policyCommand(),
		promptCommand(),
		proxyCommand(),
		recordCommand(),
		replayCommand(),
		reviewCommand(),
	)
	cmd.SetFlagErrorFunc(flagMistake)
	return cmd
}

// A choice is a flag with one of a few values, in any case, which the shell completes.
type choice struct {
	of    []string
	value string
}

func (c *choice) register(cmd *cobra.Command, name, usage string) {
	cmd.Flags().Var(c, name, usage+": "+strings.Join(c.of, ", "))
	must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp)))
}

func (c *choice) String() string { return c.value }

func (*choice) Type() string { return "word" }

func (c *choice) Set(value string) error {
	value = strings.ToLower(value)
	if !slices.Contains(c.of, value) {
		return fmt.Errorf("it is none of %s", strings.Join(c.of, ", "))
	}
	c.value = value
	return nil
}

// until is a reader that ends with a context. A read of a terminal that is under way then stays
// behind until the process ends.
func until(ctx context.Context, in io.Reader) io.Reader { return &interruptible{ctx, in} }

type interruptible struct {
	ctx context.Context
	in  io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	type read struct {
		n   int
		err error
	}
	own := make([]byte, min(len(p), 64<<10)) // p is the caller's again before a late read ends
	done := make(chan read, 1)
	go func() {
		n, err := r.in.Read(own)
		done <- read{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}

// noneEmpty rejects flags with an empty value, as of an unset variable: without its record, its lock
// or its scopes a command would allow more.
func noneEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if v := f.Value.String(); err == nil && (v == "" || v == "[]") {
			err = fmt.Errorf("--%s is empty; give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// needs is for a command whose first word has to be there; alone, nothing may follow.
func needs(what string, alone bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s is missing: %s", what, cmd.UseLine())
		case alone && len(args) > 1:
			return fmt.Errorf("%q is one word too many: %s", args[1], cmd.UseLine())
		}
		return nil
	}
}

// noSuchCommand rejects a word that is none of a command's own, and suggests one that is, or a flag.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	meant := suggestion("", args[0], known)
	if cmd.Flags().Lookup(args[0]) != nil {
		meant = suggestion("--", args[0], args[:1])
	}
	return fmt.Errorf("there is no command %q under %q%s", args[0], cmd.CommandPath(), meant)
}

// flagMistake explains a flag that has no such value, or is not there: it was mistyped, or belongs to a server's command.
func flagMistake(cmd *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		why := bad.Unwrap()
		switch bad.GetFlag().Value.Type() {
		case "duration":
			why = errors.New("it is not a duration; write one such as 30s")
		case "int":
			why = errors.New("it is not a whole number")
		}
		return fmt.Errorf("--%s %q: %w", bad.GetFlag().Name, bad.GetValue(), why)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	flag := "--" + unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		flag = flag[1:]
	}
	words := cmd.Flags().Args()
	if before, _, servers := strings.Cut(cmd.Use, serverArgs); servers {
		own := min(len(strings.Fields(before))-1, len(words)) // such as the name of a tool
		if i := slices.IndexFunc(words[own:], func(w string) bool { return dial.Words(w).URL == "" }); i >= 0 {
			line := append([]string{cmd.CommandPath()}, words[:own+i]...)
			line = append(append(append(line, "--"), words[own+i:]...), flag)
			return fmt.Errorf("there is no flag %s; if it belongs to the command of a server, put -- before that command: %s …", flag, strings.Join(line, " "))
		}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return fmt.Errorf("there is no flag %s%s", flag, suggestion("--", unknown.GetSpecifiedName(), known))
}

// suggestion is the end of an error: the known word that was probably meant, behind what precedes it.
func suggestion(before, word string, known []string) string {
	if best := nearest.Of(word, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", before+best)
	}
	return ""
}

// serverArgs is how the servers are named, for the lines of usage.
const serverArgs = "[URL...] [-- COMMAND [ARG...]]"

// naming is the part of a command's help about names.
const naming = `Give servers as an http(s) URL, as a command after --, as --server NAME=URL or
NAME=COMMAND, or as --config with the configuration file of a client (Claude, Codex,
Cursor, opencode, VS Code, Windsurf, Zed and others). You can combine these. With
--config, --server NAME selects one server of the file. A server that you do not name
is named after its program, its package or its host.`

type serverNames struct {
	configs []string
	servers []string
	name    string
}

func (f *serverNames) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.configs, "config", nil, "configuration `FILE` of a client, with its servers (repeatable)")
	cmd.Flags().StringArrayVar(&f.servers, "server", nil, "the `NAME` of a server in that file, or NAME=URL, or NAME=COMMAND (repeatable)")
	cmd.Flags().StringVar(&f.name, "name", "", "the `ID` of the only server, for findings, records and lock files (default: its program or host)")
	must(cmd.MarkFlagFilename("config", "json", "jsonc", "toml"))
}

type serverFlags struct {
	serverNames

	trust bool
	wait  time.Duration
}

func (f *serverFlags) register(cmd *cobra.Command) {
	f.serverNames.register(cmd)
	cmd.Flags().BoolVar(&f.trust, "trust", false, "trust the annotations that servers declare, also where they lower a class")
	cmd.Flags().DurationVar(&f.wait, "timeout", listPatience, "how long a server may take to start and to list its tools")
}

// listPatience is how long a server may take to start and to list its tools, by default.
const listPatience = 2 * time.Minute

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// targets returns the servers; dash is the number of words before --, negative without it.
func (f *serverNames) targets(words []string, dash int) ([]dial.Target, error) {
	urls, command := words, []string(nil)
	if dash >= 0 {
		urls, command = words[:dash], words[dash:]
	}
	all, err := f.named()
	if err != nil {
		return nil, err
	}
	for _, word := range urls {
		t := dial.Words(word)
		if t.URL == "" {
			return nil, fmt.Errorf("%q is not an http or https URL; give the command of a server after --: -- COMMAND ARGS", word)
		}
		all = append(all, t)
	}
	switch {
	case dash >= 0 && len(command) == 0:
		return nil, errors.New("there is no command after --")
	case len(command) > 0:
		all = append(all, dial.Command(command...))
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("no server is named: give an URL, -- COMMAND ARGS, --server NAME=URL, or --config FILE")
	case f.name != "" && len(all) > 1:
		return nil, errors.New("--name is for one server; give several their names by --server NAME=URL or NAME=COMMAND")
	case f.name != "":
		all[0].ID = f.name
	}
	for _, t := range all {
		if err := t.Check(); err != nil {
			return nil, err
		}
	}
	return dial.Several(all), nil
}

// named returns the servers of the files and those of --server.
func (f *serverNames) named() ([]dial.Target, error) {
	var all, own []dial.Target
	var names []string
	for _, text := range f.servers {
		name, what, defines := strings.Cut(text, "=")
		if !defines {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			continue
		}
		words, err := split(what)
		if err != nil || len(words) == 0 {
			return nil, fmt.Errorf("--server %q is neither NAME=URL nor NAME=COMMAND", text)
		}
		t := dial.Words(words...)
		t.ID = name
		own = append(own, t)
	}
	if len(names) > 0 && len(f.configs) == 0 {
		return nil, fmt.Errorf("--server %s: of which file? Name one by --config, or write --server %s=URL", names[0], names[0])
	}
	wanted := slices.Collect(slices.Chunk(names, 1))
	if len(names) == 0 {
		wanted = [][]string{nil} // all of them
	}
	for _, name := range wanted {
		found, err := f.find(name...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return append(all, own...), nil
}

// find returns the servers of the files, or only that of a name, which one of the files has to have.
func (f *serverNames) find(name ...string) (all []dial.Target, err error) {
	var missing error
	for _, path := range f.configs {
		found, err := dial.Configured(path, name...)
		switch {
		case len(name) > 0 && errors.Is(err, dial.ErrNoServer):
			missing = err
		case err != nil:
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, missing
	}
	return all, nil
}

// split expands variables and takes a command line apart. A URL stays one word.
func split(text string) ([]string, error) {
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		url, err := shell.Expand(text, nil)
		return []string{url}, err
	}
	return shell.Fields(text, nil)
}

type fleet struct {
	tools  *catalog.Catalog
	lock   *pins.Lock // nil for none
	asked  []asked
	cancel context.CancelCauseFunc
}

type asked struct {
	dial.Target

	server *dial.Server
	err    error
}

// reachAll reaches the servers that a command line names, see connect.
func (f *serverFlags) reachAll(cmd *cobra.Command, args []string, lock *pins.Lock) (*fleet, error) {
	targets, err := f.targets(args, cmd.ArgsLenAtDash())
	if err != nil {
		return nil, err
	}
	return f.connect(cmd.Context(), targets, lock)
}

// connect reaches the servers and lists their tools. The error is about how they were named, or about
// all of them.
func (f *serverFlags) connect(ctx context.Context, targets []dial.Target, lock *pins.Lock) (*fleet, error) {
	if f.wait <= 0 {
		return nil, fmt.Errorf("--timeout %v is no time to wait; give one such as 30s", f.wait)
	}
	// The sessions live on this context: it is cancelled at the end.
	ctx, cancel := context.WithCancelCause(ctx)
	all := &fleet{tools: catalog.New(catalog.Options{Timeout: f.wait, Lock: lock}), lock: lock, cancel: cancel}
	client := mcp.NewClient(&mcp.Implementation{Name: "fairlead", Version: "0"}, mount.Options(all.tools, nil))
	all.asked = make([]asked, len(targets))
	var group sync.WaitGroup
	for i, t := range targets {
		all.asked[i].Target = t
		if f.trust {
			all.tools.Trust(t.ID)
		}
		group.Go(func() { all.asked[i].server, all.asked[i].err = f.reach(ctx, client, all.tools, t) })
	}
	group.Wait()
	for _, a := range all.asked {
		if errors.Is(a.err, dial.ErrUsage) {
			all.close()
			return nil, a.err
		}
	}
	if !slices.ContainsFunc(all.asked, func(a asked) bool { return a.err == nil }) {
		all.close()
		return nil, all.unreached()
	}
	return all, nil
}

func (f *serverFlags) reach(ctx context.Context, client *mcp.Client, tools *catalog.Catalog, t dial.Target) (*dial.Server, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := fmt.Errorf("no answer within %v (--timeout)", f.wait)
	timer := time.AfterFunc(f.wait, func() { cancel(late) })
	defer timer.Stop()
	server, err := dial.Connect(ctx, client, t)
	if err != nil {
		cancel(err)
		return nil, err
	}
	if err := tools.Add(ctx, t.ID, server.Session); err != nil {
		err = server.Explain(err)
		_ = server.Session.Close() // it has failed already
		cancel(err)
		return nil, err
	}
	return server, nil
}

// unreached is an error about the servers that did not answer, nil where all did.
func (f *fleet) unreached() error {
	var faults []error
	for _, a := range f.asked {
		if a.err != nil {
			faults = append(faults, a.err)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &exitError{exitUnreachable, errors.Join(faults...)}
}

// close ends the sessions; how a server ends is its own affair.
func (f *fleet) close() {
	_ = f.tools.Close()
	var group sync.WaitGroup
	for _, a := range f.asked {
		if a.server != nil {
			group.Go(func() { _ = a.server.Session.Close() })
		}
	}
	group.Wait()
	f.cancel(context.Canceled)
}
