package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"golang.org/x/term"
)

type options struct {
	dir, yes, script, server, audit string
	purge, prompt, repl, json       bool
	flaky, rate                     float64
	seed                            uint64

	in        io.Reader
	out, errs io.Writer
}

const intro = `usage: agent [flags]

An agent that tidies a folder: each of its calls is classified, confirmed, cached,
retried and rate-limited by a chain of Fairlead. Without flags it works on a copy
of a small messy folder, by rules, without a model and without a network.
contrib/openai/examples/agent and contrib/anthropic/examples/agent have a model.

`

func (o *options) parse(args []string) error {
	f := flag.NewFlagSet("agent", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.dir, "dir", "", "tidy `DIR` instead; what is deleted goes to DIR/.trash/")
	f.BoolVar(&o.purge, "purge", false, "with --dir: delete for good")
	f.Float64Var(&o.flaky, "flaky", 0, "make the server fail at this `RATE`, 0 to 1")
	f.Uint64Var(&o.seed, "seed", 1, "which calls --flaky lets fail, a `NUMBER`")
	f.Float64Var(&o.rate, "rate", 0, "make at most `N` calls a minute, without a burst; 0 means without a limit")
	f.StringVar(&o.yes, "yes", "", "approve `WHAT` without asking: none, safe (only what .trash/ can undo) or all; the default is to ask, and none without a terminal")
	f.BoolVar(&o.prompt, "prompt", false, "print the system prompt that a model would get, and exit")
	f.BoolVar(&o.repl, "repl", false, "call the tools by hand")
	f.StringVar(&o.script, "script", "", "make the calls of a JSON `FILE`: "+`[{"tool": …, "arguments": {…}}, …]`)
	f.StringVar(&o.server, "server", "", "use another MCP `SERVER`: a URL, a command line, or memory")
	f.StringVar(&o.audit, "audit", "", "record every call in `FILE`, one JSON object a line, without secrets")
	f.BoolVar(&o.json, "json", false, "print one JSON event a line; the last is the summary")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(o.out, intro)
		f.SetOutput(o.out)
		f.PrintDefaults()
		fmt.Fprint(o.out, "\nexit codes: 0 done, 1 error, 2 usage, 3 done but something was denied\n")
		return err
	} else if err != nil {
		return fmt.Errorf("%w; --help lists the flags", err)
	}
	empty := ""
	f.Visit(func(f *flag.Flag) {
		if f.Value.String() == "" {
			empty = f.Name
		}
	})
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; only a model takes a goal, see contrib/openai/examples/agent", f.Arg(0))
	case empty != "":
		return fmt.Errorf("--%s is empty; --help says what it takes", empty)
	case o.repl && o.script != "":
		return errors.New("--repl and --script exclude each other; leave one out")
	case o.server != "" && (o.dir != "" || o.flaky > 0):
		return errors.New("--server excludes --dir and --flaky, which are about this program's own server")
	case !slices.Contains([]string{"", "none", "safe", "all"}, o.yes):
		return fmt.Errorf("--yes is %q; use none, safe or all", o.yes)
	case !(o.flaky >= 0 && o.flaky <= 1): // NaN too
		return fmt.Errorf("--flaky is %v; use a share from 0 to 1, such as 0.3", o.flaky)
	case !(o.rate >= 0) || math.IsInf(o.rate, 0):
		return fmt.Errorf("--rate is %v; use a number of calls a minute, such as 600", o.rate)
	case o.purge && o.dir == "":
		return errors.New("--purge needs --dir; without one the agent works on a copy")
	case o.yes == "" && isTerminal(o.in) && isTerminal(o.errs):
		o.yes = "ask"
	case o.yes == "":
		o.yes = "none"
	}
	return nil
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
