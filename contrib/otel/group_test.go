package otel_test

import (
	"context"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	fairleadotel "github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type desk struct{ hitl.Confirmer }

func (desk) ConfirmGroup(_ context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
	return map[string]hitl.Decision{requests[1].ID: {Verdict: hitl.Approved}}, nil
}

// A confirmer that takes several questions at once still does, with a span for each.
func TestDialogHasASpanForEachQuestion(t *testing.T) {
	t.Parallel()
	l := newLab(fairleadotel.Options{})
	if _, ok := l.Confirmer(says(hitl.Denied)).(hitl.GroupConfirmer); ok {
		t.Error("a confirmer of one question became one of several")
	}
	group, ok := l.Confirmer(desk{says(hitl.Denied)}).(hitl.GroupConfirmer)
	if !ok {
		t.Fatal("a confirmer of several questions became one of one")
	}
	var requests []hitl.Request
	for _, name := range []string{"drop", "burn"} {
		requests = append(requests, hitl.Request{ID: name, Tool: &middleware.Tool{Server: "crm", Definition: &mcp.Tool{Name: name}, Annotations: annotation.Destructive()}})
	}
	if said, err := group.ConfirmGroup(t.Context(), requests); err != nil || said["burn"].Verdict != hitl.Approved {
		t.Errorf("got %v, %v", said, err)
	}
	for name, want := range map[string]string{"confirm drop": "denied", "confirm burn": "allowed"} {
		if got := attributes(l.span(t, name))["fairlead.decision"]; got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
