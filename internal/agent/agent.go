// Package agent is the example agent: a host that lets a planner call tools, each
// call through a chain of Fairlead.
//
// The chain is put together in chain.go, the loop that drives a planner is in
// loop.go, and what watches the calls is one middleware in watch.go. These three
// are what a host of one's own begins with.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/fairlead-go/fairlead/internal/agent/folder"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/stores"
)

// The exit codes.
const (
	exitDone   = 0
	exitError  = 1
	exitUsage  = 2
	exitDenied = 3 // done, but something was denied
)

// A Program is one run of the agent with all that it may touch.
type Program struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Inbox is the folder that is copied and tidied where --dir names none.
	Inbox fs.FS
	// Stores opens what --store names; nil in a program that has no engine in it.
	Stores stores.Opener
	// Model plans in place of those that the environment names; nil for none.
	Model plan.API

	// Folder is the server of this run's folder, nil for a foreign one. It is set by
	// Run, for those who want to read its ledger.
	Folder *folder.Server
}

// Run runs the program and returns its exit code.
func (p *Program) Run(ctx context.Context) int {
	o, err := p.parse()
	switch {
	case errors.Is(err, errHelp):
		return exitDone
	case err != nil:
		fmt.Fprintf(p.Stderr, "agent: %v\n", err)
		return exitUsage
	}
	code, err := p.run(ctx, o)
	if err != nil {
		fmt.Fprintf(p.Stderr, "agent: %v\n", err)
		return exitError
	}
	return code
}

// run connects, shows what there is, drives the planner and counts.
func (p *Program) run(ctx context.Context, o options) (int, error) {
	h, err := p.host(ctx, o)
	if err != nil {
		return exitError, err
	}
	defer h.close()
	if o.prompt {
		fmt.Fprintln(p.Stdout, h.systemPrompt())
		return exitDone, nil
	}
	planner, err := h.planner()
	if err != nil {
		return exitError, err
	}
	h.introduce(planner)
	err = h.drive(ctx, planner)
	return h.conclude(err)
}
