package command

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/report"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

func inferCommand() *cobra.Command {
	write := answer
	explains := false
	cmd := &cobra.Command{
		Use:   "infer",
		Short: "Infer annotations of the tools on standard input",
		Long: `Read the answer of tools/list as it is, or its "tools", or tools as JSON Lines: objects
with "name" and, optionally, "server", "title", "description", "inputSchema" and
"outputSchema". Several pages may follow each other. The tools of one list, and those of
one "server", are read together, since their names may share a prefix. Declared
annotations are ignored.

Write one object a line, in the same order: name, annotations, safety, evidence,
findings. What is not an object or has no name is reported on standard error with the
number of its line, and the exit code is 1; the others are still answered.

With --explain, write text instead: the class of each tool, and a line for each hint and
each condition with the word, the place and the rule that decided it.`,
		Example: `  echo '{"name":"delete_user","description":"Delete a user."}' | fairlead infer --explain
  curl -s https://example.com/mcp -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | fairlead infer`,
		Args: cobra.NoArgs,
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

// A listedTool is a tool of one line of the input.
type listedTool struct {
	server     string
	definition *mcp.Tool
	findings   []string
}

// An inferredTool is a line of the output.
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

// inferLines reads tools and has write answer them, in the order of the lines and in batches: names of one server are
// inferred together, and only the tools of one batch are.
func inferLines(in io.Reader, out, errs io.Writer, write func(io.Writer, []listedTool) error) error {
	pages := newPageReader(in)
	buffered := bufio.NewWriter(out)
	var tools []listedTool
	size, bad := 0, 0
	fault := func(err error) {
		bad++
		fmt.Fprintln(errs, "fairlead:", err)
	}
	for end := false; !end; {
		p, err := pages.next()
		_, isPage := errors.AsType[*pageError](err)
		end = errors.Is(err, io.EOF)
		switch {
		case isPage:
			fault(err)
		case err != nil && !end:
			return atFault(fmt.Errorf("reading line %d: %w", pages.number+1, err))
		}
		for i, raw := range p.tools {
			tool, err := readTool(raw)
			switch {
			case err == nil:
				tool.server = cmp.Or(tool.server, p.server)
				tools = append(tools, tool)
			case p.server != "":
				fault(&pageError{p.line, fmt.Errorf("tool %d: %w", i+1, err)})
			default:
				fault(&pageError{p.line, err})
			}
			size += len(raw)
		}
		if end || size > maxBatch {
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
		return atFault(fmt.Errorf("%d of the tools could not be read; the others are answered", bad))
	}
	return nil
}

// answer writes what was inferred of each tool, as JSON Lines.
func answer(out io.Writer, tools []listedTool) error {
	write := json.NewEncoder(report.JSONWriter(out))
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

// explain writes the class of each tool, and a line for each hint and each condition.
func explain(out io.Writer, tools []listedTool) error {
	var text strings.Builder
	for i, a := range inferByServer(tools) {
		doubt := ""
		if a.Doubtful() {
			doubt = ", doubtful"
		}
		fmt.Fprintf(&text, "%s: %s%s\n", safetext.Line(tools[i].definition.Name), a.Safety(), doubt)
		for _, e := range a.Evidence {
			if e.Field != annotation.Conditions {
				fmt.Fprintf(&text, "  %-20s %-8s %s%s\n", e.Field, e.Value, safetext.Line(e.String()), ruleOf(e))
			}
		}
		for _, line := range conditions(a) {
			fmt.Fprintf(&text, "  %-20s %s\n", "condition", safetext.Line(line))
		}
		if a.Freshness == "" && (a.Safety() == annotation.Safe || len(a.Conditions) > 0) {
			fmt.Fprintf(&text, "  %-20s %-8s %s\n", annotation.FreshnessHint, annotation.Volatile, "no word states how long the result stays true")
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// conditions returns the conditions in words, each with the evidence for it.
func conditions(a annotation.Annotations) (lines []string) {
	for i := range a.Conditions {
		line := a.Conditions[i].String()
		for _, e := range a.Evidence {
			if e.Field == annotation.Conditions && e.Value == line {
				line += "; " + e.String() + ruleOf(e)
				break
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func ruleOf(e annotation.Evidence) string {
	if e.Rule == "" {
		return ""
	}
	return " (rule: " + e.Rule + ")"
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
	for server, members := range groups {
		definitions := make([]*mcp.Tool, len(members))
		for k, i := range members {
			definitions[k] = tools[i].definition
		}
		for k, a := range infer.ToolsOf(server, definitions) {
			all[members[k]] = a
		}
	}
	return all
}

// toolName is MCP's rule for the name of a tool.
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`) })

// readTool reads one line. Only a line without a name is at fault; a member of the wrong type is left
// out and becomes a finding.
func readTool(line []byte) (listedTool, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return listedTool{}, errNoTool
	}
	t := listedTool{definition: &mcp.Tool{}}
	if err := json.Unmarshal(members["name"], &t.definition.Name); err != nil || string(members["name"]) == "null" {
		return listedTool{}, errors.New(`no "name" that is a string`)
	}
	if !toolName().MatchString(t.definition.Name) {
		t.findf("the name breaks MCP's rule: 1 to 128 characters out of A-Z, a-z, 0-9, '_', '-' and '.'")
	}
	text := func(key string, to *string) {
		raw, ok := members[key]
		if ok && json.Unmarshal(raw, to) != nil {
			t.findf("%s is not a string and was not looked at", key)
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
