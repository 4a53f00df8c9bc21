package elicit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What is shown at most. A person who does not see all that will be sent cannot agree
// to it, so that longer arguments are not asked about.
const (
	maxShown = 16 << 10 // bytes of arguments, drafts and what else is sent
	maxText  = 160      // of a description
	maxWords = 500      // of the host's own
)

// question is the form for a call. Texts of servers and models are in rows
// that are set in, where a client that reads Markdown shows it as it is.
func question(request hitl.Request) (*mcp.ElicitParams, error) {
	message, err := message(request)
	if err != nil {
		return nil, err
	}
	properties := map[string]any{
		"decision": map[string]any{"type": "string", "title": "Decision", "enum": []string{"deny", "allow"}},
	}
	if len(request.Offers) > 0 {
		var names, texts []string
		for _, c := range request.Choices() {
			names, texts = append(names, c.Name), append(texts, c.Text)
		}
		properties["remember"] = map[string]any{"type": "string", "title": "Remember an approval", "enum": names, "enumNames": texts}
	}
	if ends := request.Lifetimes; len(ends) > 1 {
		var names, texts []string
		for _, e := range ends {
			names, texts = append(names, e.Name), append(texts, e.String())
		}
		properties["always"] = map[string]any{
			"type": "string", "title": "How long, if it is remembered for always", "enum": names, "enumNames": texts, "default": names[len(names)-1],
		}
	}
	for i, m := range request.Free {
		properties[freeName(i)] = map[string]any{"type": "boolean", "title": "Leave " + safetext.Line(m.Name) + " free in what is remembered", "description": m.String()}
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: message,
		RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": []string{"decision"}},
	}, nil
}

// message is the text over the form: the call, why it is asked about, and all that will be sent.
func message(request hitl.Request) (string, error) {
	var b strings.Builder
	b.WriteString("Allow this call? If you do not know what it is for, deny it.\n\n")
	row := func(name string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				fmt.Fprintf(&b, "    %s%s\n", name, text)
			}
		}
	}
	row("", safetext.Line(fmt.Sprintf("%s: %s", request.Tool, request.Tool.Safety())))
	row("", request.Reasons()...) // the server's words in them are quoted
	row("it says of itself: ", safetext.Cut(safetext.Line(request.Tool.Definition.Description), maxText))
	row("why: ", safetext.Cut(safetext.Line(request.Why), maxWords))
	row("undo: ", safetext.Cut(safetext.Line(request.Undo), maxWords))
	row("caution: ", request.Caution())
	before := b.Len()
	b.WriteString("\nArguments:\n\n")
	row("", safetext.JSONRows(request.Arguments)...)
	if request.Extra != nil {
		b.WriteString("\nAlso sent:\n\n")
		row("", safetext.JSONRows(request.Extra)...)
	}
	for _, d := range request.Drafts {
		b.WriteString("\nDraft:\n\n")
		row("id: ", safetext.Line(d.ID))
		row("", safetext.Rows(d.Shown)...)
	}
	if n := b.Len() - before; n > maxShown {
		return "", unsupported(fmt.Sprintf("the arguments take %d bytes to show, and a form has room for %d", n, maxShown))
	}
	if len(request.Offers) > 0 {
		b.WriteString("\nWhat can be remembered:\n\n")
	}
	for _, c := range request.Choices()[1:] {
		row(c.Name+": ", c.Text)
	}
	row("suggested: ", request.Suggestion)
	return b.String(), nil
}

var (
	errForm   = errors.New("elicit: the client's answer is not one that the form has")
	errClosed = errors.New("elicit: the form was closed without a decision")
)

// decide reads a form that came back. Anything but exactly one of its answers does not count.
func decide(req *mcp.CallToolRequest, res *mcp.ElicitResult, request hitl.Request) (hitl.Decision, error) {
	decision := hitl.Decision{By: user(req)}
	switch _, addresses := canShow(req); {
	case res == nil:
		return hitl.Decision{}, errForm
	case res.Action == "decline":
		return decision, nil
	case res.Action == "cancel":
		return hitl.Decision{}, errClosed
	case res.Action != "accept":
		return hitl.Decision{}, errForm
	case addresses:
		return hitl.Decision{}, unsupported("its user was sent to a page")
	}
	members := make(map[string]string, len(request.Free))
	for i, m := range request.Free {
		members[freeName(i)] = m.Name
	}
	for name, value := range res.Content {
		text, ok := value.(string)
		switch member, frees := members[name]; {
		case frees && value == true:
			decision.Free = append(decision.Free, member)
		case frees && value == false:
		case !ok:
			return hitl.Decision{}, errForm
		case name == "decision" && (text == "allow" || text == "deny"):
			if text == "allow" {
				decision.Verdict = hitl.Approved
			}
		case name == "remember" && len(request.Offers) > 0:
			offered := request.Choices()
			i := slices.IndexFunc(offered, func(c hitl.Choice) bool { return c.Name == text })
			if i < 0 {
				return hitl.Decision{}, errForm
			}
			decision.Remember, decision.Offer = offered[i].Decision.Remember, offered[i].Decision.Offer
		case name == "always":
			if decision.Lifetime, ok = request.Lifetime(text); !ok {
				return hitl.Decision{}, errForm
			}
		default:
			return hitl.Decision{}, errForm
		}
	}
	if _, there := res.Content["decision"]; !there {
		return hitl.Decision{}, errForm
	}
	return decision, nil
}

// freeName is the name of the field that leaves a member free; the member's own name may be
// that of another field.
func freeName(i int) string { return fmt.Sprintf("free-%d", i+1) }

// user names who answered, where the request was authenticated.
func user(req *mcp.CallToolRequest) string {
	if req == nil || req.Extra == nil || req.Extra.TokenInfo == nil {
		return ""
	}
	return req.Extra.TokenInfo.UserID
}
