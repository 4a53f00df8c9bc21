package middleware

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Tool is one tool of one server. It is shared between calls and read-only: copy it to change it.
type Tool struct {
	// Server is the id that the host gave the server, never the server's own name or a replica's.
	Server string
	// Definition is the tool as the server sent it, a private copy.
	Definition *mcp.Tool
	// Annotations are the effective ones: inferred, declared and set by the host.
	Annotations annotation.Annotations
	// Digest is over the whole definition, declared annotations included; zero if it was not computed.
	Digest Digest
	// Called is the name that the model has for the tool, and reads in texts; "" for the one that ModelName makes.
	// It belongs to a call, not to the definition.
	Called string
}

// A Digest identifies a tool's definition.
type Digest [sha256.Size]byte

// String returns the digest as lower-case hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// NewTool returns a tool with its digest and a private copy of the definition, which must be valid JSON.
func NewTool(server string, definition *mcp.Tool, a annotation.Annotations) (*Tool, error) {
	buf := forms.Get().(*[]byte)
	defer forms.Put(buf)
	form, private, err := canonical.Tool((*buf)[:0], definition)
	if err != nil {
		return nil, fmt.Errorf("middleware: the definition of %s/%s: %w", server, definition.Name, err)
	}
	if cap(form) <= maxPooled {
		*buf = form
	}
	return &Tool{Server: server, Definition: private, Annotations: a, Digest: sha256.Sum256(form)}, nil
}

var forms = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 256 << 10

// Name returns the name that the server gave the tool, "" for no tool.
func (t *Tool) Name() string {
	if t == nil || t.Definition == nil {
		return ""
	}
	return t.Definition.Name
}

// String returns "server/tool", as rules, files and logs write it.
func (t *Tool) String() string {
	if t == nil {
		return "no tool"
	}
	return t.Server + "/" + t.Name()
}

// Safety returns the class, Unknown for no tool.
func (t *Tool) Safety() annotation.Safety {
	if t == nil {
		return annotation.Unknown
	}
	a := &t.Annotations // Annotations.Safety would copy all of them
	return annotation.SafetyOf(a.ReadOnly, a.Destructive, a.RequiresConfirmation)
}

// maxModelName is the longest name that common model APIs accept.
const maxModelName = 64

// maxModelPrefix leaves space for two underscores and the digits of a hash.
const maxModelPrefix = maxModelName - len("__") - hashed

// hashed is the length of the hash that makes a name unique.
const hashed = len("_01234567")

// ModelName returns the name that a model is given: that of Called, or "server__tool". The part before the first two underscores
// follows from the server's id alone, so a server cannot name a tool like that of another. Characters that
// model APIs refuse are replaced, and a name that had to be changed or cut ends in digits of a hash.
func (t *Tool) ModelName() string {
	server := ""
	if t != nil {
		if t.Called != "" {
			return t.Called
		}
		server = t.Server
	}
	full := modelPrefix(server) + "__" + t.Name()
	changed := len(full) > maxModelName
	name := strings.Map(func(r rune) rune {
		if foreignToModels(r) {
			changed = true
			return '_'
		}
		return r
	}, full)
	if !changed {
		return name
	}
	return name[:min(len(name), maxModelName-hashed)] + shortHash(server+"\x00"+t.Name())
}

// modelPrefix returns the id if it has no two underscores in a row and none at its end, and otherwise another form.
func modelPrefix(server string) string {
	if len(server) <= maxModelPrefix && !strings.ContainsFunc(server, foreignToModels) &&
		!strings.Contains(server, "__") && !strings.HasSuffix(server, "_") {
		return server
	}
	words := strings.FieldsFunc(server, func(r rune) bool { return r == '_' || foreignToModels(r) })
	form := strings.Join(words, "_")
	form = form[:min(len(form), maxModelPrefix-hashed)]
	return strings.TrimSuffix(form, "_") + shortHash(server)
}

func foreignToModels(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

func shortHash(of string) string {
	sum := sha256.Sum256([]byte(of))
	return "_" + hex.EncodeToString(sum[:(hashed-1)/2])
}

// Explain returns the class of the tool and why, one line for each hint that is known:
//
//	files/delete_file: dangerous
//	  destructive   yes   inferred: "delete" leads the name
//
// A tool with conditions has a line for each; a call that was judged by them has one that begins with "this call".
func (t *Tool) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", t, t.Safety())
	if t == nil {
		return b.String()
	}
	a := t.Annotations
	for _, known := range []struct {
		word  string
		field annotation.Field
		value string
	}{
		{"read-only", annotation.ReadOnlyHint, a.ReadOnly.String()},
		{"destructive", annotation.DestructiveHint, a.Destructive.String()},
		{"confirmation", annotation.RequiresConfirmation, a.RequiresConfirmation.String()},
		{"idempotent", annotation.IdempotentHint, a.Idempotent.String()},
		{"open-world", annotation.OpenWorldHint, a.OpenWorld.String()},
		{"freshness", annotation.FreshnessHint, string(a.Freshness)},
		{"secret", annotation.SecretHint, a.Secret.String()},
	} {
		if known.value == "" || known.value == annotation.Unset.String() {
			continue
		}
		e, _ := a.EvidenceOf(known.field) // none is the host's own word
		fmt.Fprintf(&b, "  %-13s %-5s %s\n", known.word, known.value, e)
	}
	for i := range a.Conditions {
		fmt.Fprintf(&b, "  %-13s       %s\n", "condition", a.Conditions[i])
	}
	if e, ok := a.EvidenceOf(annotation.Conditions); ok && len(a.Conditions) == 0 { // of one call, which they have decided
		fmt.Fprintf(&b, "  %-13s       %s\n", "this call", e)
	}
	if a.Safety() == annotation.Unknown {
		e, ok := a.EvidenceOf(annotation.ReadOnlyHint)
		if !ok {
			e.Place = "no word of the name that is understood"
		}
		fmt.Fprintf(&b, "  nothing known: no trusted declaration, and %s\n", e.Where())
	}
	return b.String()
}
