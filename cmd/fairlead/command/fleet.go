package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// A fleet is the servers of a command, with the tools of those that answered.
type fleet struct {
	tools  *catalog.Catalog
	lock   *pins.Lock // nil for none
	asked  []asked
	cancel context.CancelCauseFunc
}

// An asked is one server of a fleet: reached, or why not.
type asked struct {
	dial.Target

	server *dial.Server
	err    error
}

// reachAll reaches the servers that a command line names, see connect.
func (f *serverFlags) reachAll(cmd *cobra.Command, args []string, lock *pins.Lock) (*fleet, error) {
	targets, err := f.targets(args, cmd.ArgsLenAtDash())
	if err != nil {
		return nil, err
	}
	return f.connect(cmd.Context(), targets, lock)
}

// connect reaches the servers and lists their tools. The error is about how they were named, or about
// all of them.
func (f *serverFlags) connect(ctx context.Context, targets []dial.Target, lock *pins.Lock) (*fleet, error) {
	if f.wait <= 0 {
		return nil, fmt.Errorf("--timeout: want a time of more than 0, such as 30s, got %v", f.wait)
	}
	// The sessions live on this context: it is cancelled at the end.
	ctx, cancel := context.WithCancelCause(ctx)
	all := &fleet{tools: catalog.New(catalog.Options{Timeout: f.wait, Lock: lock, NoKnown: f.noKnown}), lock: lock, cancel: cancel}
	client := mcp.NewClient(&mcp.Implementation{Name: "fairlead", Version: "0"}, mount.Options(all.tools, nil))
	all.asked = make([]asked, len(targets))
	var group sync.WaitGroup
	for i, t := range targets {
		all.asked[i].Target = t
		if f.trust {
			all.tools.Trust(t.ID)
		}
		group.Go(func() { all.asked[i].server, all.asked[i].err = f.reach(ctx, client, all.tools, t) })
	}
	group.Wait()
	for _, a := range all.asked {
		if errors.Is(a.err, dial.ErrUsage) {
			all.close()
			return nil, a.err
		}
	}
	if !slices.ContainsFunc(all.asked, func(a asked) bool { return a.err == nil }) {
		all.close()
		return nil, all.unreached()
	}
	return all, nil
}

// reach connects to one server and lists its tools, in at most the time of --timeout. The session lives on after it.
func (f *serverFlags) reach(ctx context.Context, client *mcp.Client, tools *catalog.Catalog, t dial.Target) (*dial.Server, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := fmt.Errorf("no answer within %v (--timeout)", f.wait)
	timer := time.AfterFunc(f.wait, func() { cancel(late) })
	defer timer.Stop()
	server, err := dial.Connect(ctx, client, t)
	if err != nil {
		cancel(err)
		return nil, err
	}
	if err := tools.Add(ctx, t.ID, server.Session); err != nil {
		err = server.Explain(err)
		_ = server.Session.Close() // it has failed already
		cancel(err)
		return nil, err
	}
	return server, nil
}

// unreached is an error about the servers that did not answer, nil where all did.
func (f *fleet) unreached() error {
	var faults []error
	for _, a := range f.asked {
		if a.err != nil {
			faults = append(faults, a.err)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &exitError{exitUnreachable, errors.Join(faults...)}
}

// close ends the sessions; how a server ends is its own affair.
func (f *fleet) close() {
	_ = f.tools.Close()
	var group sync.WaitGroup
	for _, a := range f.asked {
		if a.server != nil {
			group.Go(func() { _ = a.server.Session.Close() })
		}
	}
	group.Wait()
	f.cancel(context.Canceled)
}
