package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/lifecycle"
)

func TestNothingIsWrongInAnyOrder(t *testing.T) {
	t.Parallel()
	states := 0
	for _, s := range scenarios {
		e, found := explore(s.world(lifecycle.Life), 0)
		if found != nil {
			t.Errorf("%s: %v", s.name, found)
		}
		if states += len(e.seen); e.ends == 0 {
			t.Errorf("%s: it does not end", s.name)
		}
	}
	if states < 1_000_000 {
		t.Errorf("%d states, want a million", states)
	}
	t.Logf("%d states", states)
}

// edit returns the table with the rows changed that have one of the events and lead from a state.
func edit(from lifecycle.State, change func(*lifecycle.Row), on ...lifecycle.Event) lifecycle.Table {
	table := slices.Clone(lifecycle.Life)
	for i := range table {
		if slices.Contains(on, table[i].On) && slices.Contains(table[i].From, from) {
			change(&table[i])
		}
	}
	return table
}

func without(list []lifecycle.Write, w lifecycle.Write) []lifecycle.Write {
	return slices.DeleteFunc(slices.Clone(list), func(x lifecycle.Write) bool { return x == w })
}

// Each fault of the table is found, and as what it is.
func TestFaultsOfTheTableAreFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		in         string // scenarios with this in their name, "" for all
		table      lifecycle.Table
	}{
		{"a decision is taken without being spent", "lost", "that ends before", edit(lifecycle.Kept, func(r *lifecycle.Row) { r.Before = nil }, lifecycle.Take)},
		{"an approval is used without being spent", "untrue: executed", "", edit(lifecycle.Approved, func(r *lifecycle.Row) { r.Before = nil }, lifecycle.Use)},
		{
			"the end of a question takes back what another replica got", "untrue: 1.1 was executed",
			"replicas", edit(lifecycle.Waiting, func(r *lifecycle.Row) { r.After = []lifecycle.Write{lifecycle.StoreVoid} }, lifecycle.Expire),
		},
		{
			"a caller that has gone takes back what another replica got", "untrue: 0.1 was executed",
			"replicas", edit(lifecycle.Returned, func(r *lifecycle.Row) { r.After = []lifecycle.Write{lifecycle.StoreVoid} }, lifecycle.GiveUp),
		},
		{
			"a denial leaves what was approved for identical calls", "executed after it was taken back",
			"ends before", edit(lifecycle.Shown, func(r *lifecycle.Row) { r.After = without(r.After, lifecycle.DropOthers) }, lifecycle.Deny),
		},
		{"the clock approves", "lost", "two people", edit(lifecycle.Shown, func(r *lifecycle.Row) { r.By = lifecycle.Clock }, lifecycle.Approve)},
		{
			"a question is approved when it is asked", "executed without an approval that its person was shown",
			"", edit(lifecycle.New, func(r *lifecycle.Row) { r.To, r.Before = lifecycle.Approved, append(r.Before, lifecycle.StoreApproved) }, lifecycle.Ask),
		},
		{
			"a decision is not kept", "lost",
			"ends before", edit(lifecycle.Waiting, func(r *lifecycle.Row) { r.Before = without(r.Before, lifecycle.Keep) }, lifecycle.ApproveLeft),
		},
		{
			"an approval counts before it is stored", "lost",
			"", edit(lifecycle.Shown, func(r *lifecycle.Row) { r.Before = without(r.Before, lifecycle.StoreApproved) }, lifecycle.Approve),
		},
		{
			"the model reads that no question is open", "untrue: the model reads",
			"ends before", edit(lifecycle.Shown, func(r *lifecycle.Row) { r.Model = lifecycle.ReadsNotApproved }, lifecycle.Leave),
		},
		{
			"a call that was made is recorded as void", "untrue",
			"", edit(lifecycle.Taken, func(r *lifecycle.Row) { r.After = []lifecycle.Write{lifecycle.StoreVoid} }, lifecycle.End),
		},
		{
			"a denial that was kept lets its call be made", "executed after a denial",
			"ends before", edit(lifecycle.Refused, func(r *lifecycle.Row) { r.To = lifecycle.Taken }, lifecycle.Take),
		},
		{
			"a denial is not stored", "lost",
			"", edit(lifecycle.Shown, func(r *lifecycle.Row) { r.After = without(r.After, lifecycle.StoreDenied) }, lifecycle.Deny),
		},
		{
			"a remembered approval answers without the store", "untrue: the model reads",
			"remembered", edit(lifecycle.New, func(r *lifecycle.Row) { r.Before = nil }, lifecycle.Answer),
		},
	} {
		got := "nothing"
		for _, s := range scenarios {
			if tt.in != "" && !strings.Contains(s.name, tt.in) {
				continue
			}
			if _, found := explore(s.world(tt.table), 0); found != nil {
				got = found.err.Error()
				break
			}
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
