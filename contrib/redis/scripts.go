package redis

// All that must be atomic is a script of the folder lua, whose head lists its keys and arguments. A script runs
// in one slot of a cluster, so the keys that it is given have one common part in braces ([Store.key]).

import (
	"embed"

	goredis "github.com/redis/go-redis/v9"
)

// script returns a script that may write when memory is full, as those that only end entries do.
func script(name string) *goredis.Script { return read("#!lua flags=allow-oom\n", name) }

// strictScript returns a script that Redis refuses when memory is full.
func strictScript(name string) *goredis.Script { return read("#!lua\n", name) }

// read returns a script from its file, after the functions that scripts share.
func read(head, name string) *goredis.Script {
	for _, part := range []string{"prelude", name} {
		text, err := sources.ReadFile("lua/" + part + ".lua")
		if err != nil {
			panic(err) // the file is embedded
		}
		head += string(text)
	}
	return goredis.NewScript(head)
}

//go:embed lua
var sources embed.FS
