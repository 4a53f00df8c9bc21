package main

import "runtime"

var sizes = []struct {
	name  string
	bytes int
}{
	{"200B", 200}, {"4KB", 4 << 10}, {"256KB", 256 << 10},
}

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
	all = append(all, of("miss/plain", missPlain), of("miss/deadline", missDeadline),
		benchmark{name: "cores/miss", run: missesOverCores}, benchmark{name: "cores/hit", run: hitsOverCores})
	for _, at := range []int{1, 64} {
		if runtime.GOOS != "linux" { // only Linux reports the CPU time of another process in a file
			break
		}
		all = append(all, results("200B", 200, at), results("100KB", 100<<10, at))
	}
	return all
}
