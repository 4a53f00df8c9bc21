//go:build unix

package outages

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
)

// worksAgain waits until each replica is ready, and makes a read, a write and a deletion there.
func (r *rig) worksAgain(all []*client) {
	r.t.Helper()
	began := time.Now()
	ctx, stop := context.WithCancel(r.t.Context())
	defer stop()
	go r.person.work(ctx)
	for i, one := range r.replicas {
		end := time.Now().Add(30 * time.Second)
		for one.readyz() != "ok" && time.Now().Before(end) {
			time.Sleep(100 * time.Millisecond)
		}
		if got := one.readyz(); got != "ok" {
			r.t.Errorf("replica %d is %s", i, got)
		}
		c := all[i]
		c.at, c.session = i, ""
		for n, tool := range []string{"get_item", "add_item", "delete_item"} {
			id := []string{"7", fmt.Sprintf("w-%d-999998", c.number), fmt.Sprintf("d-%d-999999-yes", c.number)}[n]
			a := c.call(tool, id)
			if n > 0 {
				c.attempts[id]++
			}
			if !a.done {
				r.t.Errorf("%s at replica %d afterwards: %+v", tool, i, a)
			}
		}
	}
	r.t.Logf("everything worked again %v after the end, without a restart", time.Since(began).Round(10*time.Millisecond))
}

// recorded returns the ids that have an intent in a record of one of the replicas, and checks the records.
func (r *rig) recorded() map[string]bool {
	r.t.Helper()
	ids := make(map[string]bool)
	for i, one := range r.replicas {
		one.signal(15)
		files, err := filepath.Glob(filepath.Join(filepath.Dir(one.record), "calls*"))
		if err != nil {
			r.t.Fatal(err)
		}
		var records []string
		for _, name := range files {
			if !strings.HasSuffix(name, ".head") {
				records = append(records, name)
				r.intents(name, ids)
			}
		}
		reports, err := audit.VerifyAll(records...)
		if err != nil {
			r.t.Error(err)
		}
		n, open := int64(0), 0
		for _, report := range reports {
			n, open = n+report.Records, open+len(report.Open)
			if report.State != audit.Whole && report.State != audit.Interrupted || report.Problem != "" && report.State == audit.Whole {
				r.t.Errorf("the record %s is %s: %s", filepath.Base(report.File), report.State, report.Problem)
			}
		}
		r.t.Logf("replica %d: %d records in %d files, at most %d MiB", i, n, len(records), one.peak)
	}
	return ids
}

// intents adds the ids of a file.
func (r *rig) intents(name string, ids map[string]bool) {
	in, err := os.Open(name)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var one struct {
			Kind      audit.Kind
			Arguments struct{ ID string }
		}
		if json.Unmarshal(lines.Bytes(), &one) == nil && one.Kind == audit.Intent {
			ids[one.Arguments.ID] = true
		}
	}
}

// judge compares what the clients got, what a person approved, what was recorded and what the server has executed.
func (r *rig) judge(all []*client) {
	r.t.Helper()
	ids := r.recorded()
	why := make(map[string]int)
	attempts, told := make(map[string]int), make(map[string]bool)
	var made, failed, lost, repeated int
	var slowest time.Duration
	for _, c := range all {
		made, failed, lost, repeated, slowest = made+c.made, failed+c.failed, lost+c.lost, repeated+c.repeated, max(slowest, c.slowest)
		for text, n := range c.why {
			why[text] += n
		}
		for id, n := range c.attempts {
			attempts[id], told[id] = n, c.denied[id]
		}
	}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	broken := make(map[string]int)
	deletes := 0
	for id, times := range r.ledger.times {
		isDelete := strings.HasPrefix(id, "d-")
		if isDelete {
			deletes++
		}
		for what, is := range map[string]bool{
			"executed twice": times > 1, "executed without a record": !ids[id], "executed without an approval": isDelete && !r.person.approved(id),
			"executed though denied": strings.HasSuffix(id, "-no"), "executed, and the client was told that it was not called": attempts[id] == 1 && told[id],
			"executed, and no client has called it": attempts[id] == 0,
		} {
			if is {
				broken[what]++
				r.t.Errorf("%s: %s", id, what)
			}
		}
	}
	r.t.Logf("%d calls answered, %d refused or failed, %d without an answer, %d repeated; the slowest took %v", made, failed, lost, repeated, slowest.Round(time.Millisecond))
	r.t.Logf("%d writes executed, %d of them deletions, and %d reads at the server; %d questions denied", len(r.ledger.times), deletes, r.ledger.reads, r.person.denied)
	for _, text := range slices.SortedFunc(maps.Keys(why), func(a, b string) int { return why[b] - why[a] })[:min(len(why), 12)] {
		r.t.Logf("%6d times %q", why[text], text)
	}
	for _, what := range []string{"executed twice", "executed without a record", "executed without an approval", "executed though denied", "executed, and the client was told that it was not called"} {
		r.t.Logf("%d %s", broken[what], what)
	}
	if len(r.ledger.times) < 100 || deletes < 3 || made < 500 {
		r.t.Error("the run is too small to show anything")
	}
}
