package fairlead_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// offTheClock finds what takes a time off the monotonic clock, or makes one that
// was never on it. Times of the packages that wait and expire are only compared with
// each other, so a wall clock that is set forth or back changes nothing; no test
// can set the clock of its bubble, so this one reads.
var offTheClock = regexp.MustCompile(`time\.(Unix\w*|Date|Parse\w*)\(|\.(UTC|Local|In|AddDate|Unix|UnixNano|UnixMilli|UnixMicro|GobEncode)\(|\.Round\(0\)`)

func TestWaitsAndExpiriesStayOnTheMonotonicClock(t *testing.T) {
	t.Parallel()
	for _, pkg := range []struct{ name, dir string }{
		{"B167 the rate limit's waits", "ratelimit"},
		{"B301 a question and an approval", "hitl"},
		{"B301 a grant's time", "internal/callstate"},
		{"a result's time", "cache"},
		{"waits between attempts", "retry"},
		{"an attempt's time", "timeout"},
	} {
		t.Run(pkg.name, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join(pkg.dir, "*.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no files of %s: %v", pkg.dir, err)
			}
			for _, file := range files {
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				text = bytes.ReplaceAll(text, []byte(".UTC().Format("), nil)     // for people to read
				text = bytes.ReplaceAll(text, []byte("InDoubt.UnixNano()"), nil) // in a digest, never compared as a time
				if found := offTheClock.Find(text); found != nil {
					t.Errorf("%s: %s leaves the monotonic clock", file, found)
				}
			}
		})
	}
}
