package flow

import (
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ClaimKey is the member of _meta where a result states what it is: an object with untrusted and sensitive.
const ClaimKey = "io.modelcontextprotocol/trust-annotations"

// Claim states on a result, or on a block of it, that its text is of strangers, or not for everybody. It returns
// the Meta to keep. A claim that is there stays, and two false ones add nothing.
func Claim(meta mcp.Meta, untrusted, sensitive bool) mcp.Meta {
	if !untrusted && !sensitive {
		return maps.Clone(meta)
	}
	out, claim := make(mcp.Meta), make(map[string]any)
	maps.Copy(out, meta)
	before, _ := meta[ClaimKey].(map[string]any)
	maps.Copy(claim, before)
	for name, holds := range map[string]bool{"untrusted": untrusted, "sensitive": sensitive} {
		if holds {
			claim[name] = true
		}
	}
	out[ClaimKey] = claim
	return out
}

// claim takes over what _meta states. It only adds: no claim makes a result trusted.
func (r *result) claim(meta mcp.Meta) {
	claim, _ := meta[ClaimKey].(map[string]any)
	if claim["untrusted"] == true {
		r.trusted = false
	}
	if claim["sensitive"] == true {
		r.sensitive = true
	}
}
