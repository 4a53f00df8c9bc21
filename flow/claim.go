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

// labels are the members of _meta where servers of GitHub and Microsoft state the integrity and the confidentiality of a
// result.
var labels = [...]string{"ifc", "security_label"}

// label takes over a label. Integrity that is not "trusted" is untrusted, and confidentiality that is not "public" alone,
// as a word or a list of readers, is sensitive. A label that cannot be read is the worst.
func (r *result) label(of any) {
	label, ok := of.(map[string]any)
	if !ok {
		r.trusted, r.sensitive = false, true
		return
	}
	if integrity, ok := label["integrity"]; ok && integrity != "trusted" {
		r.trusted = false
	}
	switch readers := label["confidentiality"].(type) {
	case nil:
	case []any:
		r.sensitive = r.sensitive || len(readers) != 1 || readers[0] != "public"
	default:
		r.sensitive = r.sensitive || readers != "public"
	}
}

// claim takes over what _meta states. It only adds: no claim makes a result trusted.
func (r *result) claim(meta mcp.Meta) {
	for _, key := range labels {
		if of, ok := meta[key]; ok {
			r.label(of)
		}
	}
	claim, _ := meta[ClaimKey].(map[string]any)
	if claim["untrusted"] == true {
		r.trusted = false
	}
	if claim["sensitive"] == true {
		r.sensitive = true
	}
}
