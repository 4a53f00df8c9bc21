package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/shell"
)

// serverArgs is how the servers are named, for the lines of usage.
const serverArgs = "[URL...] [-- COMMAND [ARG...]]"

// naming is the part of a command's help about names.
const naming = `Give servers as an http(s) URL, as a command after --, as --server NAME=URL or
NAME=COMMAND, or as --config with the configuration file of a client (Claude, Codex,
Cursor, opencode, VS Code, Windsurf, Zed and others). You can combine these. With
--config, --server NAME selects one server of the file. A server that you do not name
is named after its program, its package or its host.`

// serverNames are the flags that name servers. Their methods also take the words of the command line.
type serverNames struct {
	configs []string
	servers []string
	name    string
}

func (f *serverNames) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.configs, "config", nil, "configuration `FILE` of a client, with its servers (repeatable)")
	cmd.Flags().StringArrayVar(&f.servers, "server", nil, "the `NAME` of a server in that file, or NAME=URL, or NAME=COMMAND (repeatable)")
	cmd.Flags().StringVar(&f.name, "name", "", "the `ID` of the only server, for findings, records and lock files (default: its program or host)")
	must(cmd.MarkFlagFilename("config", "json", "jsonc", "toml"))
}

// serverFlags are the flags of commands that reach servers and list their tools.
type serverFlags struct {
	serverNames

	trust   bool
	noKnown bool
	wait    time.Duration
}

func (f *serverFlags) register(cmd *cobra.Command) {
	f.serverNames.register(cmd)
	cmd.Flags().BoolVar(&f.trust, "trust", false, "trust the annotations that servers declare, also where they lower a class")
	registerNoKnown(cmd, &f.noKnown)
	cmd.Flags().DurationVar(&f.wait, "timeout", listPatience, "how long a server may take to start and to list its tools")
}

// registerNoKnown adds the flag that switches package known off.
func registerNoKnown(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "no-known", false, "infer the classes of public servers as well, which come with this program for those that many people install")
}

// listPatience is how long a server may take to start and to list its tools, by default.
const listPatience = 2 * time.Minute

// must panics on an error that only a mistake in this program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// targets returns the servers; dash is the number of words before --, negative without it.
func (f *serverNames) targets(words []string, dash int) ([]dial.Target, error) {
	urls, command := words, []string(nil)
	if dash >= 0 {
		urls, command = words[:dash], words[dash:]
	}
	all, err := f.named()
	if err != nil {
		return nil, err
	}
	for _, word := range urls {
		t := dial.Words(word)
		if t.URL == "" {
			return nil, fmt.Errorf("%q is not an http or https URL; give the command of a server after --: -- COMMAND ARGS", word)
		}
		all = append(all, t)
	}
	switch {
	case dash >= 0 && len(command) == 0:
		return nil, errors.New("there is no command after --")
	case len(command) > 0:
		all = append(all, dial.Command(command...))
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("no server is named: give an URL, -- COMMAND ARGS, --server NAME=URL, or --config FILE")
	case f.name != "" && len(all) > 1:
		return nil, errors.New("--name is for one server; give several their names by --server NAME=URL or NAME=COMMAND")
	case f.name != "":
		all[0].ID = f.name
	}
	for _, t := range all {
		if err := t.Check(); err != nil && (t.Fault == nil || len(all) == 1) { // one of several is left to the others
			return nil, err
		}
	}
	return dial.Several(all), nil
}

// named returns the servers of the files and those of --server.
func (f *serverNames) named() ([]dial.Target, error) {
	var all, own []dial.Target
	var names []string
	for _, text := range f.servers {
		name, what, defines := strings.Cut(text, "=")
		if !defines {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			continue
		}
		words, err := split(what)
		if err != nil || len(words) == 0 {
			return nil, fmt.Errorf("--server %q is neither NAME=URL nor NAME=COMMAND", text)
		}
		t := dial.Words(words...)
		t.ID = name
		own = append(own, t)
	}
	if len(names) > 0 && len(f.configs) == 0 {
		return nil, fmt.Errorf("--server %s: of which file? Name one by --config, or write --server %s=URL", names[0], names[0])
	}
	wanted := slices.Collect(slices.Chunk(names, 1))
	if len(names) == 0 {
		wanted = [][]string{nil} // all of them
	}
	for _, name := range wanted {
		found, err := f.find(name...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return append(all, own...), nil
}

// find returns the servers of the files, or only that of a name, which one of the files has to have.
func (f *serverNames) find(name ...string) (all []dial.Target, err error) {
	var missing error
	for _, path := range f.configs {
		found, err := dial.Configured(path, name...)
		switch {
		case len(name) > 0 && errors.Is(err, dial.ErrNoServer):
			missing = err
		case err != nil:
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, missing
	}
	return all, nil
}

// split expands variables and takes a command line apart. A URL stays one word.
func split(text string) ([]string, error) {
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		url, err := shell.Expand(text, nil)
		return []string{url}, err
	}
	return shell.Fields(text, nil)
}
