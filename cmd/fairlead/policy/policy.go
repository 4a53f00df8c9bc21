// Package policy reads a person's decisions about tools from a file, for the proxy: which server is
// trusted, and what is allowed, asked about and denied.
package policy

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tailscale/hujson"
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

// Decide returns the verdict on a tool of this class, and the rule that decides, nil for none.
func (p *Policy) Decide(server, tool string, class annotation.Safety) (Verdict, *Rule) {
	var decides *Rule
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.Tool.Matches(server, tool) || r.Verdict == Allow && !r.allows(class) {
			continue
		}
		if decides == nil || r.Verdict > decides.Verdict {
			decides = r
		}
	}
	if decides == nil {
		return None, nil
	}
	return decides.Verdict, decides
}

// allows reports whether a rule that allows covers a class: dangerous tools only by their names, and
// unknown ones only with the name of their server, whose author has chosen that of the tool.
func (r *Rule) allows(class annotation.Safety) bool {
	switch class {
	case annotation.Safe, annotation.Moderate:
		return true
	case annotation.Unknown:
		return r.Tool.namesServer()
	}
	return r.Tool.Exact()
}

// At returns the place of a line of the policy.
func (p *Policy) At(line int) string { return fmt.Sprintf("%s:%d", p.Name, line) }

// Confirmer approves what the policy allows, and asks next about the rest. A rule does not allow a
// call in doubt, nor arguments from an untrusted source, which its author did not foresee.
func (p *Policy) Confirmer(next hitl.Confirmer) hitl.Confirmer {
	return hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		stranger := slices.ContainsFunc(r.Sources, func(s hitl.Source) bool { return s.Rule != "" })
		line := 0
		if v, rule := p.Decide(r.Tool.Server, r.Tool.Name(), r.Tool.Safety()); v == Allow {
			line = rule.Line
		} else if a := p.approved(r); a != nil && v == None {
			line = a.Line
		}
		if line > 0 && !stranger && r.InDoubt.IsZero() {
			return hitl.Decision{Verdict: hitl.Approved, By: "the policy, " + p.At(line), Via: "policy"}, nil
		}
		if next == nil {
			return hitl.Decision{}, errNobody
		}
		return next.Confirm(ctx, r)
	})
}

// TrustsResults reports whether the results of a tool may be used like the user's words.
func (p *Policy) TrustsResults(t *middleware.Tool) bool {
	return slices.ContainsFunc(p.Trusted, func(trusted Pattern) bool { return trusted.Matches(t.Server, t.Name()) })
}

var errNobody = fmt.Errorf("policy: nobody is there to be asked; see --approve")

// Apply sets the policy's annotations of tools in a catalog.
func (p *Policy) Apply(c *catalog.Catalog) error {
	for _, o := range p.Tools {
		var err error
		if o.Tool.Exact() {
			err = c.Override(o.Tool.Server, o.Tool.Tool, o.Annotations)
		} else {
			_, err = c.OverrideMatching(o.Tool.Server+"/"+o.Tool.Tool, o.Annotations)
		}
		if err != nil {
			return fmt.Errorf("policy: %s: %w", p.At(o.Line), err)
		}
	}
	return nil
}

// Raise is a middleware that raises calls to ones that ask, if the policy does so, whatever the
// catalog made of them.
func (p *Policy) Raise(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		call.Tool = p.Raised(call.Tool)
		return next.CallTool(ctx, call)
	})
}

// Raised is a tool as the policy has it asked about.
func (p *Policy) Raised(t *middleware.Tool) *middleware.Tool {
	a := t.Annotations
	for _, o := range p.Tools {
		if o.Annotations.Safety() == annotation.Dangerous && o.Tool.Matches(t.Server, t.Name()) {
			a = annotation.Raise(a, o.Annotations.Attribute(annotation.Host, p.At(o.Line)))
		}
	}
	if v, rule := p.Decide(t.Server, t.Name(), t.Safety()); v == Ask {
		a = annotation.Raise(a, annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Host, p.At(rule.Line)))
	}
	if a.Safety() == t.Annotations.Safety() {
		return t
	}
	raised := *t
	raised.Annotations = a
	return &raised
}

