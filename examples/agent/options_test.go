package main

import (
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"--nonsense"}, {"--yes", "maybe"}, {"--flaky", "2"}, {"--flaky", "NaN"}, {"--rate", "-1"}, {"--rate", "Inf"}, {"--purge"},
		{"--repl", "--script", "x"}, {"--server", "x", "--dir", "y"}, {"--server", "x", "--flaky", "0.1"}, {"--dir", ""}, {"--audit", ""}, {"a goal"},
	} {
		r := playReal(t, "", args...)
		if r.code != exitUsage || r.out != "" || strings.Count(r.errs, "\n") != 1 || !strings.HasPrefix(r.errs, "agent: ") {
			t.Errorf("%q: exit %d, %q, %q", args, r.code, r.out, r.errs)
		}
	}
	if r := playReal(t, "", "--help"); r.code != exitDone || !strings.Contains(r.out, "exit codes") || r.errs != "" {
		t.Errorf("--help: exit %d, %q", r.code, r.errs)
	}
}

func TestRateMakesTheLimitShow(t *testing.T) {
	r := play(t, "", "--rate", "600", "--yes", "all", "--json")
	if s := r.summary(t); r.code != exitDone || s["waited"] < 1 || s["limited"] != 0 {
		t.Errorf("exit %d, %v", r.code, s)
	}
	r = play(t, "", "--rate", "0.5", "--yes", "all", "--json")
	if s := r.summary(t); r.code != exitError || s["limited"] < 1 || s["server_calls"] != 1 {
		t.Errorf("a wait of two minutes is not refused: exit %d, %v", r.code, s)
	}
}

func TestPromptIsPrintedAndNothingIsCalled(t *testing.T) {
	r := play(t, "", "--prompt")
	if r.code != exitDone || !strings.HasPrefix(r.out, "You are an agent") || !strings.Contains(r.out, "files__delete_file") || strings.Contains(r.out, "calls server") {
		t.Errorf("exit %d:\n%s", r.code, r.out)
	}
}
