//go:build unix

// Package fleet runs a host of several replicas, each a process of its own, on one Redis and one
// server with a ledger, and reports which promises were broken.
package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/verify/world"
)

// Options are what a fleet does.
type Options struct {
	Calls     int           // of all replicas
	Cold      int           // keys that each worker asks for first
	PerMinute float64       // the quota of all replicas
	Trouble   Trouble       `json:"-"` // happens to the engine while calls are under way
	Patience  time.Duration // of the replicas with Redis; 0 is what they have by themselves
}

const (
	replicas = 4
	burst    = 100 // of the quota
	// inTheMiddle is when a trouble begins, so that there are calls before and after it.
	inTheMiddle = 800 * time.Millisecond
	items       = 300
	workers     = 8 // of each replica, and so many calls may be on their way
	deadline    = 10 * time.Second
	// slack is what a machine with much else to do may add to a deadline.
	slack = 20 * time.Second
)

// A Result is how the fleet's run went.
type Result struct {
	Calls, Server, Failed, Denied int
	P50, P99, Max                 time.Duration
	Took                          time.Duration
	Over                          float64  // by how many calls the quota was exceeded at most
	Twice                         int      // cold keys that were fetched more than once
	Broken                        []string // promises, in words
	// Stood is the longest time without progress of a process. Excused is how many of the broken
	// promises assume processes that run.
	Stood   time.Duration
	Excused int
	Log     string // what the replicas logged
}

// Run plays a fleet on the engine.
func Run(ctx context.Context, e *redistest.Server, o Options) (*Result, error) {
	s, err := NewServer()
	if err != nil {
		return nil, err
	}
	ready, opening, err := os.Pipe() // each replica has its other end until it has opened its store
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	type child struct {
		cmd      *exec.Cmd
		in       io.WriteCloser
		out, log bytes.Buffer
	}
	children := make([]*child, replicas)
	for i := range children {
		cmd, err := (&Replica{Redis: e.URL(), Server: s.Address, Options: o, Number: i}).Command(ctx)
		if err != nil {
			return nil, err
		}
		c := &child{cmd: cmd}
		c.cmd.Stdout, c.cmd.Stderr, c.cmd.ExtraFiles = &c.out, &c.log, []*os.File{opening}
		if c.in, err = c.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		if err := c.cmd.Start(); err != nil {
			return nil, err
		}
		children[i] = c
	}
	begin, err := together(ready, opening)
	if err != nil {
		return nil, err
	}
	for _, c := range children { // one that has ended has nobody who reads, and is reported below
		_, _ = fmt.Fprintln(c.in, begin.Format(time.RFC3339Nano))
		_ = c.in.Close()
	}
	stood := still() // the server is in this process
	var trouble error
	if o.Trouble.Do != nil {
		time.Sleep(time.Until(begin.Add(inTheMiddle)))
		trouble = o.Trouble.Do(e)
	}
	r := &Result{}
	var events []world.Event
	for i, c := range children {
		if err := c.cmd.Wait(); err != nil {
			return nil, fmt.Errorf("replica %d: %w\n%s", i, err, c.log.String())
		}
		r.Log += c.log.String()
		for lines := json.NewDecoder(&c.out); lines.More(); {
			var e line
			if err := lines.Decode(&e); err != nil {
				return nil, fmt.Errorf("replica %d: %w", i, err)
			}
			if r.Stood = max(r.Stood, e.Stood); e.Stood == 0 {
				events = append(events, e.Event)
			}
		}
	}
	r.Stood = max(r.Stood, stood())
	r.Took = time.Since(begin)
	r.judge(o, events, s.Ledger.All())
	return r, trouble
}

// together waits until all replicas are ready, or have ended, and returns when they begin.
func together(ready io.Reader, opening io.Closer) (begin time.Time, err error) {
	if err := opening.Close(); err != nil {
		return time.Time{}, err
	}
	if _, err := io.Copy(io.Discard, ready); err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(100 * time.Millisecond), nil
}

func (r *Result) judge(o Options, events []world.Event, ledger []world.Execution) {
	r.Calls, r.Server = len(events), len(ledger)
	var late []string // broken promises that a stopped process may cause
	var took []time.Duration
	for _, e := range events {
		took = append(took, e.Ended.Sub(e.Began))
		if e.Err != "" {
			r.Failed++
		}
		if e.Denied {
			r.Denied++
		}
		if took := e.Ended.Sub(e.Began); took > deadline+slack {
			late = append(late, fmt.Sprintf("the call %s took %v, and had %v", e.Call, took, deadline))
		}
	}
	if slices.Sort(took); len(took) > 0 {
		r.P50, r.P99, r.Max = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	}
	r.Twice = world.Again(ledger, cold)
	r.Over = world.Peak(ledger, o.PerMinute) - burst
	// Calls that were admitted one after the other may arrive at once: the server lags by those in flight.
	if most := float64(replicas*workers + o.Trouble.Bursts*burst); r.Over > most {
		late = append(late, fmt.Sprintf("the quota was exceeded by %.0f calls; what was done to the engine may cost %d bursts of %d, and %d calls were on their way", r.Over, o.Trouble.Bursts, burst, replicas*workers))
	}
	late = append(late, world.Reads(events)...)
	r.Excused = len(late)
	r.Broken = append(world.Writes(events, ledger), late...)
}

// cold is the prefix of the items that all replicas ask for at once.
const cold = "cold "
