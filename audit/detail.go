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
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxName = 256

func short(s string) string { return trim.Bytes(s, maxName) }

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

func (p *passage) keeps(tool *middleware.Tool, said *callstate.Record) bool {
	if p.level == full || p.trail.o.NoArguments {
		return p.level == full
	}
	return !withheld(tool) && (tool.Safety().MustConfirm() || decided(said) == named)
}

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
}

// decide records what the stages decided. It comes after values, whose secrets their reasons may repeat.
func (p *passage) decide(r *Record, said *callstate.Record) {
	for _, f := range said.Decisions {
		why := said.Memory(f)
		if p.level == full {
			why = cmp.Or(why, p.redact.Text(f.Why))
		}
		r.Decisions = append(r.Decisions, Decision{Stage: f.Stage, What: f.What, Why: why})
	}
}

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

type level uint8

const (
	counted level = iota
	named         // name, time, class and outcome
	full          // arguments, result and reasons too
)

// asked returns the level that the tool's annotations ask for. A tool without a security level has its name
// recorded: a missing record cannot be made later, and an untrusted server's "public" does not count.
func asked(tool *middleware.Tool) level {
	if tool == nil {
		return named
	}
	switch a := &tool.Annotations; {
	case a.AuditRequired == annotation.Yes, a.SecurityLevel == annotation.Restricted:
		return full
	case a.SecurityLevel == annotation.Public:
		return counted
	}
	return named
}

// levelOf returns the level of the tool's calls: at least the name if a person has to approve them.
func levelOf(tool *middleware.Tool) level {
	if tool.Safety().MustConfirm() {
		return max(named, asked(tool))
	}
	return asked(tool)
}

// decided returns the level of a call that a person, or a policy in its place, decided, or that was observed.
func decided(said *callstate.Record) level {
	if said.Last("hitl") == (callstate.Decision{}) && said.Last("observe") == (callstate.Decision{}) {
		return counted
	}
	return named
}

// withheld reports whether the host has declared the tool Internal. A server cannot decide
// whether its calls are accounted for.
func withheld(tool *middleware.Tool) bool {
	if tool == nil || tool.Annotations.SecurityLevel != annotation.Internal {
		return false
	}
	by := tool.Annotations.SourceOf(annotation.SecurityLevelHint)
	return by == annotation.Host || by == annotation.Rule
}

// intended reports whether a call is recorded before it is made. An interrupted read leaves
// nothing to find out.
func intended(l level, tool *middleware.Tool) bool {
	return l == full || l == named && tool.Safety() != annotation.Safe
}

// durable reports whether a call waits until its intent outlives a loss of power,
// and is refused if that fails.
func durable(l level, tool *middleware.Tool) bool {
	return l == full || tool.Safety().MustConfirm()
}
