package agent

import (
	"context"
	"errors"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
)

// Why a call that nobody was asked about is not made.
var (
	errNobody  = errors.New("nobody is here to ask")
	errNotSafe = errors.New("--yes safe covers only what .trash/ can undo")
)

// you is the person at the terminal, on the terminal.
const you = "you"

// confirmer is who answers the questions of the chain.
func (h *host) confirmer() hitl.Confirmer {
	switch h.yes {
	case "ask":
		return h.signed(you, hitl.Terminal(h.program.Stdin, h.program.Stderr))
	case "all":
		return h.signed("--yes all", hitl.DangerouslyApproveEveryCallWithoutAsking())
	case "safe":
		return h.signed("--yes safe", hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
			if h.inTrash(r.Tool) {
				return yes(ctx, r)
			}
			return hitl.Decision{}, errNotSafe
		}))
	}
	return hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{}, errNobody
	})
}

func yes(context.Context, hitl.Request) (hitl.Decision, error) {
	return hitl.Decision{Verdict: hitl.Approved}, nil
}

// signed writes on the line of each call who answered.
func (h *host) signed(by string, c hitl.Confirmer) hitl.Confirmer {
	s := signature{h, by, c}
	if group, ok := c.(hitl.GroupConfirmer); ok {
		return groupSignature{s, group}
	}
	return s
}

type signature struct {
	host *host
	by   string
	next hitl.Confirmer
}

func (s signature) Confirm(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
	d, err := s.next.Confirm(ctx, r)
	return s.sign(r, d), err
}

type groupSignature struct {
	signature

	group hitl.GroupConfirmer
}

// ConfirmGroup asks about the calls of one turn in one dialog.
func (s groupSignature) ConfirmGroup(ctx context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
	said, err := s.group.ConfirmGroup(ctx, requests)
	signed := make(map[string]hitl.Decision, len(requests))
	for _, r := range requests {
		signed[r.ID] = s.sign(r, said[r.ID])
	}
	return signed, err
}

func (s signature) sign(r hitl.Request, d hitl.Decision) hitl.Decision {
	d.By = s.by
	if s.by == you {
		d.By = "the user" // a model reads this, to which you is another
	}
	if l := s.host.lines.find(r.CallID); l != nil {
		l.write(func() { l.by = s.by })
	}
	return d
}

// about says more of a call than its tool does: why the planner wants it and how
// it can be undone.
func (h *host) about(ctx context.Context, call middleware.Call) (why, undo string) {
	if l := lineOf(ctx); l != nil {
		why = l.why
	}
	switch {
	case h.folder == nil:
	case h.inTrash(call.Tool):
		undo = "the old file is kept in .trash/"
	case call.Tool.Name() == "move_file":
		undo = "move it back"
	case h.purge:
		undo = "none: --purge is on"
	}
	return why, undo
}

// inTrash reports whether .trash/ can undo what the tool does: the agent's own
// folder server keeps there what is deleted or overwritten.
func (h *host) inTrash(tool *middleware.Tool) bool {
	return h.folder != nil && !h.purge && (tool.Name() == "delete_file" || tool.Name() == "write_file")
}
