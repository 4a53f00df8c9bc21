package audit

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxName = 256

func short(s string) string { return trim.Bytes(s, maxName) }

// keeps reports whether the arguments are recorded.
func (p *passage) keeps(tool *middleware.Tool, said *callstate.Record) bool {
	if p.level == full || p.trail.o.NoArguments {
		return p.level == full
	}
	return !withheld(tool) && (tool.Safety().MustConfirm() || decided(said) == named)
}

// values adds the arguments without their secrets, once for each call.
func (p *passage) values(r *Record, call *middleware.Call, tool *middleware.Tool, said *callstate.Record) {
	if p.shown || !p.keeps(tool, said) {
		return
	}
	p.shown = true
	its := *call
	if r.Kind == End && said.Asked != nil { // the caller may have changed its own
		its.Arguments = said.Asked
	}
	r.Arguments, r.ArgumentsDigest = p.redact.Arguments(its), p.trail.digest(its.Arguments)
	if call.Input == nil || len(call.Input.Responses) == 0 {
		return
	}
	if raw, err := json.Marshal(call.Input.Responses); err == nil {
		r.Input = p.redact.JSON(raw, nil)
	} else {
		r.Input = json.RawMessage(`"[cannot be read]"`)
	}
}

// undo adds how the call is taken back. Arguments without their secrets would make another call, and are left out.
func (p *passage) undo(r *Record, call *middleware.Call, tool *middleware.Tool, said *callstate.Record) {
	if said.Undo.Tool == "" || !p.keeps(tool, said) {
		return
	}
	its := *call
	its.Arguments = said.Undo.Arguments
	r.Undo = &Undo{Server: said.Undo.Server, Tool: said.Undo.Tool}
	kept := p.redact.Arguments(its)
	if bytes.Equal(canonicalOf(kept), canonicalOf(its.Arguments)) {
		r.Undo.Arguments = its.Arguments
		return
	}
	all, _ := strictjson.Members(its.Arguments)
	left, _ := strictjson.Members(kept) // none if all of it was too long
	for _, m := range all {
		if !slices.ContainsFunc(left, func(same strictjson.Member) bool {
			return same.Name == m.Name && bytes.Equal(canonicalValue(same.Value), canonicalValue(m.Value))
		}) {
			r.Undo.Without = append(r.Undo.Without, short(p.redact.Text(m.Name)))
		}
	}
}

func canonicalValue(v []byte) []byte {
	form, _ := canonical.Append(nil, v)
	return form
}

func canonicalOf(arguments []byte) []byte {
	form, _ := canonical.AppendObject(nil, arguments) // those of a call that was made can be read
	return form
}

// maxClient is how many bytes of the client's identifiers are recorded.
const maxClient = 4 << 10

// identify adds who makes the call, and how the client identifies it, once for each call.
func (p *passage) identify(r *Record, call *middleware.Call) {
	if p.named {
		return
	}
	p.named = true
	if p.trail.o.Caller != nil {
		r.Caller = p.caller(p.trail.o.Caller(p.kept.Context, *call))
	}
	ids := callstate.ClientIDs(call)
	if ids == nil {
		return
	}
	named, err := jsontree.Decode(ids)
	if err != nil || len(ids) > maxClient {
		named = fmt.Sprintf("[%d bytes left out]", len(ids))
	}
	r.Client, _ = json.Marshal(p.clean(named)) //nolint:errchkjson // texts and numbers
}

// caller returns who makes the call as it is recorded, nil if it is not known.
func (p *passage) caller(c Caller) *Caller {
	if c.User == "" && c.Client == "" && len(c.Actors) == 0 && c.Agent == "" {
		return nil
	}
	own := &Caller{User: short(c.User), Client: short(c.Client), Agent: short(p.redact.Text(c.Agent))} // others have the form of a secret
	for _, actor := range c.Actors {
		own.Actors = append(own.Actors, short(actor))
	}
	return own
}

// clean returns identifiers without texts that have the form of a secret. Their names do not show that they are one: elsewhere a
// "sessionID" is a secret, and here it is by what the logs of client and server are compared.
func (p *passage) clean(v any) any {
	switch v := v.(type) {
	case string:
		return p.redact.Text(v)
	case []any:
		for i := range v {
			v[i] = p.clean(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = p.clean(v[name])
		}
	}
	return v
}

// decide records what the stages decided. It comes after values, whose secrets their reasons may repeat.
func (p *passage) decide(r *Record, said *callstate.Record) {
	for _, f := range said.Decisions {
		why := said.Memory(f)
		if p.level == full || f.Stage == "output" { // which has names of members alone
			why = cmp.Or(why, p.redact.Text(f.Why))
		}
		r.Decisions = append(r.Decisions, Decision{Stage: f.Stage, What: f.What, Why: why})
	}
}

// ending adds the result, or the text of the error, without their secrets.
func (p *passage) ending(r *Record, tool *middleware.Tool, res *mcp.CallToolResult, err error) {
	if err != nil {
		r.Error = p.redact.Text(err.Error())
		return
	}
	var schema any
	if tool != nil && tool.Definition != nil {
		schema = tool.Definition.OutputSchema
	}
	raw, err := json.Marshal(res)
	if err != nil {
		r.Error = "audit: the result cannot be written as JSON"
		return
	}
	r.Result, r.ResultDigest = p.redact.Result(raw, schema), p.trail.digest(raw)
}

// reasons adds what the class of the tool follows from.
func reasons(r *Record, tool *middleware.Tool) {
	if tool == nil {
		return
	}
	if tool.Digest != (middleware.Digest{}) {
		r.Definition = tool.Digest.String()
	}
	a := &tool.Annotations
	for _, hint := range [...]struct {
		word  string
		field annotation.Field
		value annotation.Hint
	}{
		{"read-only", annotation.ReadOnlyHint, a.ReadOnly},
		{"destructive", annotation.DestructiveHint, a.Destructive},
		{"confirmation", annotation.RequiresConfirmation, a.RequiresConfirmation},
	} {
		if hint.value == annotation.Unset {
			continue
		}
		e, _ := a.EvidenceOf(hint.field)
		r.Evidence = append(r.Evidence, short(fmt.Sprintf("%s %s: %s", hint.word, hint.value, e)))
	}
}

// Digest returns the digest of these bytes in a trail with the key.
func Digest(key, b []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(b)
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}

func (t *Trail) digest(b []byte) string {
	if len(t.o.Key) == 0 || len(b) == 0 {
		return ""
	}
	return Digest(t.o.Key, b)
}
