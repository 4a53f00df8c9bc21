// Package policy reads a person's decisions about tools from a file, for the proxy: which server is
// trusted, and what is allowed, asked about and denied.
package policy

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
)

// Schema is the JSON schema of a policy file, for editors.
//
//go:embed policy.schema.json
var Schema []byte

// A Policy is the contents of one file. It never changes; the zero value leaves the careful defaults.
type Policy struct {
	// Name is the file's, for explanations.
	Name string

	// Trust are the servers whose declarations may lower a class.
	Trust []string
	// ReadOnly shows and calls what is Safe, and nothing else.
	ReadOnly bool
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

	// By are who is asked: elicit, web, terminal, deny; nil where the file does not say.
	By []string
	// Approvals are how people are asked. Of its fields Timeout, MaxPending, Remember,
	// OfferMembers, OfferTool and Writes can be set.
	Approvals hitl.Options
	// Approved are the remembered approvals that the file holds.
	Approved []Approved
	// Patience is how long a call waits for a person whom its client cannot ask; 0 is unset.
	Patience time.Duration
	// Limits, Timeout and Retry are those of the rooms.
	Limits  ratelimit.Options
	Timeout timeout.Options
	Retry   retry.Options
	// Cache are the tools whose results are cached; none by default.
	Cache []Lifetime
	// Trusted are the tools whose results are like the user's words; FlowOff, the flow rules turned off.
	Trusted []Pattern
	FlowOff []flow.Rule
	// Budget is nil where there is none.
	Budget *budget.Options
	// OutputLimit is how many characters of an answer pass; 0 is all of it.
	OutputLimit int
	// Lock and Audit are names of files, as they are written; "" where there is none.
	Lock, Audit string

	// Warnings are about parts of the file without effect.
	Warnings []string
}

// A Verdict is what a rule decides. The strictest of those that match counts.
type Verdict uint8

// The verdicts, the strictest last.
const (
	None  Verdict = iota // no rule speaks: the class decides
	Allow                // the policy approves in the place of a person
	Ask                  // a person is asked, whatever the class
	Deny                 // it is neither listed nor called
)

var verdicts = []string{None: "", Allow: "allow", Ask: "ask", Deny: "deny"}

// String returns the verdict as it is written in a file.
func (v Verdict) String() string { return verdicts[v] }

// A Rule is one line of a policy.
type Rule struct {
	Tool    Pattern
	Verdict Verdict
	Reason  string
	Line    int
}

// An Override is the host's word on what tools do.
type Override struct {
	Tool        Pattern
	Annotations annotation.Annotations
	Line        int
}

// A Lifetime is for how long the results of tools are used.
type Lifetime struct {
	Tool Pattern
	Time time.Duration // 0 for "off", negative for "on": by the freshness of the tool
}

// A Permission is what a caller of tools needs.
type Permission struct {
	Tool       Pattern
	Permission string
}

// A Pattern names tools: "server/tool", each with the wildcards of [path.Match], or a tool of any server ("*").
type Pattern struct{ Server, Tool, written string }

// ParsePattern reads a pattern.
func ParsePattern(s string) (Pattern, error) {
	server, tool, there := strings.Cut(s, "/")
	if !there {
		server, tool = "*", s
	}
	if server == "" || tool == "" {
		return Pattern{}, fmt.Errorf(`%q names no tool; write "server/tool", "server/*" or "tool"`, s)
	}
	for _, part := range []string{server, flat(tool)} {
		if _, err := path.Match(part, ""); err != nil {
			return Pattern{}, fmt.Errorf("%q is no pattern: a bracket is not closed, or it ends in a backslash", s)
		}
	}
	return Pattern{server, tool, s}, nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.written }

// flat makes one word of a tool's name, so that a star stands for a slash in it too.
func flat(tool string) string { return strings.ReplaceAll(tool, "/", "\x00") }

// Matches reports whether the pattern names a tool.
func (p Pattern) Matches(server, tool string) bool {
	return match(p.Server, server) && match(flat(p.Tool), flat(tool))
}

func match(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Exact reports whether the pattern is the name of one tool of one server.
func (p Pattern) Exact() bool {
	return strings.Contains(p.written, "/") && !strings.ContainsAny(p.written, `*?[\`)
}

func (p Pattern) namesServer() bool { return !strings.ContainsAny(p.Server, `*?[\`) }

// covers reports whether it is certain that p names every tool that q does.
func (p Pattern) covers(q Pattern) bool {
	return coversWord(p.Server, q.Server) && coversWord(flat(p.Tool), flat(q.Tool))
}

// coversWord tries what a star may match: nothing, something short, something long. A question mark
// of p's covers one of these and not the others.
func coversWord(p, q string) bool {
	if p == q || p == "*" {
		return true
	}
	if strings.ContainsAny(q, `[\`) || strings.Contains(p, "[") && strings.ContainsAny(q, "*?") {
		return false // it would take a proof: what stands for a character here may be in a class, and others not
	}
	for _, stands := range []string{"", "\x01", "\x01\x01\x01\x01\x01"} {
		if !match(p, strings.NewReplacer("*", stands, "?", "\x01").Replace(q)) {
			return false
		}
	}
	return true
}
