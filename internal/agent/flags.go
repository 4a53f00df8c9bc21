package agent

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"golang.org/x/term"
)

// options are what the person asked for.
type options struct {
	dir    string
	purge  bool
	flaky  float64
	seed   uint64
	rate   float64
	yes    string // ask, none, safe or all
	prompt bool
	repl   bool
	script string
	server string
	audit  string
	json   bool
	store  string
	copies int
	goal   string
}

// program is this one, as it is run in a module that has more in it.
const program = "./examples/agent"

var errHelp = errors.New("help was asked for")

const intro = `usage: agent [flags] [goal]

An agent that tidies a folder: every call that it makes is classed, confirmed,
remembered, repeated and paced by a chain of Fairlead. Without flags it works on
a copy of a small messy folder, by rules, without a model and without a network.
With OPENAI_BASE_URL or OPENAI_API_KEY, or with ANTHROPIC_API_KEY, a model plans
(OPENAI_MODEL and ANTHROPIC_MODEL name it), and the goal is what it is told.

`

const outro = `
exit codes: 0 done, 1 error, 2 usage, 3 done but something was denied
`

// parse reads the flags.
func (p *Program) parse() (options, error) {
	var o options
	f := flag.NewFlagSet("agent", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.dir, "dir", "", "tidy `DIR` instead; what is deleted goes to DIR/.trash/")
	f.BoolVar(&o.purge, "purge", false, "with --dir: delete for good")
	f.Float64Var(&o.flaky, "flaky", 0, "make the server fail at this `RATE`, 0 to 1")
	f.Uint64Var(&o.seed, "seed", 1, "which calls --flaky lets fail, a `NUMBER`")
	f.Float64Var(&o.rate, "rate", 0, "make at most `N` calls a minute, without a burst; 0 is no limit")
	f.StringVar(&o.yes, "yes", "", "say yes to `WHAT`: none, safe (only what .trash/ can undo) or all; the default is to ask, and none without a terminal")
	f.BoolVar(&o.prompt, "prompt", false, "print the system prompt that a model would get, and end")
	f.BoolVar(&o.repl, "repl", false, "call the tools by hand")
	f.StringVar(&o.script, "script", "", `play the calls of a JSON `+"`FILE`"+`: [{"tool": …, "arguments": {…}}, …]`)
	f.StringVar(&o.server, "server", "", "use another MCP `SERVER`: an URL, a command line, or memory")
	f.StringVar(&o.audit, "audit", "", "write every call down in `FILE`, one JSON record a line, without secrets")
	f.BoolVar(&o.json, "json", false, "print one JSON event a line; the last is the summary")
	f.StringVar(&o.store, "store", "", "share memory, pace and approvals with other agents on the same folder or server, in the Redis at this `URL`")
	f.IntVar(&o.copies, "replicas", 1, "with --store: how many agents share the pace of --rate, an `N`")
	switch err := f.Parse(p.Args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(p.Stdout, intro)
		f.SetOutput(p.Stdout)
		f.PrintDefaults()
		fmt.Fprint(p.Stdout, outro)
		return o, errHelp
	case err != nil:
		return o, fmt.Errorf("%w; --help lists the flags", err)
	}
	o.goal = strings.Join(f.Args(), " ")
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.yes == "" {
		o.yes = "none"
		if p.atTerminal() {
			o.yes = "ask"
		}
	}
	return o, p.check(o, given)
}

// check refuses what makes no sense, in words.
func (p *Program) check(o options, given map[string]bool) error {
	both := func(a, b string) error { return fmt.Errorf("--%s and --%s exclude each other; leave one out", a, b) }
	switch {
	case given["yes"] && o.yes != "none" && o.yes != "safe" && o.yes != "all":
		return fmt.Errorf("--yes is %q; it is none, safe or all", o.yes)
	case !(o.flaky >= 0 && o.flaky <= 1):
		return fmt.Errorf("--flaky is %v; it is a share from 0 to 1, such as 0.3", o.flaky)
	case !(o.rate >= 0) || math.IsInf(o.rate, 0):
		return fmt.Errorf("--rate is %v; it is a number of calls a minute, such as 600", o.rate)
	case given["dir"] && o.dir == "":
		return errors.New("--dir is empty; name a folder")
	case o.purge && o.dir == "":
		return errors.New("--purge needs --dir; without one the agent works on a copy")
	case o.repl && o.script != "":
		return both("repl", "script")
	case o.server != "" && o.dir != "":
		return both("server", "dir")
	case o.server != "" && o.flaky > 0:
		return both("server", "flaky")
	case given["store"] && o.store == "":
		return errors.New("--store is empty; give an URL such as redis://localhost:6379/0")
	case p.Stores.Lacks(o.store, program) != nil:
		return p.Stores.Lacks(o.store, program)
	case given["replicas"] && o.store == "":
		return errors.New("--replicas needs --store")
	case o.copies < 1:
		return fmt.Errorf("--replicas is %d; it is how many agents there are, at least 1", o.copies)
	case given["audit"] && o.audit == "":
		return errors.New("--audit is empty; name a file")
	case given["server"] && strings.TrimSpace(o.server) == "":
		return errors.New("--server is empty; give an URL, a command line, or memory")
	case o.goal != "" && (!p.hasModel() || o.repl || o.script != ""):
		return fmt.Errorf("%q is a goal, and only a model takes one; set OPENAI_BASE_URL or ANTHROPIC_API_KEY, or see --help", o.goal)
	}
	return nil
}

// atTerminal reports whether there is somebody to ask.
func (p *Program) atTerminal() bool { return isTerminal(p.Stdin) && isTerminal(p.Stderr) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
