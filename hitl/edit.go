package hitl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
)

// edit returns the call with the arguments that the person wrote, classified again by
// what classifies calls by their arguments in this chain. A tool with another name, server
// or digest, and an error, deny the call.
func (a *asker) edit(ctx context.Context, call middleware.Call, arguments json.RawMessage) (_ middleware.Call, err error) {
	defer func() {
		if v := recover(); v != nil {
			a.panicked(ctx, "hitl: the check of an edit panicked", redact.Said{Call: call, Value: v})
			err = errors.New("their check panicked; the log of the host has the stack")
		}
	}()
	before, _ := a.drafts.IDs(&call)
	call.Arguments = bytes.Clone(arguments)
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return call, errors.New("they are empty; {} says that there are none")
	}
	if _, err := callstate.Form(callstate.Of(ctx), &call); err != nil {
		return call, fmt.Errorf("they cannot be sent: %w", err)
	}
	if after, err := a.drafts.IDs(&call); err != nil || !slices.Equal(before, after) {
		return call, errors.New("they name other drafts than were shown")
	}
	if a.Validate != nil {
		if err := a.Validate(ctx, call.Tool, bytes.Clone(call.Arguments)); err != nil {
			return call, fmt.Errorf("they are not valid: %w", err)
		}
	}
	judge := callstate.JudgeOf(ctx)
	if judge == nil {
		return call, nil
	}
	tool, err := judge(ctx, call)
	switch {
	case err != nil:
		return call, fmt.Errorf("they cannot be classed: %w", err)
	case tool == nil || tool.Server != call.Tool.Server || tool.Name() != call.Tool.Name() || tool.Digest != call.Tool.Digest:
		return call, errors.New("they were classed as those of another tool")
	}
	call.Tool = tool
	return call, nil
}
