package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/dial"
	"github.com/fairlead-go/fairlead/internal/escape"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// inspected is the id under which the one server is known here.
const inspected = "server"

func inspectCommand() *cobra.Command {
	var format string
	var trust bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "inspect (URL | -- COMMAND [ARG...])",
		Short: "List a server's tools with what they declare, what was inferred and what would be done",
		Example: `  fairlead inspect https://example.com/mcp
  fairlead inspect -- npx -y @modelcontextprotocol/server-filesystem .`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := map[string]func(io.Writer, []row, []catalog.Finding) error{"table": writeTable, "json": writeJSON}[format]
			if !ok {
				return fmt.Errorf("--format %q is none of table, json", format)
			}
			if cmd.ArgsLenAtDash() < 0 && len(args) > 1 {
				return errors.New("a server's command stands behind two hyphens: fairlead inspect -- COMMAND ARGS")
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), wait, fmt.Errorf("no answer within %v (--timeout)", wait))
			defer cancel()
			rows, findings, err := inspect(ctx, dial.Target(args), trust)
			if err != nil {
				return err
			}
			return write(cmd.OutOrStdout(), rows, findings)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	cmd.Flags().BoolVar(&trust, "trust", false, "believe what the server declares")
	cmd.Flags().DurationVar(&wait, "timeout", 2*time.Minute, "how long the server may take to start and to list its tools")
	return cmd
}

// A row is what is known about one tool.
type row struct {
	Tool      string                 `json:"tool"`
	Declared  annotation.Annotations `json:"declared"`
	Inferred  annotation.Annotations `json:"inferred"`
	Effective annotation.Annotations `json:"effective"`
	Safety    annotation.Safety      `json:"safety"`
	Evidence  []annotation.Evidence  `json:"evidence"`
	Will      []string               `json:"will"`
}

func inspect(ctx context.Context, target dial.Target, trust bool) ([]row, []catalog.Finding, error) {
	tools := catalog.New(catalog.Options{Timeout: time.Minute})
	defer tools.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "fairlead", Version: "0"}, mount.Options(tools, nil))
	server, err := dial.Connect(ctx, client, target)
	if errors.Is(err, dial.ErrUsage) {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, &exitError{exitUnreachable, err}
	}
	defer func() { _ = server.Session.Close() }() // the answer is there; how the server ends is its own affair
	if trust {
		tools.Trust(inspected)
	}
	if err := tools.Add(ctx, inspected, server.Session); err != nil {
		return nil, nil, &exitError{exitUnreachable, server.Explain(err)}
	}
	std := standard()
	var rows []row
	for _, t := range tools.List() {
		declared, inferred := tools.Layers(t)
		rows = append(rows, row{
			Tool: t.Name(), Declared: declared, Inferred: inferred, Effective: t.Annotations,
			Safety: t.Safety(), Evidence: t.Annotations.Evidence, Will: std.Will(t),
		})
	}
	return rows, tools.Findings(), nil
}

// standard is the chain whose behaviour is shown.
func standard() chain.Standard {
	nobody := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil })
	return chain.Standard{
		Confirm:   hitl.New(nobody, hitl.Options{}),
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{}),
		Timeout:   timeout.New(timeout.Options{}),
	}
}

func writeJSON(out io.Writer, rows []row, findings []catalog.Finding) error {
	w := json.NewEncoder(out)
	w.SetIndent("", "  ")
	w.SetEscapeHTML(false)
	texts := make([]string, 0, len(findings))
	for _, f := range findings {
		texts = append(texts, f.String())
	}
	return w.Encode(struct {
		Tools    []row    `json:"tools"`
		Findings []string `json:"findings"`
	}{append([]row{}, rows...), texts})
}

func writeTable(out io.Writer, rows []row, findings []catalog.Finding) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tDECLARED\tINFERRED\tCLASS\tTHE CHAIN WILL\tBECAUSE")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", escape.Line(r.Tool), hints(r.Declared), hints(r.Inferred), r.Safety,
			strings.Join(r.Will, " · "), escape.Line(because(r)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(findings) > 0 {
		fmt.Fprintln(out, "\nFINDINGS")
	}
	for _, f := range findings {
		fmt.Fprintln(out, "  "+escape.Line(f.String()))
	}
	return nil
}

// hints writes the hints that decide the class, "—" where there are none.
func hints(a annotation.Annotations) string {
	var words []string
	for _, h := range []struct {
		value   annotation.Hint
		yes, no string
	}{
		{a.ReadOnly, "read-only", "writes"},
		{a.Destructive, "destructive", "additive"},
		{a.RequiresConfirmation, "confirm", ""},
		{a.Idempotent, "idempotent", ""},
		{a.OpenWorld, "open", ""},
	} {
		switch {
		case h.value == annotation.Yes:
			words = append(words, h.yes)
		case h.value == annotation.No && h.no != "":
			words = append(words, h.no)
		}
	}
	if len(words) == 0 {
		return "—"
	}
	return strings.Join(words, " ")
}

// because is the evidence that decided the class.
func because(r row) string {
	decides := annotation.ReadOnlyHint
	switch {
	case r.Effective.Destructive == annotation.Yes:
		decides = annotation.DestructiveHint
	case r.Effective.RequiresConfirmation == annotation.Yes:
		decides = annotation.RequiresConfirmation
	case r.Safety == annotation.Unknown:
		return "nothing known"
	}
	if e, ok := r.Effective.EvidenceOf(decides); ok {
		return e.String()
	}
	return "MCP's default for what nobody said"
}
