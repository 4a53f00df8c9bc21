package audit

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxName is how much of an id or a name is recorded, in bytes.
const maxName = 256

func short(s string) string {
	if len(s) > maxName {
		return s[:maxName] + "…"
	}
	return s
}

// Digest returns the digest that a trail with the key writes for these bytes.
func Digest(key, b []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(b)
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}

func (t *Trail) digest(b []byte) string {
	if len(t.key) == 0 || len(b) == 0 {
		return ""
	}
	return Digest(t.key, b)
}

// reasons says which definition the call was classed by, and why so.
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

// whole adds what is recorded in full. The arguments stand in one record of a call,
// before it is made wherever that comes to be.
func (p *passage) whole(r *Record, call *middleware.Call, said *callstate.Record) {
	if !p.shown {
		p.shown = true
		var schema any
		if call.Tool != nil && call.Tool.Definition != nil {
			schema = call.Tool.Definition.InputSchema
		}
		r.Arguments, r.ArgumentsDigest = p.redact.JSON(call.Arguments, schema), p.trail.digest(call.Arguments)
	}
	r.Decisions = nil
	for _, f := range said.Decisions {
		r.Decisions = append(r.Decisions, Decision{Stage: f.Stage, What: f.What, Why: cmp.Or(said.Memory(f), p.redact.Text(f.Why))})
	}
}

// ending adds what came back.
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
