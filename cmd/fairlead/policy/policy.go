// Package policy reads a person's decisions about tools from a file, for the proxy: which server is
// trusted, and what is allowed, asked about and denied.
package policy

import (
	_ "embed"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
)

// Schema is the JSON schema of a policy file, for editors.
//
//go:embed policy.schema.json
var Schema []byte

// A Policy is the contents of one file. It does not change, so it is safe for concurrent use. The zero value leaves
// everything as careful as it is by default.
type Policy struct {
	// Name is the file's, for explanations.
	Name string

	// Trust are the servers whose declarations may lower a class.
	Trust []string
	// ReadOnly shows and calls what is Safe, and nothing else.
	ReadOnly bool
	// WorstCase gives each call the class of its tool's worst one, whatever it is by its arguments, unless one of the
	// Arguments applies.
	WorstCase bool
	// Scopes are what the proxy's clients may do; nil means everything.
	Scopes []catalog.Scope
	// Permissions say what a caller of a tool needs.
	Permissions []Permission
	// Rules say what is allowed, asked about and denied.
	Rules []Rule
	// Tools are the host's word on what tools do.
	Tools []Override
	// Arguments are the host's word on calls by their arguments.
	Arguments preflight.Rules

	// Probes say as which language texts of arguments are judged.
	Probes []Probing
	// Paths are the folders where tools may read and write.
	Paths []Located

	// By are who is asked: elicit, web, terminal, deny; nil where the file does not say.
	By []string
	// Approvals are how people are asked. Of its fields Timeout, MaxPending, Remember,
	// OfferMembers, OfferTool and Writes can be set.
	Approvals hitl.Options
	// Approved are the remembered approvals that the file holds.
	Approved []Approved
	// Patience is how long a call waits for a person whom its client cannot ask; 0 is unset.
	Patience time.Duration
	// Limits, Timeout and Retry are the options of the middlewares; the zero values are their defaults.
	Limits  ratelimit.Options
	Timeout timeout.Options
	Retry   retry.Options
	// Cache are the tools whose results are cached; none by default.
	Cache []Lifetime
	// Previewed are the tools of which a trial is made before a person is asked; none by default.
	Previewed []Pattern
	// Trusted are the tools whose results are like the user's words; FlowOff, the flow rules turned off. FlowLabel has each
	// result labeled.
	Trusted   []Pattern
	FlowOff   []flow.Rule
	FlowLabel bool
	// Budget is nil if there is none.
	Budget *budget.Options
	// OutputLimit is how many characters of an answer pass; 0 is all of it.
	OutputLimit int
	// Lock and Audit are names of files, as they are written; "" if there is none.
	Lock, Audit string

	uses []use // of names of tools and servers

	// Warnings are about parts of the file without effect.
	Warnings []string
}

// A Verdict is what a rule decides. The strictest of those that match counts.
type Verdict uint8

// The verdicts, the strictest last.
const (
	None  Verdict = iota // no rule matches: the class decides
	Allow                // the policy approves in the place of a person
	Ask                  // a person is asked, whatever the class
	Deny                 // it is neither listed nor called
)

var verdicts = []string{None: "", Allow: "allow", Ask: "ask", Deny: "deny"}

// String returns the verdict as it is written in a file.
func (v Verdict) String() string { return verdicts[v] }

// A Rule is one entry of "rules". Of the rules that match a tool the strictest counts; see [Policy.Decide].
type Rule struct {
	Tool    Pattern
	Verdict Verdict // not None
	Reason  string  // shown with a denial; "" for none
	Accepted
	Line int // in the file, from 1
}

// Accepted is what an entry that approves was accepted for. A tool whose definition changes later is not covered by it
// any more, unless its class is not stricter than that.
type Accepted struct {
	// Class is the strictest class that is covered. Without one and without a Definition, that is Moderate, and Unknown.
	Class *annotation.Safety
	// Definition is the digest of the only definition that is covered, whatever its class; zero for any.
	Definition middleware.Digest
}

// covers reports whether a call of that class, of a tool with that definition, is covered.
func (a *Accepted) covers(class annotation.Safety, definition middleware.Digest) bool {
	switch {
	case a.Definition != (middleware.Digest{}):
		return a.Definition == definition
	case a.Class == nil:
		return class != annotation.Dangerous
	}
	return class == annotation.Safe || class == *a.Class || *a.Class == annotation.Dangerous
}

// An Override is one entry of "tools": what the host says that tools do, whatever their servers declare.
type Override struct {
	Tool        Pattern
	Annotations annotation.Annotations
	Line        int // in the file, from 1
}

// A Lifetime is one entry of "cache": how long the results of tools are used. Of several that match, the shortest
// counts.
type Lifetime struct {
	Tool Pattern
	Time time.Duration // 0 for "off", negative for "on": by the freshness of the tool
}

// A Probing is one entry of "probes": as which language the texts of tools are judged that are found to be of one. Of
// several that match, "off" counts, and then the last.
type Probing struct {
	Tool     Pattern
	Language string // as inference names it
	As       string // one of [preflight.Languages], "" for "off"
	Line     int    // in the file, from 1
}

// A Located is one entry of "paths": the folders where tools may read and write. Of several that match, the last counts.
type Located struct {
	Tool  Pattern
	Paths preflight.Paths
	Line  int // in the file, from 1
}

// A Permission is one entry of "permissions": what a caller of tools needs. Of several that match, the last counts.
type Permission struct {
	Tool       Pattern
	Permission string
}
