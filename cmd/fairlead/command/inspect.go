package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/report"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/prompt"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

type inspectOptions struct {
	serverFlags

	format   choice
	failOn   choice
	asJSON   bool
	baseline string
	lock     string
}

var formats = []string{"table", "json", "md", "sarif", "html"}

func inspectCommand() *cobra.Command {
	o := inspectOptions{format: choice{formats, "table"}, failOn: choice{report.Levels(), report.Error.String()}}
	cmd := &cobra.Command{
		Use:   "inspect " + serverArgs,
		Short: "List the tools of servers, with their class, what the chain does with their calls, and findings",
		Long: `List the tools of servers: what each declares, what was inferred from its words, its
class with the reason, what the chain does with its calls, and findings. A finding has a
level (error, warning, note) and a rule, whose id does not change between versions.

` + naming + `

The exit code is 1 if there are findings at the level of --fail-on or above, 2 after a
mistake in the command line, and 3 if a server did not answer. Findings in the --baseline,
an earlier output of inspect --json, are not counted.`,
		Example: `  fairlead inspect -- npx -y @modelcontextprotocol/server-filesystem .
  fairlead inspect https://example.com/mcp --fail-on warning
  fairlead inspect --config .vscode/mcp.json --format sarif > fairlead.sarif
  fairlead inspect --config ~/.cursor/mcp.json --json > baseline.json
  fairlead inspect --config ~/.cursor/mcp.json --baseline baseline.json
  fairlead inspect --lock fairlead.lock --format html https://example.com/mcp > tools.html`,
		RunE: o.run,
	}
	o.register(cmd)
	o.format.register(cmd, "format", "`FORMAT` of the output")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "the same as --format json")
	cmd.MarkFlagsMutuallyExclusive("format", "json")
	o.failOn.register(cmd, "fail-on", "the lowest `LEVEL` of findings that make the exit code 1")
	cmd.Flags().StringVar(&o.baseline, "baseline", "", "`FILE` with known findings, an earlier output of inspect --json")
	cmd.Flags().StringVar(&o.lock, "lock", "", "`FILE` of accepted definitions; what differs is a finding (see fairlead lock)")
	must(cmd.MarkFlagFilename("baseline", "json"))
	must(cmd.MarkFlagFilename("lock"))
	return cmd
}

func (o *inspectOptions) run(cmd *cobra.Command, args []string) error {
	lock, err := loadLock(o.lock)
	if err != nil {
		return err
	}
	all, err := o.reachAll(cmd, args, lock)
	if err != nil {
		return err
	}
	defer all.close()
	r, err := reportOf(all)
	if err != nil {
		return err
	}
	if o.baseline != "" {
		if err := r.Baseline(o.baseline); err != nil {
			return fmt.Errorf("--baseline: %w", err)
		}
	}
	if err := cmp.Or(written("report", o.write(r, cmd.OutOrStdout())), all.unreached()); err != nil {
		return err
	}
	var least report.Level
	must(least.UnmarshalText([]byte(o.failOn.value)))
	if n := r.Count(least); n > 0 && least != report.None {
		return atFault(fmt.Errorf("findings at level %s or worse: %d", least, n))
	}
	return nil
}

func (o *inspectOptions) write(r *report.Report, out io.Writer) error {
	if o.asJSON {
		o.format.value = "json"
	}
	switch o.format.value {
	case "json":
		return r.JSON(out)
	case "md":
		return r.Markdown(out)
	case "sarif":
		return r.SARIF(out, o.baseline != "")
	case "html":
		return r.HTML(out, time.Now())
	}
	return r.Table(out, tty.Of(out, os.Getenv))
}

// reportOf looks at everything that the servers listed, whether it was accepted or not.
func reportOf(all *fleet) (*report.Report, error) {
	changes := all.lock.Changes(all.tools)
	if err := all.lock.Accept(all.tools, changes...); err != nil {
		return nil, atFault(err)
	}
	r := new(report.Report)
	r.Add(all.tools, changes, standard(nobody).Describe().Will)
	for _, a := range all.asked {
		s := report.Server{ID: a.ID, Target: a.String(), File: a.File, Line: a.Line}
		if a.err != nil {
			s.Error = a.err.Error()
			r.Fail(a.ID, s.Error)
		}
		r.Servers = append(r.Servers, s)
	}
	return r, nil
}