// Needs is the permission that a caller of a tool needs by the file; "" for none. The last one counts.
func (p *Policy) Needs(t *middleware.Tool) string {
	needs := ""
	for _, one := range p.Permissions {
		if one.Tool.Matches(t.Server, t.Name()) {
			needs = one.Permission
		}
	}
	return needs
}

// Lifetime returns for how long results of a tool are used; usual follows from its freshness. The
// shortest time that matches counts; none is 0.
func (p *Policy) Lifetime(t *middleware.Tool, usual time.Duration) time.Duration {
	least := time.Duration(-1)
	for _, l := range p.Cache {
		if !l.Tool.Matches(t.Server, t.Name()) {
			continue
		}
		if l.Time < 0 {
			l.Time = usual
		}
		if least < 0 || l.Time < least {
			least = l.Time
		}
	}
	return max(least, 0)
}

// Explain lists the rules that match a tool, which of them decides, and why the others do not.
func (p *Policy) Explain(t *middleware.Tool) string {
	var b strings.Builder
	class := t.Safety()
	verdict, decides := p.Decide(t.Server, t.Name(), class)
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.Tool.Matches(t.Server, t.Name()) {
			continue
		}
		fmt.Fprintf(&b, "  %s: %s %q ", p.At(r.Line), r.Verdict, r.Tool)
		switch {
		case r == decides:
			b.WriteString("decides")
			if r.Reason != "" {
				fmt.Fprintf(&b, " (%s)", safetext.Line(r.Reason))
			}
		case r.Verdict == Allow && !r.allows(class):
			fmt.Fprintf(&b, "does not speak of %s tools; for that, write %q", class, t.String())
		default:
			fmt.Fprintf(&b, "gives way to line %d, which is as strict or stricter", decides.Line)
		}
		b.WriteString("\n")
	}
	for _, o := range p.Tools {
		if o.Tool.Matches(t.Server, t.Name()) {
			fmt.Fprintf(&b, "  %s: says what %q is\n", p.At(o.Line), o.Tool)
		}
	}
	so := map[Verdict]string{
		Deny: "neither listed nor called", Ask: "a person is asked", Allow: "called", None: "no rule decides, and its class does: " + class.String(),
	}[verdict]
	if verdict == Allow && (p.Raised(t).Safety().MustConfirm() || p.Approvals.Writes) {
		so += ", and nobody is asked"
	}
	fmt.Fprintf(&b, "  so: %s\n", so)
	return b.String()
}

// An Approved is a remembered approval that the file holds: of one tool, for arguments that
// its pattern covers, until a date.
type Approved struct {
	Tool    Pattern
	Members hitl.Pattern
	Until   time.Time
	Line    int
}

// approved returns the remembered approval that covers a call, nil for none. A call with
// _meta or input is covered by none.
func (p *Policy) approved(r hitl.Request) *Approved {
	for i := range p.Approved {
		a := &p.Approved[i]
		if r.Extra == nil && r.Tool.Digest != (middleware.Digest{}) && a.Tool.Matches(r.Tool.Server, r.Tool.Name()) && time.Now().Before(a.Until) && a.Members.Covers(r.Arguments) {
			return a
		}
	}
	return nil
}

func (r *reader) approvals(v hujson.Value, key string) {
	o, remember, offer := &r.to.Approvals, "", []string{"arguments", "members", "tool"}
	r.into(v, key, keys{
		"by": r.by, "timeout": &o.Timeout, "patience": &r.to.Patience, "remember": text(r, &remember, "once", "session", "always"),
		"writes": &o.Writes, "maxPending": &o.MaxPending, "approved": each(r, &r.to.Approved, r.approved),
		"always": &o.AlwaysLifetime, "offer": texts(r, &offer, offer...),
	})
	o.Remember = map[string]hitl.Remember{"": hitl.Once, "once": hitl.Once, "session": hitl.Session, "always": hitl.Always}[remember]
	o.OfferMembers, o.OfferTool = slices.Contains(offer, "members"), slices.Contains(offer, "tool")
}

