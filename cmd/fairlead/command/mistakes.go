package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/fairlead-go/fairlead/cmd/fairlead/nearest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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

// noSuchCommand rejects a word that the command does not have, and suggests one that it has, or a flag.
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
