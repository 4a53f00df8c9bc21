package middleware

import (
	"fmt"
	"strings"
)

// A Source is where one argument of a call came from, as package flow found it. All its texts are safe to show to a
// person: what a server wrote in them is cut, and cannot change how a terminal shows it.
type Source struct {
	Argument string `json:"argument"` // its place in the arguments: "recipient", "flights[0].date"
	Kind     string `json:"kind"`     // what it means to the tool: "account", "url"
	Value    string `json:"-"`        // the argument, cut
	// From is "user", "host", "result" or "unknown".
	From string `json:"from"`
	// Tool, Call and Ago name the result: its tool as "server/tool", the ID of its call, and
	// how many calls ago it came. A text that is not the result of a call has the method that carried it in place of
	// the tool, as in "server/resources/read", and no Call.
	Tool    string `json:"tool,omitempty"`
	Call    string `json:"call,omitempty"`
	Ago     int    `json:"ago,omitempty"`
	Trusted bool   `json:"trusted,omitempty"` // the host trusts the tool's results
	How     string `json:"how,omitempty"`     // how the result has the value if not as it is: "encoded", "in two parts"
	Around  string `json:"-"`                 // the text around the value
	Rule    string `json:"rule,omitempty"`    // the rule that asks about the argument
	Note    string `json:"-"`                 // what else there is to say
}

// String returns the source on one line.
func (s Source) String() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(s.Argument+" "+s.Value) + ": ")
	switch s.From {
	case "user":
		b.WriteString("from you")
	case "host":
		b.WriteString("from the host")
	case "result":
		trust := "untrusted"
		if s.Trusted {
			trust = "trusted"
		}
		when := fmt.Sprintf(", %d calls ago", s.Ago)
		switch {
		case s.Ago == 1:
			when = ", 1 call ago"
		case s.Ago == 0 && s.Call == "": // it stands in a list of definitions
			when = ""
		case s.Ago == 0:
			when = ", in another session"
		}
		fmt.Fprintf(&b, "from %s%s, %s", s.Tool, when, trust)
		if s.How != "" {
			b.WriteString(", " + s.How)
		}
		b.WriteString("; not from you")
	default:
		b.WriteString("from nowhere known")
	}
	if s.Note != "" {
		b.WriteString(" (" + s.Note + ")")
	}
	if s.Around != "" {
		b.WriteString("; around it: " + s.Around)
	}
	return b.String()
}