// approved reads {"tool": "files/write_file", "members": {"path": {"like": "drafts/*"},
// "content": {"any": true}, "mode": {"is": 1}}, "until": "2027-01-31"}.
func (r *reader) approved(v hujson.Value, key string, a *Approved) {
	var until string
	a.Line = r.line(v.StartOffset)
	read := r.into(v, key, keys{
		"tool": &a.Tool, "until": &until,
		"members": func(v hujson.Value, key string) {
			r.members(v, key, func(name string, m hujson.ObjectMember, key string) {
				a.Members = append(a.Members, r.member(name, m.Value, key))
			})
		},
	})
	end, err := time.ParseInLocation(time.DateOnly, until, time.Local)
	switch {
	case !read:
	case !a.Tool.Exact() || err != nil:
		r.faultf(v, key, `it needs one "tool", such as "files/write_file", its "members", and "until", such as "2027-01-31"`)
	default:
		a.Until = end.AddDate(0, 0, 1) // the day counts
		if err := a.Members.Check(); err != nil {
			r.faultf(v, key, "%s", strings.TrimPrefix(err.Error(), "approvals: "))
		}
	}
}

// member reads what one member may be.
func (r *reader) member(name string, v hujson.Value, key string) (m approvals.Member) {
	m.Name = name
	r.into(v, key, keys{
		"like": &m.Glob, "any": &m.Any,
		"is": func(v hujson.Value, _ string) {
			v.Standardize()
			m.Value = json.RawMessage(v.Pack())
		},
	})
	return m
}

// Load reads a policy file. One that others may write, or another user's but root's, is an error.
func Load(name string) (*Policy, error) {
	text, err := read(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

func read(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // it is the file that the person named
	if err != nil {
		return nil, fmt.Errorf("policy: the file cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("policy: the file cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() { // a pipe would hold the next call until somebody writes
		return nil, fmt.Errorf("policy: %s is not a regular file", name)
	}
	if err := owned(name, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("policy: the file cannot be read: %w", err)
	}
	return text, nil
}

// A Live is a policy file that is read again when it has changed. One that is invalid changes nothing.
// It is safe for concurrent use.
type Live struct {
	name string
	log  *slog.Logger

	mu       sync.Mutex
	now      *Policy
	looked   time.Time
	seen     look
	failures int // how often a changed file could not be used
}

// A look is the text of the file, or why it could not be read. Its time and size would miss edits.
type look struct{ text, fault string }

// OpenLive reads a file for the first time; then it has to be in order.
func OpenLive(name string, log *slog.Logger) (*Live, error) {
	text, err := read(name)
	if err != nil {
		return nil, err
	}
	p, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	return &Live{name: name, log: log, now: p, looked: time.Now(), seen: look{text: string(text)}}, nil
}

// Now returns the policy as it is now. The file is looked at once a second at most.
func (l *Live) Now() *Policy {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.looked) < lookEvery {
		return l.now
	}
	l.looked = time.Now()
	text, err := read(l.name)
	found := look{text: string(text)}
	if err != nil {
		found.fault = err.Error()
	}
	if found == l.seen {
		return l.now
	}
	l.seen = found
	var p *Policy
	if err == nil {
		p, err = Parse(l.name, text)
	}
	if err != nil {
		l.failures++
		l.log.Error("policy: the file has changed and cannot be used; what it said before still counts",
			slog.Int("failures", l.failures), slog.Any("err", err))
		return l.now
	}
	for _, w := range p.Warnings {
		l.log.Warn("policy: " + w)
	}
	l.log.Info("policy: the file was read again", slog.String("file", l.name))
	l.now = p
	return p
}
