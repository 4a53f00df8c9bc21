package main

// sizes are those of the arguments.
var sizes = []struct {
	name  string
	bytes int
}{
	{"64B", 64}, {"200B", 200}, {"1KB", 1 << 10}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"256KB", 256 << 10}, {"1MB", 1 << 20},
}

// benchmarks are all rows, in the order of the table.
func benchmarks() []benchmark {
	all := []benchmark{
		of("call/plain", callPlain),
		of("call/deadline", callDeadline),
		of("call/audited", callAudited),
		of("call/granted", callGranted),
	}
	for _, s := range sizes {
		all = append(all,
			of("hit/"+s.name+"/repeat", func() contest { return hit(s.bytes, s.name, false) }),
			of("hit/"+s.name+"/fresh", func() contest { return hit(s.bytes, s.name, true) }),
		)
	}
	all = append(all, of("miss/plain", missPlain), of("miss/deadline", missDeadline))
	for _, s := range sizes[1:] {
		all = append(all,
			of("key/"+s.name, func() contest { return key(s.name, newArgument(s.bytes).raw) }),
			of("key/"+s.name+"/rows", func() contest { return key(s.name+"/rows", rowsOf(s.bytes)) }),
		)
	}
	all = append(all, benchmark{name: "hit/2cores", run: twoCores, judge: judgeCores})
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range []string{modern, legacy} {
			w := wire{transport, version}
			all = append(all, proxied(w, 1), proxied(w, callers))
		}
	}
	return all
}
