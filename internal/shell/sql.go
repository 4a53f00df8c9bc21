package shell

import (
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/probes"
)

// sqlFault returns why a text for a database is more than a read.
func sqlFault(w word) string {
	if !w.known() {
		return "a statement that is not known"
	}
	text := strings.TrimSpace(w.text)
	if metaReads(text) {
		return ""
	}
	v := probes.SQL(strings.TrimRight(text, "; \n\t"))
	if v.Annotations.Safety() == annotation.Safe {
		return ""
	}
	return "SQL: " + v.Why
}

// metaCommands are commands of the clients psql and sqlite3 that list things. Sources: psql(1) "Meta-Commands", SQLite
// "Command Line Shell". Those that take a file, a command or a setting are left out.
var metaCommands = strings.Fields(`\l \l+ \d \d+ \dt \dt+ \di \di+ \dv \dv+ \dn \dn+ \du \du+ \df \df+ \ds \ds+ \dm \dm+ \dx \dx+ \dT \dT+ \dp
	\db \db+ \dc \dC \dd \dD \dg \det \des \dew \dS \dtS \conninfo \z \sf \sv \encoding
	.tables .schema .databases .indexes .indices .fullschema .dbinfo .stats .show .version .help`)

// metaReads reports whether a text is one command of a client that lists something.
func metaReads(text string) bool {
	if text == "" || text[0] != '\\' && text[0] != '.' {
		return false
	}
	fields := strings.Fields(text)
	listed := false
	for _, m := range metaCommands {
		listed = listed || m == fields[0]
	}
	return listed && !strings.ContainsAny(text, "|`;\n>") && !strings.Contains(text[1:], `\`)
}

// sqlCommand judges a client that runs the statement behind an option, and waits for a person without one.
func sqlCommand(names ...string) handler {
	return func(_ *reader, row *row, p parsed, _ *scope) string {
		if p.has("--help", "--version", "-V", "-?", "-l", "--list") {
			return ""
		}
		found := false
		for _, o := range p.options {
			for _, name := range names {
				if o.name == name {
					found = true
					if row.name == "mysql" || row.name == "mariadb" { // both end a statement, mysql(1) "Commands"
						o.value.text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(o.value.text), `\G`), `\g`)
					}
					if why := sqlFault(o.value); why != "" {
						return why
					}
				}
			}
		}
		if !found {
			return "no statement"
		}
		return ""
	}
}

// sqliteCommand judges a client whose operands are a database and statements.
func sqliteCommand(r *reader, _ *row, p parsed, s *scope) string {
	if p.has("-version", "-help", "--version", "--help", "-h") {
		return ""
	}
	found := false
	for _, o := range p.options {
		switch o.name {
		case "-c", "-s", "-cmd", "--cmd":
			found = found || o.name != "-cmd" && o.name != "--cmd"
			if why := sqlFault(o.value); why != "" {
				return why
			}
		}
	}
	for i, w := range p.operands {
		if i == 0 {
			if w.many {
				return "a database that is not one word"
			}
			continue
		}
		found = true
		if why := sqlFault(w); why != "" {
			return why
		}
	}
	if !found {
		return "no statement"
	}
	return ""
}

// sqlQuery judges a subcommand whose first operand is a statement, unless an option that the table types has one.
func sqlQuery(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) == 0 && p.has("--query", "--text", "-q", "-t") {
		return ""
	}
	return bqQuery(nil, nil, p, nil)
}

// bqQuery judges bq query, whose operands are one statement.
func bqQuery(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) != 1 {
		return "no statement in one word"
	}
	return sqlFault(p.operands[0])
}
