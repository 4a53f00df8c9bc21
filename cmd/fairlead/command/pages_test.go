package command

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/syntax"
)

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	anyBlock   = regexp.MustCompile("(?ms)^(````?)\\w*\n.*?^````?$")
	entryOf    = regexp.MustCompile(`"command": "fairlead",\s*"args": (\[[^\]]*\])`)
	ofHook     = regexp.MustCompile(`"command": "(fairlead [^"]+)"`)
	inLine     = regexp.MustCompile("`fairlead ([^`]+)`")
)

// Each command that a page prints is one that the program takes: its name, its flags and their values, and how many
// arguments it has. A command in a sentence may leave parts out, so that only its name and flags are compared.
func TestPagesPrintCommandsThatAreTaken(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tree := os.DirFS(here + "/../../..") // by way of the module, as above
	blocks, sentences := 0, 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "contrib/*/README.md", "verify/release/texts/*.md"} {
		files, err := fs.Glob(tree, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if file == "CHANGELOG.md" || strings.HasPrefix(file, "docs/design/") {
				continue // they have what was
			}
			text, err := fs.ReadFile(tree, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range entryOf.FindAllSubmatch(text, -1) {
				var words []string
				if err := json.Unmarshal(m[1], &words); err != nil {
					t.Errorf("%s: %s: %v", file, m[1], err)
				}
				blocks++
				if err := taken(words); err != nil {
					t.Errorf("%s: fairlead %s: %v", file, strings.Join(words, " "), err)
				}
			}
			var scripts []string
			for _, m := range slices.Concat(shellBlock.FindAllSubmatch(text, -1), ofHook.FindAllSubmatch(text, -1)) {
				scripts = append(scripts, string(m[1]))
			}
			for _, script := range scripts {
				for _, words := range ofFairlead(t, file, script) {
					blocks++
					if err := taken(words); err != nil {
						t.Errorf("%s: fairlead %s: %v", file, strings.Join(words, " "), err)
					}
				}
			}
			for _, m := range inLine.FindAllSubmatch(anyBlock.ReplaceAll(text, nil), -1) {
				sentences++
				if err := mentioned(strings.Fields(string(m[1]))); err != nil {
					t.Errorf("%s: fairlead %s: %v", file, m[1], err)
				}
			}
		}
	}
	if blocks < 25 || sentences < 50 {
		t.Errorf("%d commands of blocks and %d of sentences were found, want at least 25 and 50", blocks, sentences)
	}
}

func TestCommandsThatAreNotTaken(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"inspekt", "proxy --polcy x -- y", "proxy --replicas many -- y", "connect now", "policy chek x"} {
		if taken(strings.Fields(words)) == nil {
			t.Errorf("fairlead %s is taken", words)
		}
	}
	for _, words := range []string{"inspekt …", "proxy --polcy … -- …", "policy chek", "proxy -x"} {
		if mentioned(strings.Fields(words)) == nil {
			t.Errorf("fairlead %s is taken in a sentence", words)
		}
	}
	for _, words := range []string{"proxy … -- npx --yes", "audit show", "--version", "inspect --format=html", "proxy -- …"} {
		if err := mentioned(strings.Fields(words)); err != nil {
			t.Errorf("fairlead %s: %v", words, err)
		}
	}
}

// ofFairlead returns the words of each command of a script that runs fairlead. A word with a variable stands for itself.
func ofFairlead(t *testing.T, file, script string) (all [][]string) {
	t.Helper()
	parsed, err := syntax.NewParser().Parse(strings.NewReader(script), file)
	if err != nil {
		t.Errorf("a block of %s is not a script: %v", file, err)
		return nil
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			var words []string
			for _, arg := range call.Args {
				word := script[arg.Pos().Offset():arg.End().Offset()]
				words = append(words, strings.Trim(word, `"'`))
			}
			if words[0] == "npx" && len(words) > 1 && words[1] == "@fairlead/fairlead" {
				words = words[1:]
			}
			if strings.TrimPrefix(words[0], "@fairlead/") == "fairlead" {
				all = append(all, words[1:])
			}
		}
		return true
	})
	return all
}

// taken returns why the program does not take these words.
func taken(words []string) error {
	cmd, rest, err := root().Find(words)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() && !slices.ContainsFunc(rest, isFlag) {
		return fmt.Errorf("%s needs one of its commands", cmd.CommandPath())
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// mentioned returns why the program has no command of these words, or not one of its flags.
func mentioned(words []string) error {
	if i := slices.Index(words, "--"); i >= 0 {
		words = words[:i]
	}
	cmd := root()
	cmd.InitDefaultVersionFlag()
	cmd.InitDefaultHelpCmd()
	for len(words) > 0 {
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == words[0] })
		if i < 0 {
			break
		}
		cmd, words = cmd.Commands()[i], words[1:]
	}
	if cmd.HasSubCommands() && len(words) > 0 && !isFlag(words[0]) {
		return fmt.Errorf("%s has no command %s", cmd.CommandPath(), words[0])
	}
	cmd.InitDefaultHelpFlag()
	for _, word := range slices.DeleteFunc(words, func(word string) bool { return !isFlag(word) }) {
		word, _, _ = strings.Cut(word, "=")
		var flag *pflag.Flag
		if name, long := strings.CutPrefix(word, "--"); long {
			flag = cmd.Flags().Lookup(name)
		} else if len(word) == 2 {
			flag = cmd.Flags().ShorthandLookup(word[1:])
		}
		if flag == nil {
			return fmt.Errorf("%s has no flag %s", cmd.CommandPath(), word)
		}
	}
	return nil
}

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }
