package command

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite docs/reference/command.md")

// commands walks the whole tree, without what cobra adds by itself.
func commands() []*cobra.Command {
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return
		}
		if c.HasParent() {
			all = append(all, c)
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(root())
	return all
}

func TestEveryCommandShowsAnExample(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		if c.Short == "" || !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s has no short text, or no example of itself", c.CommandPath())
		}
		for line := range strings.Lines(c.Long) {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: a line is wider than terminals are: %s", c.CommandPath(), line)
			}
		}
		code, stdout, _ := program(t, "", append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if code != exitOK || !strings.Contains(stdout, "Examples:") {
			t.Errorf("%s --help: exit %d: %s", c.CommandPath(), code, stdout)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s says nothing", c.CommandPath(), f.Name)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"commands":  {[]string{""}, "inspect\t"},
		"format":    {[]string{"inspect", "--format", ""}, "sarif\n"},
		"fail-on":   {[]string{"inspect", "--fail-on", ""}, "warning\n"},
		"of lock":   {[]string{"lock", ""}, "accept\t"},
		"of record": {[]string{"audit", "verify", ""}, "jsonl\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, stdout, _ := program(t, "", append([]string{"__complete"}, c.args...)...); !strings.Contains(stdout, c.want) {
				t.Errorf("%q is not among\n%s", c.want, stdout)
			}
		})
	}
	for _, sh := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, _ := program(t, "", "completion", sh); code != exitOK || len(stdout) < 1000 {
			t.Errorf("%s: exit %d and %d bytes", sh, code, len(stdout))
		}
	}
}

// The page of the commands is their help.
func TestPageOfTheCommands(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	path := here + "/../../../docs/reference/command.md" // by way of the module: go test notes changes of such files only
	const mark = "<!-- The rest is written by: go -C cmd/fairlead test ./command -run TestPageOfTheCommands -update -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	own, rest, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("%s has lost the line\n%s", path, mark)
	}
	want := helpPage()
	if *update {
		if err := os.WriteFile(path, []byte(own+mark+want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if rest != want {
		t.Errorf("%s is not what the commands say; go -C cmd/fairlead test ./command -run TestPageOfTheCommands -update", path)
	}
}

// helpPage is the help of every command as Markdown, without the long texts. What several
// commands have in common, how servers are named and the flags of three or more, is there once.
func helpPage() string {
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	uses := make(map[string]int)
	for _, c := range commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if uses[f.Name+f.Usage]++; uses[f.Name+f.Usage] == 3 {
				shared.AddFlag(f)
			}
		})
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n## Flags of several commands\n\n```text\n%s\n\n%s```\n", naming, shared.FlagUsages())
	for _, c := range commands() {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", c.CommandPath(), c.Short)
		if c.HasSubCommands() {
			continue // those have the rest
		}
		fmt.Fprintf(&b, "\n```text\n%s\n", c.UseLine())
		own, others := pflag.NewFlagSet("", pflag.ContinueOnError), []string(nil)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if uses[f.Name+f.Usage] < 3 {
				own.AddFlag(f)
			} else {
				others = append(others, "--"+f.Name)
			}
		})
		b.WriteString(own.FlagUsages())
		if others != nil {
			fmt.Fprintf(&b, "      %s as above\n", strings.Join(others, ", "))
		}
		fmt.Fprintf(&b, "\n%s\n```\n", c.Example)
	}
	return b.String()
}

// A disk that is full is not a mistake in the command line.
func TestSchemaThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	full, ours := io.Pipe()
	_ = full.Close()
	var errs bytes.Buffer
	if code := Run(t.Context(), []string{"policy", "schema"}, strings.NewReader(""), ours, &errs); code != exitFindings || !strings.Contains(errs.String(), "writing the schema") {
		t.Errorf("exit %d: %s", code, &errs)
	}
}