func loadLock(path string) (*pins.Lock, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no lock is not an empty one
	}
	lock, err := pins.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--lock: there is no %s; write one with: fairlead lock accept", path)
	}
	if err != nil {
		return nil, fmt.Errorf("--lock: %w", err)
	}
	return lock, nil
}

var nobody = hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil })

// standard is the chain that the command hangs in front of servers.
func standard(person hitl.Confirmer) chain.Standard {
	return chain.Standard{
		Confirm:   hitl.New(person, hitl.Options{}),
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{}),
		Timeout:   timeout.New(timeout.Options{}),
	}
}

func inferCommand() *cobra.Command {
	write := answer
	explains := false
	cmd := &cobra.Command{
		Use:   "infer",
		Short: "Infer annotations of the tools on standard input",
		Long: `Read tools as JSON Lines: one object a line with "name" and, optionally, "server",
"title", "description", "inputSchema" and "outputSchema". The tools of one server are
read together, since their names may share a prefix. Declared annotations are ignored.

Write one object a line, in the same order: name, annotations, safety, evidence,
findings. A line that is not an object or has no name is reported on standard error
with its number, and the exit code is 1; the other lines are still answered.

With --explain, write text instead: the class of each tool, and a line for each hint
with the word, the place and the rule that decided it.`,
		Example: `  echo '{"name":"delete_user","description":"Delete a user."}' | fairlead infer --explain`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if explains {
				write = explain
			}
			return inferLines(until(cmd.Context(), cmd.InOrStdin()), cmd.OutOrStdout(), cmd.ErrOrStderr(), write)
		},
	}
	cmd.Flags().BoolVar(&explains, "explain", false, "write text, with the rule that decided each hint")
	return cmd
}

type listedTool struct {
	server     string
	definition *mcp.Tool
	findings   []string
}

type inferredTool struct {
	Name        string                 `json:"name"`
	Annotations annotation.Annotations `json:"annotations"`
	Safety      annotation.Safety      `json:"safety"`
	Freshness   annotation.Freshness   `json:"freshness"` // volatile if it is not understood
	Secret      bool                   `json:"secret,omitempty"`
	Evidence    []annotation.Evidence  `json:"evidence"`
	Findings    []string               `json:"findings"`
}

// maxBatch is how many bytes of input are inferred together, which bounds the memory.
const maxBatch = 64 << 20

func inferLines(in io.Reader, out, errs io.Writer, write func(io.Writer, []listedTool) error) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	buffered := bufio.NewWriter(out)
	var tools []listedTool
	size, bad := 0, 0
	for number, end := 1, false; !end; number++ {
		line, err := lines.ReadBytes('\n')
		if end = errors.Is(err, io.EOF); err != nil && !end {
			return atFault(fmt.Errorf("reading line %d: %w", number, err))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			tool, err := readTool(line)
			if err != nil {
				bad++
				fmt.Fprintf(errs, "fairlead: line %d: %v\n", number, err)
			} else {
				tools = append(tools, tool)
			}
		}
		if size += len(line); end || size > maxBatch {
			if err := write(buffered, tools); err != nil {
				return written("answers", err)
			}
			tools, size = nil, 0
		}
	}
	if err := buffered.Flush(); err != nil {
		return written("answers", err)
	}
	if bad > 0 {
		return atFault(fmt.Errorf("%d of the lines could not be read; the others are answered", bad))
	}
	return nil
}

