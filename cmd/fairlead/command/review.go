package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/judge"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/spf13/cobra"
)

// judgeKey names the variable with the key for the model of --judge.
const judgeKey = "FAIRLEAD_JUDGE_KEY"

type reviewOptions struct {
	lockFlags

	all      bool
	reviewer string
	model    judge.Options
}

func reviewCommand() *cobra.Command {
	var o reviewOptions
	cmd := &cobra.Command{
		Use:   "review " + serverArgs,
		Short: "Decide the class of tools whose class is unknown",
		Long: `Go through the tools whose class is unknown, or was raised by a model alone. For each,
show its description, its input schema, the evidence and a proposal, ask for a class and
a reason, and write them to the lock file at once, with the reviewer and the date. A
decision also accepts the definition. It is used wherever the lock file is, until the
definition changes.

With --judge, a model behind an OpenAI-compatible URL proposes a class. It gets the name,
the description and the input schema, and the key in ` + judgeKey + ` if that is set.
Without a person's decision, its proposal is used only for a tool in the lock file, and
only if it is stricter than the tool's class.

` + naming + `

The exit code is 1 if tools are left undecided.`,
		Example: `  fairlead review --config .mcp.json
  fairlead review --all --reviewer Ada -- npx -y @modelcontextprotocol/server-memory
  fairlead review --judge http://localhost:11434/v1/chat/completions --judge-model qwen3 --config .mcp.json`,
		RunE: o.run,
	}
	o.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "go through the tools of every class")
	f.StringVar(&o.reviewer, "reviewer", "", "the `NAME` of the person who decides (default the user's)")
	f.StringVar(&o.model.URL, "judge", "", "the `URL` of chat completions of a model that proposes a class")
	f.StringVar(&o.model.Model, "judge-model", "", "the name of that `MODEL`")
	f.DurationVar(&o.model.Timeout, "judge-timeout", 0, "how long the model may take for one tool (default 30s)")
	cmd.MarkFlagsRequiredTogether("judge", "judge-model")
	return cmd
}

func (o *reviewOptions) run(cmd *cobra.Command, args []string) error {
	if o.reviewer == "" {
		who, err := user.Current()
		if err != nil || who.Username == "" {
			return errors.New("the user has no name; give yours by --reviewer")
		}
		o.reviewer = who.Username
	}
	r := review{o: o, out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), in: bufio.NewReader(until(cmd.Context(), cmd.InOrStdin()))}
	var err error
	if o.model.URL != "" {
		o.model.Key = os.Getenv(judgeKey)
		if r.judge, err = judge.New(o.model); err != nil {
			return fmt.Errorf("--judge: %w", err)
		}
	}
	if r.fleet, err = o.open(cmd, args); err != nil {
		return err
	}
	defer r.close()
	return r.walk(cmd.Context())
}

type review struct {
	*fleet

	o         *reviewOptions
	judge     *judge.Judge // nil for none
	in        *bufio.Reader
	out, errs io.Writer
	ended     bool // the input, so that no question can be asked
}

// candidates returns the tools, or only those that nothing but a model has decided.
func (r *review) candidates(everything bool) []*middleware.Tool {
	all := r.tools.List()
	for _, c := range r.lock.Changes(r.tools) {
		if c.Now != nil {
			all = append(all, c.Now)
		}
	}
	slices.SortFunc(all, func(a, b *middleware.Tool) int { return strings.Compare(a.String(), b.String()) })
	return slices.DeleteFunc(all, func(tool *middleware.Tool) bool {
		_, claim := r.lock.Decided(tool)
		return !everything && tool.Safety() != annotation.Unknown && len(claim.Evidence) == 0
	})
}

func (r *review) walk(ctx context.Context) error {
	all := r.candidates(r.o.all)
	for i, tool := range all {
		fmt.Fprintf(r.out, "\n%d of %d\n", i+1, len(all))
		held := r.change(tool)
		r.show(tool, held)
		p := r.propose(ctx, tool)
		d, quit, err := r.ask()
		if err == nil {
			err = r.keep(tool, held != nil, p, d)
		}
		if err != nil {
			return atFault(fmt.Errorf("%w; what was decided before is in %s", err, r.o.path))
		}
		if quit {
			break
		}
	}
	if n := len(r.lock.Changes(r.tools)); n > 0 {
		fmt.Fprintf(r.errs, "Tools that differ from %s: %d; look at them with: fairlead lock diff\n", r.o.path, n)
	}
	if left := len(r.candidates(false)); left > 0 {
		return atFault(fmt.Errorf("tools that no person has decided: %d; each call of them is asked about", left))
	}
	fmt.Fprintln(r.errs, "No tool is undecided.")
	return nil
}

