// Command lifecycle tries every order of events in the life of questions: what several calls of several processes,
// people, time and failures do to the table of internal/lifecycle and to a store of approvals, one write after the
// other, and every order of the steps of calls that may have happened, at two replicas with the store of package doubt.
// It prints the number of states of each scenario, and the way to the first state in which something is wrong.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/fairlead-go/fairlead/internal/lifecycle"
)

// A scenario is a world to begin with.
type scenario struct {
	name  string
	calls []call
	left  limits
}

// calls returns calls, each by its tool and process.
func calls(of ...[2]int8) (all []call) {
	for _, c := range of {
		all = append(all, call{tool: c[0], proc: c[1]})
	}
	return all
}

func (s scenario) world(table lifecycle.Table) *world {
	return &world{table: table, calls: append([]call{}, s.calls...), left: s.left}
}

var scenarios = []scenario{
	{"four calls of two tools in three processes, approved or denied", calls([2]int8{0, 0}, [2]int8{0, 1}, [2]int8{1, 1}, [2]int8{1, 2}), limits{deny: true}},
	{"a call that ends before its answer, three identical ones in three processes", calls([2]int8{0, 0}, [2]int8{0, 0}, [2]int8{0, 1}, [2]int8{0, 2}), limits{leave: 1, deny: true}},
	{"the same with two that end first", calls([2]int8{0, 0}, [2]int8{0, 1}, [2]int8{0, 2}), limits{leave: 2, deny: true}},
	{"two that end first, and time", calls([2]int8{0, 0}, [2]int8{0, 1}), limits{leave: 2, over: 2, deny: true}},
	{"a process ends at any write", calls([2]int8{0, 0}, [2]int8{0, 0}, [2]int8{0, 1}), limits{leave: 1, crash: 2, deny: true}},
	{"the store fails at any write", calls([2]int8{0, 0}, [2]int8{0, 0}, [2]int8{0, 1}), limits{leave: 1, fail: 1, deny: true}},
	{"the store fails twice", calls([2]int8{0, 0}, [2]int8{0, 1}), limits{leave: 1, fail: 2, deny: true, giveUp: 1, second: 1}},
	{"edits", calls([2]int8{0, 0}, [2]int8{0, 0}, [2]int8{1, 1}), limits{leave: 1, edit: true, stricter: true, giveUp: 1}},
	{"a remembered approval, and a person who takes it back", calls([2]int8{0, 0}, [2]int8{0, 1}, [2]int8{0, 2}), limits{rule: true, revoke: 1, repeat: 1, deny: true}},
	{"a decision for an identical call, and a person who takes it back", calls([2]int8{0, 0}, [2]int8{0, 1}, [2]int8{0, 0}), limits{leave: 1, revoke: 1, deny: true, over: 1}},
	{"two people answer, too late and twice", calls([2]int8{0, 0}, [2]int8{0, 1}), limits{over: 1, giveUp: 1, second: 2, leave: 1, deny: true}},
	{"asked through the caller, at three replicas", calls([2]int8{0, 0}, [2]int8{0, 1}, [2]int8{0, 2}), limits{postpone: 1, over: 1, giveUp: 1, deny: true}},
	{"asked through the caller, and a process ends", calls([2]int8{0, 0}, [2]int8{0, 1}, [2]int8{0, 0}), limits{postpone: 2, crash: 1, deny: true}},
}

func main() {
	began, states, steps := time.Now(), 0, 0
	for _, s := range scenarios {
		from := time.Now()
		e, found := explore(s.world(lifecycle.Life), 0)
		fmt.Printf("%9d states %9d steps %7d ends %6.1fs  %s\n", len(e.seen), e.steps, e.ends, time.Since(from).Seconds(), s.name)
		if found != nil {
			fmt.Println(found)
			os.Exit(1)
		}
		states, steps = states+len(e.seen), steps+e.steps
	}
	for _, s := range doubtScenarios {
		from := time.Now()
		e, err := s.explore()
		fmt.Printf("%9d states %9d steps %7d ends %6.1fs  %s\n", len(e.seen), e.runs-1, e.ends, time.Since(from).Seconds(), s.name)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		states, steps = states+len(e.seen), steps+e.runs-1
	}
	fmt.Printf("%9d states %9d steps in %v: nothing is wrong\n", states, steps, time.Since(began).Round(time.Second))
}
