package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/fairlead-go/fairlead/annotation"
)

// introduce prints what the chain knows before the first call.
func (f *fleet) introduce() {
	fmt.Println("orders has a primary (main) and a flaky copy; archive stands alone.")
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	will := f.std.Describe().Will
	for _, tool := range f.tools.List() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", tool, tool.Safety(), will(tool))
	}
	_ = w.Flush()
	for _, finding := range f.tools.Findings() {
		fmt.Println("finding:", finding)
	}
}

// report prints who served what, from the servers' own books.
func (f *fleet) report(got answers, books map[string]map[string]int) {
	fmt.Printf("\n%d calls, %d of them asked about.\n\n", calls, f.asked.Load())
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "tool\tanswered\tdenied\tunknown\tfailed\tat main\tat copy\tat archive\t")
	for _, name := range slices.Sorted(maps.Keys(got)) {
		tool, err := f.tools.Find(name)
		if err != nil {
			continue
		}
		a := got[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t", name, a["answered"], a["denied"], a["unknown"], a["failed"])
		for _, server := range servers {
			if (tool.Server == "archive") != (server == "archive") {
				fmt.Fprint(w, "–\t")
				continue
			}
			fmt.Fprintf(w, "%d\t", books[server][tool.Name()])
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	s := f.tools.Statistics()
	fmt.Printf("\nstatistics: %d tools (%d safe, %d moderate, %d dangerous); %d calls reached a server, %d failed, %d of them without an answer that counts\n",
		s.Total, s.BySafety[annotation.Safe], s.BySafety[annotation.Moderate], s.BySafety[annotation.Dangerous], s.Calls.Count, s.Calls.Failures, s.Calls.Unknown)
}

// promises says what must not have happened and did.
func (f *fleet) promises(got answers, books map[string]map[string]int) []error {
	var broken []error
	check := func(kept bool, text string, args ...any) {
		if !kept {
			broken = append(broken, fmt.Errorf("not so: "+text, args...))
			return
		}
		fmt.Printf("✓ "+text+"\n", args...)
	}
	deletes, notes := got["orders/delete_order"], got["orders/add_note"]
	fmt.Println()
	check(books["copy"]["delete_order"] == 0 && books["main"]["delete_order"] > 0, "all %d deletions went to the primary", books["main"]["delete_order"])
	check(books["main"]["delete_order"] == deletes["answered"]+deletes["unknown"], "each was carried out once")
	check(books["main"]["add_note"]+books["copy"]["add_note"] == notes["answered"]+notes["unknown"],
		"no note was added twice: %d at the two, and %d lost answers are told as unknown", books["main"]["add_note"]+books["copy"]["add_note"], notes["unknown"])
	check(books["copy"]["get_order"] > 0 && got["orders/get_order"]["failed"] == 0, "reads went to both, and what the copy lost was read at the other")
	check(books["archive"]["purge_entries"] == 0 && got["archive/purge_entries"]["denied"] > 0, "the archive's lie was caught: %d deletions asked about, none made", got["archive/purge_entries"]["denied"])
	return broken
}
