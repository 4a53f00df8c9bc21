// Package probe judges a call by the text of one argument: [SQL] reads a query, [HTTP] a request, and [Shell] and [AnyShell] a
// command line. Each is a [preflight.Probe], for a tool that runs whatever it is given:
//
//	preflight.Rules{"db/run_sql": preflight.Argument("sql", probe.SQL)}
//
// A text is a read only if every part of it is known to read; anything else is destructive.
//
// A condition on an argument names the language of its text, and then no rule is needed: [preflight.New] judges each of
// [preflight.Languages] by its probe.
package probe

import (
	"github.com/fairlead-go/fairlead/internal/languages"
	"github.com/fairlead-go/fairlead/internal/probes"
	"github.com/fairlead-go/fairlead/internal/shell"
	"github.com/fairlead-go/fairlead/preflight"
)

// Of returns the probe that judges a language without settings, one of [preflight.Languages], nil for any other.
func Of(language string) preflight.Probe {
	probe := languages.Of(language)
	if probe == nil {
		return nil
	}
	return func(text string) preflight.Verdict { return preflight.Verdict(probe(text)) }
}

// SQL reads one statement, and calls it a read if every known dialect agrees that it is one: those of PostgreSQL, MySQL,
// SQLite, DuckDB, Transact-SQL, Oracle and BigQuery, and what others are known for. It is not a parser. It cuts the text
// into words in each way in which these dialects may cut it, which differ in comments, backslashes, brackets and dollars,
// and in none of them may a word begin a second statement, lock, store or assign, or a function be called that is not in
// its list. A SELECT, VALUES or TABLE is such a read, and so is the EXPLAIN of one, SHOW, DESCRIBE, and a PRAGMA that
// lists things. All else is destructive, INSERT too.
//
// For a server whose dialect is known, the module contrib/sqlprobe has probes that use the database's own grammar.
//
// SQL cannot see what a view, an operator, a cast or a function of a listed name does inside the database, nor a
// function of the host's own that is called without parentheses, as Oracle, Firebird and PostgreSQL allow, unless its
// name begins with a deed (purge_all) or there is no table that could have such a column.
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

// Shell reads a command line for a POSIX-like shell: sh, bash, dash, ksh, zsh, fish. It is a read if everything that it
// runs is known to read: each command is in a table, with subcommands, options and operands that only read.
//
// The text is followed as a shell would: lists, pipes, loops, conditions, functions, subshells, substitutions,
// here-documents, arithmetic, and variables whose value is in the text. A variable with any other value may stand only
// where every value is harmless. A command that runs another one (xargs, env, timeout, find -exec, sh -c) is judged by
// that one; awk, sed, jq and SQL by their programs. Where shells disagree, the text is refused.
//
// A read that prints secrets is refused too: private keys, files such as .env and .aws/credentials, Secrets of
// Kubernetes, variables whose names say token or password. So are a variable in front of a command that the command may
// act on, a file to write other than /dev/null, the background, and what is not in the tables.
//
// Some commands that are called reads change what a program keeps for itself: git status the index, jj its snapshot, podman its stores, brew
// its caches, cargo tree, uv tree and uv export a lock file that is out of date; sqlite3 makes a database that is
// missing, and sample of macOS a new file in /tmp. gh browse, npm docs and brew home open a page for the person. Others do
// not end, such as tail -f.
//
// Shell cannot see aliases, a PATH with another ls in front, a program's own configuration, or a secret in a file whose
// name does not show it. A project brings configuration too: flake8, prettier --check, terraform plan, ruff check and nix
// search are reads here, and may run code, or read files, that the project's files name. Do not let them through in a
// project that is not trusted. Do not use it for the shells of Windows, whose quotes end elsewhere.
func Shell(text string) preflight.Verdict { return preflight.Verdict(shell.Shell(text)) }

// AnyShell reads a command line for a shell that is not known. It is stricter than [Shell]: only plain commands, joined
// by |, &&, || and ;, of the same tables; quotes hold only what no shell makes something else of, those of Windows
// included, and no command reaches an address that the text chooses.
func AnyShell(text string) preflight.Verdict { return preflight.Verdict(shell.AnyShell(text)) }