// change returns why a tool is held back, nil if it is not.
func (r *review) change(tool *middleware.Tool) *pins.Change {
	changes := r.lock.Changes(r.tools)
	if i := slices.IndexFunc(changes, func(c pins.Change) bool { return c.Now != nil && c.Now.String() == tool.String() }); i >= 0 {
		return &changes[i]
	}
	return nil
}

// show shows a tool, all of it since a decision accepts all of it.
func (r *review) show(tool *middleware.Tool, held *pins.Change) {
	w := bufio.NewWriter(r.out)
	defer w.Flush()
	if held != nil && held.Kind == pins.Changed {
		fmt.Fprint(w, held.Diff())
	} else {
		fmt.Fprint(w, safetext.Text(tool.Explain()))
	}
	text, _ := json.Marshal(tool.Definition) // it was JSON
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members)
	delete(members, "name")
	for _, key := range slices.Sorted(maps.Keys(members)) {
		rows := safetext.JSONRows(members[key])
		if key == "description" {
			rows = safetext.Rows(tool.Definition.Description)
		}
		fmt.Fprintf(w, "  %s\n    %s\n", key, strings.Join(rows, "\n    "))
	}
}

// propose returns what the judge proposes, and shows it; nil for nothing.
func (r *review) propose(ctx context.Context, tool *middleware.Tool) *judge.Proposal {
	if r.judge == nil {
		fmt.Fprintf(r.out, "  proposal: %s, until more is known of it\n", max(tool.Safety(), annotation.Dangerous))
		return nil
	}
	p, err := r.judge.Propose(ctx, tool.Definition)
	if err != nil {
		fmt.Fprintf(r.errs, "fairlead: %s; it changes nothing\n", harmless(err.Error()))
		if errors.Is(err, judge.ErrUnreachable) {
			r.judge = nil // it is not waited for again
		}
		return nil
	}
	fmt.Fprintf(r.out, "  proposal: %s, by %s: %s\n", p.Class, safetext.Line(p.Model), safetext.Cut(safetext.Line(p.Reason), 300))
	return &p
}

// ask asks the person for a class and a reason. The decision has no class if there is none.
func (r *review) ask() (d pins.Decision, quit bool, err error) {
	for !r.ended {
		word, err := r.line("  Class? [s]afe  [m]oderate  [d]angerous  Enter leaves it  [q]uit: ")
		if err != nil {
			return d, true, err
		}
		switch strings.ToLower(word) {
		case "":
			return d, false, nil
		case "q", "quit":
			return d, true, nil
		case "s", "safe":
			d.Class = annotation.Safe
		case "m", "moderate":
			d.Class = annotation.Moderate
		case "d", "dangerous":
			d.Class = annotation.Dangerous
		default:
			continue
		}
		if d.Reason, err = r.line("  Reason: "); d.Reason != "" || err != nil {
			d.Reviewer = r.o.reviewer
			return d, false, err
		}
		fmt.Fprintln(r.errs, "  Without a reason nothing is decided.")
		d.Class = annotation.Unknown
	}
	return d, r.judge == nil, nil // without a person and a judge nothing is to come
}

// line asks a question and reads a line. A line that is cut short by anything but the end does not count.
func (r *review) line(question string) (string, error) {
	fmt.Fprint(r.errs, question)
	text, err := r.in.ReadString('\n')
	if err == nil {
		return strings.TrimSpace(text), nil
	}
	fmt.Fprintln(r.errs)
	if r.ended = true; !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(text), nil
}

// keep writes the person's decision to the lock file, or else that of the judge if it raises an
// accepted class that no person has decided.
func (r *review) keep(tool *middleware.Tool, held bool, p *judge.Proposal, d pins.Decision) error {
	was, who := tool.Safety(), d.Reviewer
	if d.Class == annotation.Unknown {
		word, _ := r.lock.Decided(tool)
		if p == nil || p.Class == was || p.Class >= max(was, annotation.Moderate) || len(word.Evidence) > 0 || held {
			return nil
		}
		d.Class, d.Reason, who = p.Class, p.Reason, p.Model+" alone"
	}
	d.Date = time.Now().UTC().Truncate(time.Second)
	if p != nil {
		d.Model, d.Prompt, d.Answer = p.Model, p.Prompt, p.Answer
	}
	if err := r.lock.Decide(r.tools, tool, d); err != nil {
		return err
	}
	if err := r.lock.Save(r.o.path); err != nil {
		return err
	}
	fmt.Fprintf(r.errs, "  %s: %s → %s, by %s; %s is written.\n", safetext.Line(tool.String()), was, d.Class, safetext.Line(who), r.o.path)
	return nil
}