func answer(out io.Writer, tools []listedTool) error {
	write := json.NewEncoder(safetext.JSONWriter(out))
	write.SetEscapeHTML(false)
	for i, a := range inferByServer(tools) {
		line := inferredTool{
			Name: tools[i].definition.Name, Annotations: a, Safety: a.Safety(),
			Freshness: a.Defaults().Freshness, Secret: a.Secret == annotation.Yes,
			Evidence: append([]annotation.Evidence{}, a.Evidence...), Findings: append([]string{}, tools[i].findings...),
		}
		if err := write.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// explain writes the class of each tool and a line for each hint.
func explain(out io.Writer, tools []listedTool) error {
	for i, a := range inferByServer(tools) {
		fmt.Fprintf(out, "%s: %s\n", safetext.Line(tools[i].definition.Name), a.Safety())
		for _, e := range a.Evidence {
			rule := ""
			if e.Rule != "" {
				rule = " (rule: " + e.Rule + ")"
			}
			if _, err := fmt.Fprintf(out, "  %-20s %-6s %s%s\n", e.Field, e.Value, e, rule); err != nil {
				return err
			}
		}
	}
	return nil
}

// inferByServer infers the tools of each server together, and returns them in the order of the tools.
func inferByServer(tools []listedTool) []annotation.Annotations {
	groups := make(map[string][]int)
	all := make([]annotation.Annotations, len(tools))
	for i, t := range tools {
		if t.server == "" { // it has nothing in common with others
			all[i] = infer.Tool(t.definition)
			continue
		}
		groups[t.server] = append(groups[t.server], i)
	}
	for _, members := range groups {
		definitions := make([]*mcp.Tool, len(members))
		for k, i := range members {
			definitions[k] = tools[i].definition
		}
		for k, a := range infer.Tools(definitions) {
			all[members[k]] = a
		}
	}
	return all
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// readTool reads one line. Only a line without a name is at fault; a member of the wrong type is left
// out and becomes a finding.
func readTool(line []byte) (listedTool, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return listedTool{}, errors.New(`not a JSON object; write one tool a line, such as {"name":"read_file"}`)
	}
	t := listedTool{definition: &mcp.Tool{}}
	if err := json.Unmarshal(members["name"], &t.definition.Name); err != nil || string(members["name"]) == "null" {
		return listedTool{}, errors.New(`no "name" that is a string`)
	}
	if !toolName.MatchString(t.definition.Name) {
		t.findf("the name breaks MCP's rule: 1 to 128 characters out of A-Z, a-z, 0-9, '_', '-' and '.'")
	}
	text := func(key string, to *string) {
		raw, ok := members[key]
		if ok && json.Unmarshal(raw, to) != nil {
			t.findf("%s is no string and was not looked at", key)
		}
	}
	text("server", &t.server)
	text("title", &t.definition.Title)
	text("description", &t.definition.Description)
	const most = 40 // bytes of a schema in a finding
	schema := func(key string, to *any) {
		raw, ok := members[key]
		switch {
		case !ok:
		case bytes.HasPrefix(raw, []byte("{")) || key == "outputSchema" && (string(raw) == "true" || string(raw) == "false"):
			*to = raw
		default:
			if len(raw) > most {
				raw = append(raw[:most:most], "…"...)
			}
			t.findf("%s is %s, which MCP does not allow; it was not looked at", key, raw)
		}
	}
	schema("inputSchema", &t.definition.InputSchema)
	schema("outputSchema", &t.definition.OutputSchema)
	return t, nil
}

func (t *listedTool) findf(format string, args ...any) {
	t.findings = append(t.findings, fmt.Sprintf(format, args...))
}

func promptCommand() *cobra.Command {
	var servers serverFlags
	var identity string
	cmd := &cobra.Command{
		Use:   "prompt " + serverArgs,
		Short: "Print the system prompt for the tools of servers, as the chain enforces it",
		Long: `Print a system prompt: the tools by class, and the rules for each class. What it says of
the chain is true for calls through 'fairlead proxy'. With several servers, tools have the
names that the proxy gives them, SERVER__NAME.

` + naming,
		Example: `  fairlead prompt https://example.com/mcp
  fairlead prompt --config ~/.cursor/mcp.json --identity "You help at the front desk." > prompt.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := servers.reachAll(cmd, args, nil)
			if err != nil {
				return err
			}
			defer all.close()
			if err := all.unreached(); err != nil { // a prompt that lacks tools would be used all the same
				return err
			}
			o := prompt.Options{Identity: identity, Enforced: standard(nobody).Describe()}
			if len(all.asked) == 1 { // whose tools keep their names behind the proxy
				o.Name = (*middleware.Tool).Name
			}
			text := prompt.New(o).For(all.tools.List())
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return written("prompt", err)
		},
	}
	servers.register(cmd)
	cmd.Flags().StringVar(&identity, "identity", "", "the first paragraph: who the model is, and whom it works for")
	return cmd
}
