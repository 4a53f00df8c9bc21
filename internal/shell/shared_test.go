package shell_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/shell"
)

// found is how many reads of a family are called reads, and how many of its writes.
type found struct{ reads, found, writes, passed int }

// leastFound is the share of reads that must be found.
const leastFound = 0.918

// TestSharedCommands holds the goals for labelled command lines, which lie beside the checkout: other people's words, of
// which no copy is kept here. FAIRLEAD_CASES names another file of the same form, and -v shows the families;
// FAIRLEAD_SHOW=1 shows what is not as labelled.
func TestSharedCommands(t *testing.T) {
	t.Parallel()
	file := cmp.Or(os.Getenv("FAIRLEAD_CASES"), filepath.Join("..", "..", "..", "shared", "eval", "shell", "cases.jsonl"))
	f, err := os.Open(file)
	if err != nil {
		t.Skipf("SKIPPED: the labelled command lines are not beside this checkout: %v", err)
	}
	defer f.Close()
	families, all := make(map[string]*found), &found{}
	shell.Shell("true") // reads the tables
	var spent time.Duration
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct {
			Suite, Command string
			Read           bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		v := shell.Shell(c.Command)
		spent += time.Since(start)
		if families[c.Suite] == nil {
			families[c.Suite] = &found{}
		}
		safe := v.Annotations.Safety() == annotation.Safe
		families[c.Suite].count(c.Read, safe)
		all.count(c.Read, safe)
		if safe && !c.Read {
			t.Errorf("%s: %q is called a read: %s", c.Suite, c.Command, v.Why)
		}
		if !safe && c.Read && os.Getenv("FAIRLEAD_SHOW") != "" {
			t.Logf("%s: %q asks: %s", c.Suite, c.Command, v.Why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		t.Logf("%-17s %s", name, families[name])
	}
	t.Logf("all: %s in %v", all, spent)
	if share := float64(all.found) / float64(all.reads); share < leastFound {
		t.Errorf("%.1f %% of the reads are found, want %.1f %%", 100*share, 100*leastFound)
	}
}

func (f *found) count(read, safe bool) {
	switch {
	case read && safe:
		f.reads++
		f.found++
	case read:
		f.reads++
	case safe:
		f.writes++
		f.passed++
	default:
		f.writes++
	}
}

func (f *found) String() string {
	return fmt.Sprintf("%d of %d reads found, %d of %d writes called reads", f.found, f.reads, f.passed, f.writes)
}
