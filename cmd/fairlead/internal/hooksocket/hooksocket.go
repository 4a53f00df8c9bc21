// Package hooksocket is how a hook of a coding agent reaches the process that keeps the sessions: one JSON value each way
// over a socket. It imports only the standard library, so that a program of it alone starts in a few milliseconds.
package hooksocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// ExchangeTime is how long writing an event to the process of the guard, or an answer to a hook, may take.
const ExchangeTime = 5 * time.Second

// NotJudged begins the reason of a hook that blocks a call since nothing has decided about it.
const NotJudged = "the call was not judged, so it must not be made"

// An Asked is what a hook sends.
type Asked struct {
	Client string `json:"client"`
	Event  []byte `json:"event"`
}

// An Answered is what it gets back.
type Answered struct {
	Out   []byte `json:"out,omitempty"`
	Error string `json:"error,omitempty"`
}

// ErrUnreachable is in the tree of the error of [Dial] if no process of a guard answers, so that nothing was decided.
var ErrUnreachable = errors.New("no process of fairlead hook answers")

// Dial has the process of a guard at a socket answer an event.
func Dial(ctx context.Context, socket, client string, event []byte) ([]byte, error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer c.Close()
	_ = c.SetWriteDeadline(time.Now().Add(ExchangeTime))
	if err := json.NewEncoder(c).Encode(Asked{client, event}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })()
	var a Answered
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return nil, fmt.Errorf("the process of fairlead hook gave no answer: %w", err)
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return a.Out, nil
}
