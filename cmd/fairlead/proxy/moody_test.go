package proxy_test

import (
	"os"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// moody is a server in a few lines of shell, so that each of its processes can do as a
// test wants. It finds its number in $n, each line that it reads in $line, and ends with a
// notification "die".
func moody(t testing.TB, name, does string) (_ proxy.Server, dir string) {
	t.Helper()
	dir = t.TempDir()
	return proxy.Server{Name: name, Dir: dir, Command: []string{"sh", "-c", `
		n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n
		say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
		answer() { say "\"id\":$(printf %s "$line" | sed 's/^{"jsonrpc":"2.0","id":\([^,]*\),.*/\1/'),$1"; }
		question='"id":1,"method":"elicitation/create","params":{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}'
		while read -r line; do
			case "$n $line" in
			` + does + `
			*'"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"moody","version":"1"}}';;
			*die*) exit 1;;
			*'"id"'*'"method"'*) answer "\"result\":{\"by\":$n}";;
			esac
		done`}}, dir
}

// exists waits for a file that a server makes.
func exists(t testing.TB, name string) {
	t.Helper()
	until(t, name, func() bool { _, err := os.Stat(name); return err == nil })
}
