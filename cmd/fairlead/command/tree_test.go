package command

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

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
	const path = "../../../docs/reference/command.md"
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
