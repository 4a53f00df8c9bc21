// Package probe judges a call by the text of one argument: [SQL] reads a query, [HTTP] a request, and [Shell] and [AnyShell] a
// command line. Each is a [preflight.Probe], for a tool that runs whatever it is given:
//
//	preflight.Rules{"db/run_sql": preflight.Argument("sql", probe.SQL)}
//
// A text is a read only if every part of it is known to read; anything else is destructive.
//
// A condition on an argument names the language of its text, and then no rule is needed: [preflight.New] reads sql by
// SQL, and other languages by the probes of preflight.Options.Texts.
package probe

import (
	"github.com/fairlead-go/fairlead/internal/probes"
	"github.com/fairlead-go/fairlead/preflight"
)

// SQL reads one plain SELECT, and calls it a read if every known dialect agrees that it is one. It is not a parser: it
// accepts a small language that all dialects cut into the same words, in which no word begins a second statement,
// locks, stores or assigns, and which calls only functions of its list. All else is destructive, INSERT too.
//
// For a server whose dialect is known, the module contrib/sqlprobe has probes that use the database's own grammar.
//
// SQL cannot see what a view, an operator, a cast or a function of a listed name does inside the database, nor a
// function of the host's own that is called without parentheses, as Oracle, Firebird and PostgreSQL allow.
func SQL(text string) preflight.Verdict { return preflight.Verdict(probes.SQL(text)) }

// HTTP reads one request: a line such as "GET https://example.com/users?id=1", or the head of a request as it goes
// over the wire. GET, HEAD and OPTIONS are reads, PUT and PATCH updates (only PUT may be repeated), and all
// other methods destructive, since their effect depends on the server.
//
// Reads and updates become destructive if the request contradicts its method: a verb such as delete, finalize or
// playpause in the path or the query; a path that ends in a verb such as open or place; a command that is not known
// to read, or a statement that writes; a header or parameter that overrides the method; a GraphQL mutation; a body; a
// name and password in the URL. A method without a URL, or a URL without a method, is destructive too.
//
// HTTP cannot see that a server answers a harmless GET by changing something, nor where a redirect leads.
func HTTP(text string) preflight.Verdict { return preflight.Verdict(probes.HTTP(text)) }

func harmless(why string) preflight.Verdict { return preflight.Verdict(probes.Harmless(why)) }
func harmful(why string) preflight.Verdict  { return preflight.Verdict(probes.Harmful(why)) }
