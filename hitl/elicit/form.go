package elicit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What is shown at most. A person who does not see all that will be sent cannot agree
// to it, so that longer arguments are not asked about.
const (
	maxShown  = 14 << 10 // bytes of arguments, drafts and what else is sent
	maxDrawn  = 20 << 10 // bytes that these take with their names, indents and escapes
	maxReason = 1000     // characters
	maxJSON   = 2000     // bytes of arguments that are in the details as JSON too
	columns   = 72       // of a row
	maxText   = 160      // of a description
	maxWords  = 500      // of the host's own
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
		properties["remember"] = map[string]any{"type": "string", "title": "Remember an approval", "enum": names, "enumNames": texts, "default": names[0]}
	}
	afterDenial(properties)
	for i, m := range request.Free {
		properties[freeName(i)] = map[string]any{"type": "boolean", "title": "If it is remembered with these arguments, " + safetext.Word(m.Name, maxText) + " may differ", "description": m.String()}
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: message,
		RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": []string{"decision"}},
	}, nil
}

// afterDenial adds the fields for what the model reads after a denial.
func afterDenial(properties map[string]any) {
	properties["instead"] = map[string]any{"type": "string", "title": "After a denial, tell the model", "enum": hitl.Instead[:]}
	properties["reason"] = map[string]any{"type": "string", "title": "Or in your own words", "maxLength": maxReason}
}

// message is the text over the form of one call.
func message(request hitl.Request) (string, error) {
	text, err := describe(request)
	if err != nil {
		return "", err
	}
	b := rows{}
	_, _ = b.WriteString("Allow this call? If you do not know what it is for, deny it.\n\n" + text)
	if len(request.Offers) > 0 {
		_, _ = b.WriteString("\nWhat can be remembered:\n\n")
	}
	for _, c := range request.Choices()[1:] {
		b.row(c.Name+": ", c.Text)
	}
	b.row("suggested: ", request.Suggestion)
	return b.String(), nil
}

// Rows is a text whose rows are set in, without those that are empty.
type rows struct{ strings.Builder }

func (b *rows) row(name string, texts ...string) {
	for _, text := range texts {
		if text != "" {
			fmt.Fprintf(b, "    %s%s\n", name, text)
		}
	}
}

// describe writes a call, why it is asked about, and all that will be sent. It is an error if not all of that is in sight in
// a form: what is not seen is not approved.
func describe(request hitl.Request) (string, error) {
	b := rows{}
	row := b.row
	q := display.Of(request)
	parts, missing := q.Fit(display.Limit{Bytes: maxShown})
	if !missing.None() {
		return "", unsupported(fmt.Sprintf("it has %s; a form has room for %d bytes, and %s", q.Size(), maxShown, missing))
	}
	row("", q.Sentence)
	row("! ", q.Warning)
	row("", q.Asker)
	row("why: ", safetext.Cut(safetext.Line(request.Why), maxWords))
	row("undo: ", safetext.Cut(safetext.Line(request.Undo), maxWords))
	group, before := "", b.Len()
	for _, e := range q.Effects {
		row("· ", e.Text)
	}
	for _, p := range parts {
		if p.Group != group {
			group = p.Group
			fmt.Fprintf(&b, "\n%s:\n\n", group)
		}
		name := p.Name
		if name == "" {
			name = "all of it"
		}
		if !p.Block {
			row("", safetext.Wrap(name+": "+p.Text, columns)...)
			continue
		}
		row("", name+": "+p.Size())
		for _, text := range p.Rows(columns) {
			fmt.Fprintf(&b, "      %s\n", text)
		}
	}
	if n := b.Len() - before; n > maxDrawn {
		return "", unsupported(fmt.Sprintf("it has %s, which take %d bytes to show, and a form has room for %d", q.Size(), n, maxDrawn))
	}
	_, _ = b.WriteString("\nDetails:\n\n")
	row("class: ", q.Class)
	row("", request.Reasons()...) // the server's words in them are quoted
	row("its server describes it so: ", safetext.Cut(safetext.Line(request.Tool.Definition.Description), maxText))
	if len(request.Arguments) <= maxJSON {
		_, _ = b.WriteString("\nAs JSON:\n\n")
		row("", safetext.JSONRows(request.Arguments)...)
	}
	return b.String(), nil
}

var (
	errForm   = errors.New("elicit: the client's answer is not one that the form has")
	errClosed = errors.New("elicit: the form was closed without a decision")
)

// filled reports whether a form came back with answers; if not, its user denies. An error is a form that does not count.
func filled(req *mcp.CallToolRequest, res *mcp.ElicitResult) (bool, error) {
	switch _, addresses := canShow(req); {
	case res == nil:
		return false, errForm
	case res.Action == "decline":
		return false, nil
	case res.Action == "cancel":
		return false, errClosed
	case res.Action != "accept":
		return false, errForm
	case addresses:
		return false, unsupported("its user was sent to a page")
	}
	return true, nil
}

// decide reads a form that came back. Anything but exactly one of its answers does not count.
func decide(req *mcp.CallToolRequest, res *mcp.ElicitResult, request hitl.Request) (hitl.Decision, error) {
	decision := hitl.Decision{By: user(req)}
	switch ok, err := filled(req, res); {
	case err != nil:
		return hitl.Decision{}, err
	case !ok:
		return decision, nil
	}
	members := make(map[string]string, len(request.Free))
	for i, m := range request.Free {
		members[freeName(i)] = m.Name
	}
	var instead, reason string
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
			its := offered[i].Decision
			decision.Remember, decision.Offer, decision.Lifetime = its.Remember, its.Offer, its.Lifetime
		case name == "instead" && (text == "" || slices.Contains(hitl.Instead[:], text)):
			instead = text
		case name == "reason" && len(text) <= 4*maxReason:
			reason = strings.TrimSpace(text)
		default:
			return hitl.Decision{}, errForm
		}
	}
	if _, there := res.Content["decision"]; !there {
		return hitl.Decision{}, errForm
	}
	if decision.Verdict != hitl.Approved {
		decision.Reason = strings.TrimSpace(instead + " " + reason)
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