func TestExitCodesOfTheBuiltProgram(t *testing.T) {
	t.Parallel()
	path, dir := programtest.Path(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	baseline := at("baseline.json")
	if code, out, errs := runs(t, path, "lying", "inspect", "--json", "--fail-on", "none", "--", "SERVER"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	} else if err := os.WriteFile(baseline, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runs(t, path, "honest", "lock", "accept", "--yes", "--lock", at("a.lock"), "--", "SERVER"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for name, c := range map[string]struct {
		code   int
		server string
		args   []string
	}{
		"inspect: clean":                      {0, "honest", []string{"inspect", "--", "SERVER"}},
		"the version":                         {0, "honest", []string{"--version"}},
		"inspect: findings":                   {1, "lying", []string{"inspect", "--", "SERVER"}},
		"inspect: findings, all milder":       {0, "lying", []string{"inspect", "--fail-on", "none", "--", "SERVER"}},
		"inspect: findings that are known":    {0, "lying", []string{"inspect", "--baseline", baseline, "--", "SERVER"}},
		"inspect: a warning":                  {0, "vague", []string{"inspect", "--", "SERVER"}},
		"inspect: a warning that counts":      {1, "vague", []string{"inspect", "--fail-on", "warning", "--", "SERVER"}},
		"inspect: no note":                    {0, "honest", []string{"inspect", "--fail-on", "note", "--", "SERVER"}},
		"inspect: as SARIF":                   {1, "lying", []string{"inspect", "--format", "sarif", "--", "SERVER"}},
		"inspect: as a page":                  {1, "lying", []string{"inspect", "--format", "html", "--", "SERVER"}},
		"inspect: a broken baseline":          {2, "lying", []string{"inspect", "--baseline", at("a.lock"), "--", "SERVER"}},
		"inspect: no baseline":                {2, "lying", []string{"inspect", "--baseline", at("none"), "--", "SERVER"}},
		"inspect: as accepted":                {0, "honest", []string{"inspect", "--lock", at("a.lock"), "--", "SERVER"}},
		"inspect: not as accepted":            {1, "lying", []string{"inspect", "--lock", at("a.lock"), "--", "SERVER"}},
		"inspect: no lock file":               {2, "lying", []string{"inspect", "--lock", at("none"), "--", "SERVER"}},
		"inspect: an empty lock":              {2, "honest", []string{"inspect", "--lock", "", "--", "SERVER"}},
		"proxy: empty scopes":                 {2, "honest", []string{"proxy", "--scope", "", "--", "SERVER"}},
		"proxy: an empty list of approvers":   {2, "honest", []string{"proxy", "--approve=", "--", "SERVER"}},
		"inspect: no time":                    {2, "honest", []string{"inspect", "--timeout", "-1s", "--", "SERVER"}},
		"inspect: no time at all":             {2, "honest", []string{"inspect", "--timeout", "0", "--", "SERVER"}},
		"inspect: an URL with a query":        {3, "honest", []string{"inspect", "--server", "a=http://127.0.0.1:1/mcp?a=1&b=2"}},
		"inspect: no such flag":               {2, "honest", []string{"inspect", "--what"}},
		"inspect: no such level":              {2, "honest", []string{"inspect", "--fail-on", "terrible", "--", "SERVER"}},
		"inspect: no server":                  {2, "honest", []string{"inspect"}},
		"inspect: no such command":            {3, "honest", []string{"inspect", "--", "no-such-command-anywhere"}},
		"inspect: refused":                    {3, "honest", []string{"inspect", "http://127.0.0.1:1/mcp"}},
		"inspect: one of two does not answer": {3, "honest", []string{"inspect", "http://127.0.0.1:1/mcp", "--", "SERVER"}},
		"prompt":                              {0, "honest", []string{"prompt", "--", "SERVER"}},
		"prompt: refused":                     {3, "honest", []string{"prompt", "http://127.0.0.1:1/mcp"}},
		"call":                                {0, "honest", []string{"call", "get_account", "--", "SERVER"}},
		"call: nobody says yes":               {1, "lying", []string{"call", "delete_account", "--", "SERVER"}},
		"call: no such tool":                  {2, "honest", []string{"call", "get_nothing", "--", "SERVER"}},
		"call: arguments are a list":          {2, "honest", []string{"call", "get_account", "--arguments", "[]", "--", "SERVER"}},
		"call: refused":                       {3, "honest", []string{"call", "get_account", "http://127.0.0.1:1/mcp"}},
		"lock diff: the same":                 {0, "honest", []string{"lock", "diff", "--lock", at("a.lock"), "--", "SERVER"}},
		"lock diff: changed":                  {1, "lying", []string{"lock", "diff", "--lock", at("a.lock"), "--", "SERVER"}},
		"lock accept: nobody says yes":        {1, "honest", []string{"lock", "accept", "--lock", at("b.lock"), "--", "SERVER"}},
		"lock accept: a broken file":          {2, "honest", []string{"lock", "accept", "--yes", "--lock", baseline, "--", "SERVER"}},
		"review: nothing to decide":           {0, "honest", []string{"review", "--lock", at("a.lock"), "--", "SERVER"}},
		"review: nobody decides":              {1, "vague", []string{"review", "--lock", at("c.lock"), "--", "SERVER"}},
		"review: refused":                     {3, "honest", []string{"review", "http://127.0.0.1:1/mcp"}},
		"audit verify: no file":               {2, "honest", []string{"audit", "verify", at("none")}},
		"audit verify: no record":             {1, "honest", []string{"audit", "verify", baseline}},
		"help":                                {0, "honest", []string{"help", "inspect"}},
		"no such command":                     {2, "honest", []string{"explode"}},
		"no such command of lock":             {2, "honest", []string{"lock", "explode"}},
		"no such command of policy":           {2, "honest", []string{"policy", "explode"}},
		"no such command of audit":            {2, "honest", []string{"audit", "explode"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := runs(t, path, c.server, c.args...)
			if code != c.code {
				t.Errorf("exit %d, want %d; stdout %.300q, stderr %q", code, c.code, stdout, stderr)
			}
			if (code != 0) != strings.Contains(stderr, "fairlead: ") {
				t.Errorf("exit %d and stderr %q", code, stderr)
			}
		})
	}
	if _, err := os.Stat(at("b.lock")); err == nil {
		t.Error("a lock file was written that nobody agreed to")
	}
}
