package main

import "runtime"

var sizes = []struct {
	name  string
	bytes int
}{
	{"64B", 64}, {"200B", 200}, {"1KB", 1 << 10}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"256KB", 256 << 10}, {"1MB", 1 << 20},
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
	all = append(all, of("miss/plain", missPlain), of("miss/deadline", missDeadline))
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range []string{modern, legacy} {
			w := wire{transport, version}
			all = append(all, proxied(w, 1), proxied(w, callers))
		}
	}
	for _, at := range []int{1, callers} {
		if runtime.GOOS != "linux" { // which reports the CPU time of another process in a file
			break
		}
		all = append(all, results("200B", 200, at), results("100KB", 100<<10, at))
	}
	return all
}
