package hitl

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ConfirmGroup shows all calls, each with its number, and asks which of them may run.
func (t *terminal) ConfirmGroup(ctx context.Context, requests []Request) (map[string]Decision, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	t.showAll(requests, foldedArguments)
	for {
		fmt.Fprintf(t.out, "  Allow which? numbers (\"1 3\")  \"all\"  [N]one  [o]ne by one  [d]etails, or say what to do instead (%s left): ",
			time.Until(requests[0].Deadline).Round(time.Second))
		text, err := t.readLine(ctx)
		if err != nil {
			fmt.Fprintln(t.out, "\n  no answer: denied")
			return nil, err
		}
		said := make(map[string]Decision, len(requests))
		switch word := strings.ToLower(strings.TrimSpace(text)); word {
		case "", "n", "no", "none":
			return said, nil
		case "all":
			for _, r := range requests {
				said[r.ID] = Decision{Verdict: Approved}
			}
			return said, nil
		case "y", "yes":
			fmt.Fprintln(t.out, "  That says nothing of which; nothing was allowed. Type their numbers, or \"all\".")
		case "d", "details":
			t.showAll(requests, allArguments)
		case "o", "one by one":
			for _, r := range requests {
				if said[r.ID], err = t.one(ctx, r); err != nil {
					return said, err
				}
			}
			return said, nil
		default:
			picked, isNumbers := numbers(word, len(requests))
			switch {
			case isNumbers && picked == nil:
				fmt.Fprintf(t.out, "  There are %d calls, numbered from 1; nothing was allowed.\n", len(requests))
				continue
			case isNumbers:
				for _, n := range picked {
					said[requests[n-1].ID] = Decision{Verdict: Approved}
				}
			default:
				for _, r := range requests {
					said[r.ID] = Decision{Reason: strings.TrimSpace(text)}
				}
			}
			return said, nil
		}
	}
}

func (t *terminal) showAll(requests []Request, most int) {
	for i, r := range requests {
		fmt.Fprintf(t.out, "\n  %d of %d", i+1, len(requests))
		t.show(r, most)
	}
}

// numbers reads "1 3" or "1,3". It returns nil where a number is none of the calls.
func numbers(text string, most int) (picked []int, isNumbers bool) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
	known := true
	for _, f := range fields {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, false
		}
		known = known && 1 <= n && n <= most
		picked = append(picked, n)
	}
	if !known {
		return nil, true
	}
	return picked, len(picked) > 0
}
