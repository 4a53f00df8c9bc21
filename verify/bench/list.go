package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"time"
)

// sizes are those of the arguments whose keys are made.
var sizes = []struct {
	name  string
	bytes int
}{
	{"200B", 200}, {"1KB", 1 << 10}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"256KB", 256 << 10}, {"1MB", 1 << 20},
}

// benchmarks are all rows, in the order of the table.
func benchmarks() (all []benchmark) {
	for _, c := range contests {
		all = append(all, of(c.name, func() contest { return contestOf(c.name) }))
	}
	for _, s := range sizes {
		all = append(all,
			of("key/"+s.name, func() contest { return key(newArgument(s.bytes).raw) }),
			of("key/"+s.name+"/rows", func() contest { return key(rowsOf(s.bytes)) }),
		)
	}
	hot := newArgument(200).raw
	all = append(all,
		of("infer", inferring),
		register("register/10", 10, tiny, 0),
		register("register/100", 100, tiny, 0),
		register("register/1k", 1000, tiny, 0),
		register("register/10k", 10_000, tiny, 50*time.Millisecond),
		register("register/10k/real", 10_000, ordinary, 400*time.Millisecond),
		benchmark{"register/100k", registerLinear},
		overCores("cores/miss", 2, 0.8, func(worker, n int) json.RawMessage { return fmt.Appendf(nil, `{"id":"%d-%d"}`, worker, n) }),
		overCores("cores/hit", 16, 0.5, func(int, int) json.RawMessage { return hot }),
		stampede(1), stampede(10), stampede(100), stampede(1000), stampede(10_000),
		benchmark{"entry-memory", func(pace) (row, error) { return entryMemory(1_000_000) }},
		of("sdk-overhead/call", func() contest { return sdkOverhead(calling(writes)) }),
		of("sdk-overhead/hit", func() contest { return sdkOverhead(asking(200, false)) }),
	)
	for _, at := range []int{1, 64} {
		if runtime.GOOS != "linux" { // only Linux reports the CPU time of another process in a file
			break
		}
		all = append(all, results("200B", 200, at), results("100KB", 100<<10, at))
	}
	return all
}
