package agent_test

import (
	"strconv"
	"strings"
	"testing"
)

func TestNothingUnsafeHappensTwiceOnAFlakyServer(t *testing.T) {
	retried, unknown := 0, 0
	const seeds = 20
	for seed := range seeds {
		t.Run("", func(t *testing.T) {
			r := play(t, "", "--flaky", "0.3", "--yes", "all", "--json", "--seed", strconv.Itoa(seed))
			if r.code != 0 {
				t.Errorf("exit %d: %s", r.code, r.err)
			}
			s := r.summary(t)
			retried += min(s["retries"], 1)
			unknown += s["unknown"]
			ledger := r.program.Folder.Ledger()
			if len(ledger) < 10 {
				t.Errorf("the ledger has only %d lines", len(ledger))
			}
			for _, e := range ledger {
				if e.Times > 1 || e.Runs > 1 {
					t.Errorf("%s %s ran %d times with %d effects", e.Tool, e.Arguments, e.Runs, e.Times)
				}
			}
			for _, e := range r.events(t) {
				if e["event"] == "call" && e["from"] != "memory" && e["state"] != "done" && e["state"] != "unknown" {
					t.Errorf("%v %v came out as %v: %v", e["tool"], e["arguments"], e["state"], e["trouble"])
				}
				if class := e["tool"]; e["event"] == "call" && e["state"] == "unknown" && (class == "read_file" || class == "list_files" || class == "hash_files" || class == "search_text") {
					t.Errorf("the read %v was lost", class)
				}
			}
			report(t, r.folder(t), "REPORT.md")
		})
	}
	if retried < seeds/2 || unknown == 0 {
		t.Errorf("%d of %d runs retried, with %d unknown outcomes: the faults do not show", retried, seeds, unknown)
	}
}

func TestRateMakesTheLimitShow(t *testing.T) {
	r := play(t, "", "--rate", "600", "--yes", "all", "--json")
	s := r.summary(t)
	if r.code != 0 || s["waited"] < 1 || s["limited"] != 0 {
		t.Errorf("exit %d, %v", r.code, s)
	}
	r = play(t, "", "--rate", "600", "--yes", "all")
	if !strings.Contains(r.out, "waited 100ms") {
		t.Errorf("the transcript does not show the wait:\n%s", r.out)
	}
	r = play(t, "", "--rate", "0.5", "--yes", "all", "--json")
	if s := r.summary(t); s["limited"] < 1 {
		t.Errorf("a wait of two minutes is not refused: %v", s)
	}
}
