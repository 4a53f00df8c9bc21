package elicit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/incoming"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxTogether is how many bytes the text over a form of several calls has at most.
const maxTogether = 24 << 10

// ConfirmGroup asks about the calls of a turn in one form, in their order and with one choice for each. A call that has no
// room there as a whole is left to Confirm, and so are all of them if the client cannot be shown the form.
func (c *confirmer) ConfirmGroup(ctx context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
	said := make(map[string]hitl.Decision, len(requests))
	for _, r := range requests {
		said[r.ID] = hitl.Decision{Verdict: hitl.Apart}
	}
	req := incoming.Of(ctx)
	if !ShowsForms(ctx) || req.ProtocolVersion() >= incoming.InputRequired { // that one answers to each call
		return said, nil
	}
	requests = slices.SortedStableFunc(slices.Values(requests), func(a, b hitl.Request) int { return cmp.Compare(a.Turn, b.Turn) })
	form, shown := together(requests)
	if form == nil {
		return said, nil
	}
	res, err := show(ctx, form)
	if err != nil {
		return nil, err
	}
	decisions, err := decideEach(req, res, len(shown))
	if err != nil {
		return nil, err
	}
	for i, r := range shown {
		said[r.ID] = decisions[i]
	}
	return said, nil
}

// together is the form of the calls that have room in it as a whole, nil if those are fewer than two.
func together(requests []hitl.Request) (form *mcp.ElicitParams, shown []hitl.Request) {
	var texts []string
	room := maxTogether
	for _, r := range requests {
		text, err := describe(r)
		if err != nil || len(text) > room {
			continue
		}
		room -= len(text)
		shown, texts = append(shown, r), append(texts, text)
	}
	if len(shown) < 2 {
		return nil, nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Allow these %d calls? Each has a choice of its own. If you do not know what one is for, deny it.\n", len(shown))
	properties := make(map[string]any)
	for i, text := range texts {
		fmt.Fprintf(&b, "\nCall %d of %d:\n\n%s", i+1, len(shown), text)
		properties[choiceName(i)] = map[string]any{"type": "string", "title": choiceTitle(i, shown[i]), "enum": []string{"deny", "allow"}, "default": "deny"}
	}
	afterDenial(properties)
	return &mcp.ElicitParams{
		Mode: "form", Message: b.String(), RequestedSchema: map[string]any{"type": "object", "properties": properties},
	}, shown
}

// choiceName is the name of the field for a call. Clients show fields in the order of their names, if in any.
func choiceName(i int) string { return fmt.Sprintf("decision-%03d", i+1) }

// choiceTitle names a call beside its choice. A sentence that is too long for that is above, and no part of it is here: it
// could be about another object.
func choiceTitle(i int, request hitl.Request) string {
	if sentence := display.Of(request).Sentence; len(sentence) <= maxText {
		return fmt.Sprintf("%d. %s", i+1, sentence)
	}
	return fmt.Sprintf("%d. %s", i+1, safetext.Word(request.Tool.String(), maxText))
}

// decideEach reads the form of several calls that came back. A choice that is missing denies, and any answer that the form
// does not have makes all of it one that does not count.
func decideEach(req *mcp.CallToolRequest, res *mcp.ElicitResult, n int) ([]hitl.Decision, error) {
	decisions := make([]hitl.Decision, n)
	ok, err := filled(req, res)
	if err != nil {
		return nil, err
	}
	reason := ""
	if ok {
		if reason, err = choices(res.Content, decisions); err != nil {
			return nil, err
		}
	}
	for i := range decisions {
		decisions[i].By = user(req)
		if decisions[i].Verdict != hitl.Approved {
			decisions[i].Reason = reason
		}
	}
	return decisions, nil
}

// choices reads the fields of a form into the decisions, and returns what the model reads of those that are denied.
func choices(content map[string]any, decisions []hitl.Decision) (reason string, err error) {
	instead := ""
	for name, value := range content {
		text, ok := value.(string)
		at := -1
		for i := range decisions {
			if choiceName(i) == name {
				at = i
			}
		}
		switch {
		case !ok:
			return "", errForm
		case at >= 0 && text == "allow":
			decisions[at].Verdict = hitl.Approved
		case at >= 0 && text == "deny":
		case name == "instead" && (text == "" || slices.Contains(hitl.Instead[:], text)):
			instead = text
		case name == "reason" && len(text) <= 4*maxReason:
			reason = strings.TrimSpace(text)
		default:
			return "", errForm
		}
	}
	return strings.TrimSpace(instead + " " + reason), nil
}
