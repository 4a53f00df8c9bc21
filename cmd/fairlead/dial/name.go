package dial

// Servers are named by this program and not by themselves: the rules of a policy, remembered approvals and accepted
// definitions are about a name, so a server that chose its own could claim those of another. Most command lines begin
// with a runner, such as npx or docker, which names thousands of servers. The name is therefore that of the package,
// image or file that the runner is given, without its version and extension, and of folders that any server may have.

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// defaultID names a server whose command line or address tells nothing about it.
const defaultID = "server"

var (
	notOfIDs = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)
	doubled  = regexp.MustCompile(`__+`)
)

// ID returns the name that a server of a client's file has here, by its name there.
func ID(name string) string { return idOf(name) }

// idOf returns a name as a catalog takes it: of at most 60 characters, with a dash for those that it does not take.
func idOf(name string) string {
	id := doubled.ReplaceAllString(notOfIDs.ReplaceAllString(name, "-"), "_")
	return cmp.Or(strings.Trim(id[:min(len(id), 60)], "-"), defaultID)
}

// program returns the name of a server by its command line: of the package or file that a runner is given, or else of
// the command.
func program(words []string) string {
	if len(words) == 0 {
		return defaultID
	}
	for i, word := range words {
		value := i > 0 && valueFlag(words[i-1])
		if value || strings.HasPrefix(word, "-") || strings.Contains(word, "=") || word == "/c" || slices.Contains(runners, base(word)) {
			continue
		}
		if i == 0 || slices.Contains(runners, base(words[0])) {
			return idOf(telling(word))
		}
	}
	return idOf(base(words[0]))
}

// runners start what their arguments name, and are not names of servers.
var runners = strings.Fields(`bun bunx cmd deno docker env go java node npm npx pipx pnpm pnpx podman py python python3 uv uvx yarn
	dlx exec run tool x`)

// flagSwitches are flags of runners that no value follows.
var flagSwitches = strings.Fields("-A -d -i -it -jar -m -q -t -y --init --interactive --offline --quiet --rm --yes")

// valueFlag reports whether the word after a flag is its value.
func valueFlag(word string) bool {
	return strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && !slices.Contains(flagSwitches, word)
}

// ending matches a version and an extension at the end of a word, and what precedes them.
var ending = regexp.MustCompile(`(.)(@.*|:[^:]*|\.(?:exe|[cm]?js|ts|py|go|jar))$`)

// base returns a word without folders, version and extension.
func base(word string) string {
	return ending.ReplaceAllString(path.Base(strings.ReplaceAll(word, `\`, "/")), "$1")
}

// common are names of files and folders of any server.
var common = strings.Fields(". .. / __main__ app bin build cli cmd dist index lib main mod out server src")

// telling returns the last part of a path that is not common.
func telling(word string) string {
	word = strings.ReplaceAll(word, `\`, "/")
	for at := word; at != "." && at != "/"; at = path.Dir(at) {
		if name := base(at); !slices.Contains(common, name) {
			return name
		}
	}
	return defaultID
}
