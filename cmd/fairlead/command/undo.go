package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/catalog/counterpart"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/spf13/cobra"
)

func undoCommand() *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:   "undo CALL " + serverArgs,
		Short: "Take a recorded call back, if its server has the opposite",
		Long: `Make the call that takes a recorded one back, as its record has it: a move in the other
direction, the opposite verb with the same arguments, or the deletion of what was made.
That is the opposite by the names of the tools; the server may do something else, and what
was overwritten meanwhile does not come back. CALL is the number of the line in 'fairlead
audit show --json', as RUN/N, or the call's own name if no other call has it.

The call is made like any other: through the chain, with your approval at the terminal if it
is dangerous, and it is added to the record. The exit code is 1 if it was not made or failed.`,
		Example: `  fairlead undo 3RZ4KQ/12 --audit calls.jsonl --config .mcp.json --server files`,
		Args:    needs("CALL", false),
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash == 0 {
				return errors.New("give the call before --: fairlead undo CALL -- COMMAND ARGS")
			}
			if o.audit == "" {
				return errors.New("--audit is missing: name the file that has the record of the call")
			}
			undo, err := recordedUndo(o.audit, args[0])
			if err != nil {
				return atFault(err)
			}
			targets, err := o.targets(args[1:], dash-1)
			if err != nil {
				return err
			}
			o.arguments = string(undo.Arguments)
			return o.run(cmd, undo.Server+"/"+undo.Tool, targets)
		},
	}
	o.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.lock, "lock", "", "`FILE` of accepted definitions; a tool that differs is not called (see fairlead lock)")
	flags.StringVar(&o.audit, "audit", "", "`FILE` that has the record of the call, and gets that of the new one (see fairlead audit)")
	flags.BoolVar(&o.asJSON, "json", false, "print the whole result as JSON")
	must(cmd.MarkFlagFilename("lock"))
	must(cmd.MarkFlagFilename("audit", "jsonl"))
	return cmd
}

// recordedUndo returns how the call of that name is taken back, from a whole record.
func recordedUndo(path, name string) (*audit.Undo, error) {
	report, err := audit.Verify(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case report.State == audit.Damaged:
		return nil, fmt.Errorf("%s was changed, so nothing of it is made: %s", path, report.Problem)
	}
	var found []audit.Record
	err = eachLine(path, func([]byte) bool { return false }, func(_ []byte, r audit.Record) {
		if r.Kind == audit.End && (callOf(r) == name || r.Call == name && name != "") {
			found = append(found, r)
		}
	})
	shown := safetext.Line(name)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("%s has no end of a call %q; see fairlead audit show %s --json", path, shown, path)
	case len(found) > 1:
		return nil, fmt.Errorf("%s has %d calls %q; give one as RUN/N", path, len(found), shown)
	case found[0].Undo == nil:
		return nil, fmt.Errorf("the call %s cannot be undone here: its server had no opposite of %s", shown, safetext.Line(found[0].Server+"/"+found[0].Tool))
	case found[0].Undo.Arguments == nil:
		return nil, notKept(shown, found[0].Undo)
	}
	return found[0].Undo, nil
}

// notKept is the error for an undo whose arguments are not in the record.
func notKept(call string, undo *audit.Undo) error {
	tool, names := safetext.Line(undo.Server+"/"+undo.Tool), make([]string, len(undo.Without))
	for i, name := range undo.Without {
		names[i] = safetext.Quote(name, 0)
	}
	without := cmp.Or(strings.Join(names, ", "), "a part")
	return fmt.Errorf("the call %s is taken back by %s, but the record leaves %s of its arguments out, which has the form of a secret or is too long;"+
		" make that call yourself with the values that you know: fairlead call %s --arguments JSON", call, tool, without, tool)
}

// inverseOf returns how a call of a fleet's tool is taken back.
func inverseOf(all **fleet) func(context.Context, middleware.Call) (hitl.Inverse, bool) {
	return func(_ context.Context, call middleware.Call) (hitl.Inverse, bool) {
		if *all == nil {
			return hitl.Inverse{}, false
		}
		by, ok := counterpart.Undo(call, (*all).tools.List())
		if !ok {
			return hitl.Inverse{}, false
		}
		return hitl.Inverse{Server: by.Tool.Server, Tool: by.Tool.Name(), Arguments: by.Arguments}, true
	}
}
