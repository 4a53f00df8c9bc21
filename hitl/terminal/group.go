package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
)

// ConfirmGroup shows the calls, numbered, and reads lines until one of them decides about each.
func (t *terminal) ConfirmGroup(ctx context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
	if err := t.lines.take(ctx); err != nil {
		return nil, err
	}
	defer t.lines.release()
	missing := t.showAll(requests, first)
	for {
		which := "numbers (\"1 3\")  \"all\"  [N]one  [o]ne by one  [i]nstead  [d]etails"
		if !missing.None() {
			which = "[d]etails before numbers or \"all\"  [N]one  [o]ne by one  [i]nstead"
		}
		fmt.Fprintf(t.out, "  Allow which? %s  [?] (%s left): ", which, time.Until(requests[0].Deadline).Round(time.Second))
		text, word, err := t.lines.answer(ctx)
		if err != nil {
			return nil, err
		}
		picked, isNumbers := numbers(word, len(requests))
		said := make(map[string]hitl.Decision, len(requests))
		switch {
		case refuses(word) || word == "none":
			return said, nil
		case word == "i" || word == "instead":
			reason, err := t.instead(ctx)
			for _, r := range requests {
				said[r.ID] = hitl.Decision{Reason: reason}
			}
			return said, err
		case agrees(word):
			fmt.Fprintln(t.out, "  That says nothing of which; nothing was allowed. Type their numbers, or \"all\".")
		case word == "d" || word == "details":
			missing = t.showAll(requests, details)
		case word == "o" || word == "one by one":
			for _, r := range requests {
				if said[r.ID], err = t.one(ctx, r); err != nil {
					return said, err
				}
			}
			return said, nil
		case isNumbers && picked == nil:
			fmt.Fprintf(t.out, "  There are %d calls, numbered from 1; nothing was allowed.\n", len(requests))
		case !missing.None() && (word == "all" || isNumbers):
			fmt.Fprintf(t.out, notWhole, missing)
		case word == "all" || isNumbers:
			for i, r := range requests {
				if word == "all" || picked[i+1] {
					said[r.ID] = hitl.Decision{Verdict: hitl.Approved}
				}
			}
			return said, nil
		default:
			t.explain(text, "  Numbers approve those calls once, \"all\" approves all of them, o asks about each.\n"+
				"  n denies all, i denies all and takes a line for the model, d shows all arguments.\n")
		}
	}
}

func (t *terminal) showAll(requests []hitl.Request, d depth) (missing display.Missing) {
	for i, r := range requests {
		fmt.Fprintf(t.out, "\n  %d of %d", i+1, len(requests))
		missing = missing.And(t.show(r, d))
	}
	return missing
}

// numbers reads "1 3" or "1,3". It returns nil if a number is not one from 1 to most.
func numbers(text string, most int) (picked map[int]bool, isNumbers bool) {
	picked = make(map[int]bool)
	known := true
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, false
		}
		known = known && 1 <= n && n <= most
		picked[n] = true
	}
	if !known {
		return nil, true
	}
	return picked, len(picked) > 0
}
