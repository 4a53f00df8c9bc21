package dial

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// program names a server by its command line: by the package or file that a runner is given, else by the command.
// The name is the host's, before anything runs: what a server calls itself could claim the rules, the
// approvals and the accepted definitions of another.
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

// runners start what their arguments name, and are no names of servers.
var runners = strings.Fields(`bun bunx cmd deno docker env go java node npm npx pipx pnpm pnpx podman py python python3 uv uvx yarn
	dlx exec run tool x`)

// switches are flags of runners that no value follows.
var switches = strings.Fields("-A -d -i -it -jar -m -q -t -y --init --interactive --offline --quiet --rm --yes")

func valueFlag(word string) bool {
	return strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && !slices.Contains(switches, word)
}

var ending = regexp.MustCompile(`(.)(@.*|:[^:]*|\.(?:exe|[cm]?js|ts|py|go|jar))$`)

// base is a word without folders, version and extension.
func base(word string) string {
	return ending.ReplaceAllString(path.Base(strings.ReplaceAll(word, `\`, "/")), "$1")
}

// common are names of files and folders of any server.
var common = strings.Fields(". .. / __main__ app bin build cli cmd dist index lib main mod out server src")

// telling is the last part of a path that is not common.
func telling(word string) string {
	word = strings.ReplaceAll(word, `\`, "/")
	for at := word; at != "." && at != "/"; at = path.Dir(at) {
		if name := base(at); !slices.Contains(common, name) {
			return name
		}
	}
	return defaultID
}
