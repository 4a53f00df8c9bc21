package probe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight/probe"
)

const (
	probeRead  = annotation.Safe
	probeWrite = annotation.Moderate
	probeRisk  = annotation.Dangerous
)

func TestSQL(t *testing.T) {
	t.Parallel()
	checkProbe(t, probe.SQL, []probeCase{
		{"SELECT * FROM users", probeRead, "one SELECT"},
		{"select id, name from users where id = ? and active = 1;", probeRead, ""},
		{"SELECT count(*), max(age) FROM users WHERE name LIKE 'O''Hara%'", probeRead, ""},
		{"SELECT u.name\nFROM users u\nLEFT JOIN orders o ON o.user_id = u.id\nWHERE o.id IS NULL\nORDER BY 1 LIMIT 10", probeRead, ""},
		{"SELECT 'DELETE FROM users; -- no' AS note", probeRead, ""},
		{`SELECT "delete" FROM t`, probeRead, ""},
		{"WITH a AS (SELECT 1 AS n) SELECT n FROM a UNION ALL SELECT 2", probeRead, ""},
		{"SELECT a::text, b || 'x', c / 2 FROM t WHERE d IN (1, 2) AND NOT (e = '') AND f BETWEEN 1 AND 2.5e3", probeRead, ""},
		{"SELECT CASE WHEN a > 1 THEN 'x' ELSE 'y' END, row_number() OVER (ORDER BY b) FROM t GROUP BY c HAVING sum(d) > 1", probeRead, ""},
		{"SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)\n", probeRead, ""},

		{"", probeRisk, "no statement"},
		{";", probeRisk, "no statement"},
		{"INSERT INTO t VALUES (1)", probeRisk, "INSERT"},
		{"UPDATE t SET a = 1", probeRisk, "UPDATE"},
		{"EXPLAIN ANALYZE DELETE FROM t", probeRisk, "EXPLAIN"},
		{"PRAGMA journal_mode = DELETE", probeRisk, "PRAGMA"},
		{"ATTACH DATABASE 'x' AS y", probeRisk, "ATTACH"},
		{"(SELECT 1)", probeRead, ""},
		{"SELECT * INTO copy FROM t", probeRisk, "INTO"},
		{"SELECT * FROM t FOR UPDATE", probeRisk, "FOR"},
		{"WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", probeRisk, "DELETE"},
		{"SELECT 1; DROP TABLE t", probeRisk, "second statement"},
		{"SELECT 1; SELECT 2", probeRisk, "second statement"},
		{"SELECT 1 DELETE FROM t", probeRisk, "DELETE"},
		{"SELECT 1 EXEC xp_cmdshell 'dir'", probeRisk, "EXEC"},
		{"SELECT seq.NEXTVAL FROM dual", probeRisk, "NEXTVAL"},
		{"SELECT NEXT VALUE FOR s", probeRisk, "NEXT"},
		{"WITH FUNCTION f RETURN INT IS BEGIN RETURN 1; END; SELECT f FROM dual", probeRisk, "second statement"},
		{"SELECT * FROM (FROM t MAP a USING 'rm -rf /')", probeRisk, "MAP"},
		{"SELECT 1 ->> DROP TABLE t", probeRisk, ">>"},
		{"SELECT pg_terminate_backend(1)", probeRisk, "PG_TERMINATE_BACKEND"},
		{"SELECT load_extension ('x')", probeRisk, "LOAD_EXTENSION"},
		{"SELECT evil.lower('a')", probeRisk, "of a schema"},
		{`SELECT "wipe"('a')`, probeRisk, "quoted name"},
		{"SELECT (wipe)('a')", probeRisk, "called after"},
		{"SELECT t.wipe()", probeRisk, "WIPE"},
		{"SELECT * FROM t WITH (TABLOCKX)", probeRisk, "WITH"},
		{"SELECT 1, 2., 0x1F, 1e5, 1.5e-3, .5 FROM t", probeRead, ""},
		{"SELECT 1DELETE FROM t", probeRisk, "1DELETE"}, // Transact-SQL and older PostgreSQL end the number before the word
		{"SELECT 1INTO copy FROM t", probeRisk, "1INTO"},
		{"SELECT 1.DROP TABLE t", probeRisk, "1.DROP"},
		{"SELECT .5DELETE FROM t", probeRisk, "5DELETE"},
		{"SELECT 0xDELETE FROM t", probeRisk, "0XDELETE"},
		{"SELECT 1e5DELETE FROM t", probeRisk, "1E5DELETE"},
		{"SELECT evil.filter(1)", probeRisk, "of a schema"}, // a keyword is a name behind a point
		{"SELECT evil . in (1)", probeRisk, "of a schema"},
		{"SELECT AND CONSUME TOP 1 * FROM queue", probeRisk, "CONSUME"}, // Teradata takes the row out
		{"SELECT 1 END CONVERSATION 'a'", probeRisk, "CONVERSATION"},
		{"SELECT 1 DUMP DATABASE d TO 'f'", probeRisk, "DUMP"},
		{"SELECT 1 DISK INIT NAME = 'd'", probeRisk, "DISK"},
		{"SELECT 'a;\nDROP TABLE t;\n'", probeRisk, "quote"}, // SQL*Plus ends a statement at the end of a line, within quotes too
		{"SELECT 'a\nGO\nDROP TABLE t\nGO\n'", probeRisk, "quote"},
		{"SELECT replace(a, 'x', 'y'), left(b, 2) FROM t", probeRead, ""}, // named as a statement is
		{"SELECT truncate(a, 2), insert(b, 1, 1, 'x') FROM t", probeRead, ""},
		{"SELECT 1 TRUNCATE TABLE t", probeRisk, "TRUNCATE"},
		{"SELECT t.truncate(1)", probeRisk, "of a schema"},
		{"WITH a AS (SELECT 1 AS n) REPLACE t SELECT n FROM a", probeRisk, "REPLACE"},
		{"WITH a AS (SELECT 1 AS n) SUBSCRIBE a", probeRisk, ""},
		{"SELECT * FROM pragma_optimize", probeRisk, "PRAGMA_OPTIMIZE"}, // writes what it finds out
		{`SELECT * FROM "Pragma_optimize"`, probeRisk, "Pragma_optimize"},
		{"SELECT * FROM main . 'pragma_optimize'", probeRisk, "pragma_optimize"},
		{`SELECT s."NEXTVAL" FROM dual`, probeRisk, "NEXTVAL"},
		{`SELECT t."update", 'nextval' FROM t`, probeRead, ""},
		{"SELECT * FROM events SETTINGS stream_like_engine_allow_direct_select = 1", probeRisk, "SETTINGS"}, // ClickHouse takes the messages out
		{"SELECT 1 REORG REBUILD t", probeRisk, "REORG"},
		{"SELECT 1 ONLINE DATABASE d", probeRisk, "DATABASE"},
		{"SELECT * FROM t HOLDLOCK", probeRisk, "HOLDLOCK"},
		{"SELECT 1 -- x", probeRead, ""},
		{"SELECT 1 --x\n- 1", probeRead, ""},
		{"SELECT 1 --1 DROP TABLE t", probeRisk, "DROP"}, // MySQL needs a blank behind the dashes,
		{"SELECT 1 /*! INTO OUTFILE 'x' */", probeRisk, "comment"},
		{"SELECT 1 // it's\n; DROP TABLE t --'", probeRisk, "quote"},
		{"SELECT a FROM t # it's", probeRead, ""},
		{"SELECT `a` FROM t", probeRead, ""},
		{"SELECT `a'` FROM t", probeRisk, "backticks"},
		{"SELECT [a] FROM t", probeRead, ""},
		{"SELECT [x]] '] DROP TABLE t ' FROM t", probeRisk, "brackets"},
		{"SELECT $$a$$ FROM t", probeRead, ""},
		{"SELECT $$'$$ DROP TABLE t --'", probeRisk, "DROP"},
		{"SELECT $$; DROP TABLE t; $$", probeRisk, "DROP"},
		{"SELECT @a := 1", probeRisk, "assignment"},
		{"SELECT 1 \\! rm", probeRisk, "character"},
		{"SELECT 'a\\'; DROP TABLE t; --'", probeRisk, "DROP"},
		{"SELECT '''a'; DROP TABLE t; --'''", probeRisk, "DROP"},
		{"SELECT 'a'''", probeRead, ""},
		{"SELECT 'a'''; DROP TABLE t; SELECT '''b'", probeRisk, "DROP"},
		{"SELECT q'[it's]'", probeRisk, "prefix"},
		{"SELECT E'x'", probeRead, ""},
		{"SELECT 'open", probeRisk, "whole"},
		{"SELECT (1", probeRisk, "whole"},
		{"SELECT 1)", probeRisk, "closing"},
		{"SELECT 1\n\nHOST rm -rf x", probeRisk, "HOST"},
		{"SELECT 1\n.shell rm -rf x", probeRisk, "client"},
		{"SELECT open, close, host FROM prices ORDER BY release DESC", probeRead, ""}, // names where only a name can be
		{"SELECT a open FROM t", probeRisk, "OPEN"},
		{"SELECT d..t.drop, x.update FROM d..t x", probeRead, ""}, // behind a point it is a name
		{"FROM . INTO x", probeRisk, "INTO"},
		{"SELECT .DROP TABLE t", probeRisk, "DROP"},
		{"SELECT * FROM a, (SELECT 1) b WHERE b.copy = a.load", probeRead, ""},
		{"SELECT 1 COPY t TO 'x'", probeRisk, "COPY"},
		{"SELECT 1 TRANSFER TABLE t", probeRisk, "TRANSFER"},
		{"SELECT 1 SHUFFLE TABLE t", probeRisk, "TABLE"},
		{"SELECT purge_all FROM dual", probeRisk, "PURGE_ALL"},
		{"SELECT purge_all FROM t", probeRisk, "PURGE_ALL"},
		{"SELECT delete_rule FROM information_schema.referential_constraints", probeRead, ""},
		{"SELECT wipe", probeRisk, "not a column"},
		{"SELECT current_date", probeRead, ""},
		{"SELECT a ->> DROP FROM t", probeRisk, "->>"},
		{"SELECT a FROM t |> CALL f()", probeRisk, "|>"},
		{"EXPLAIN SELECT 1", probeRead, "one EXPLAIN"},
		{"EXPLAIN PLAN FOR SELECT 1", probeRisk, "PLAN"},
		{"EXPLAIN ANALYZE t", probeRisk, "EXPLAIN"},
		{"EXPLAIN 'a1b2'", probeRisk, "EXPLAIN"}, // TiDB knows a statement by its digest
		{"EXPLAIN (ANALYZE, EXPLORE) SELECT 1", probeRisk, "EXPLORE"},
		{"SHOW TABLES", probeRead, "one SHOW"},
		{"SHOW TABLES WHERE sleep(9)", probeRisk, "SLEEP"},
		{"SHOW TABLES DROP TABLE t", probeRisk, "DROP"},
		{"DESCRIBE t", probeRead, ""},
		{"DESCRIBE t DROP", probeRisk, "DESCRIBE"},
		{"PRAGMA table_info(t)", probeRead, ""},
		{"PRAGMA user_version", probeRead, ""},
		{"PRAGMA user_version(1)", probeRisk, "USER_VERSION"},
		{"PRAGMA optimize", probeRisk, "OPTIMIZE"},
		{"TABLE t", probeRead, "one TABLE"},
		{"SELECT last_insert_id(7)", probeRisk, "stores"},
		{"SELECT * FROM '/etc/passwd'", probeRisk, "the file"},
		{"SELECT * FROM t WITH (NOLOCK, TABLOCKX)", probeRisk, "TABLOCKX"},
		{"FROM (SELECT 1) MAP a USING 'rm -rf /'", probeRisk, ""},
		{"SELECT map(a) USING 'rm' FROM t", probeRisk, "USING"},
		{"SЕLECT 1", probeRisk, "character"}, // a Cyrillic Е
		{"SELECT\u00a01", probeRisk, "U+00A0"},
		{"SELECT 1\x00", probeRisk, "U+0000"},
		{"SELECT '\xff'", probeRisk, "UTF-8"},
		{"SELECT '" + strings.Repeat("x", 20<<10) + "'", probeRisk, "more than is read"},
	})
}

func FuzzSQL(f *testing.F) {
	for _, text := range []string{"SELECT 1", "SELECT a FROM t WHERE b = 'c''d'", "WITH a AS (SELECT 1) SELECT n FROM a;", "SELECT \"a\", b::text FROM t", "SELECT a FROM b c#0\"d", "FROM#''.", "FROM 0--", "SELECT 1 /* a */ -- b", "FROM.A#A.", "SELECT 00/*/00*/0", "SELECT[`]"} {
		f.Add(text, uint(3))
	}
	f.Fuzz(func(t *testing.T, text string, at uint) {
		got := probe.SQL(text)
		checkVerdict(t, got)
		if got.Annotations.Safety() != probeRead {
			return
		}
		middle := int(at % uint(len(text)+1))
		for _, c := range []struct {
			worse string
			place int // where the text was changed
		}{
			{"; DROP TABLE x; " + text, 0},
			{"DROP TABLE x; " + text, 0},
			{text + "; DROP TABLE x", len(text)},
			{text + "\n; DROP TABLE x", len(text)},
			{text + "\n INTO x", len(text)},
			{text + "\n FOR UPDATE", len(text)},
			{text + " INTO x", len(text)},
			{text[:middle] + "; DROP TABLE x;" + text[middle:], middle},
		} {
			// Behind a quote that is open, the change is a part of a text or of a comment, or nothing is carried out. So it is
			// in a comment, unless a line end is in front of it.
			hidden := insideQuotes(text, c.place) || c.place < len(text) && strings.ContainsAny(text[:c.place], "`[") || insideComment(text, c.place) && !strings.HasPrefix(c.worse[c.place:], "\n")
			if v := probe.SQL(c.worse); v.Annotations.Safety() == probeRead && !hidden {
				t.Errorf("%q is a read, and so is %q", text, c.worse)
			}
		}
	})
}

// insideComment reports whether a comment may be open at a place in a text.
func insideComment(text string, at int) bool {
	before := text[:at]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return strings.Contains(line, "--") || strings.Contains(line, "#") || strings.LastIndex(before, "*/") < strings.LastIndex(before, "/*")+2 && strings.Contains(before, "/*")
}

// insideQuotes reports whether a quote is open at a place in a text.
func insideQuotes(text string, at int) bool {
	var open rune
	for _, r := range text[:at] {
		switch {
		case open == 0 && (r == '\'' || r == '"'):
			open = r
		case r == open:
			open = 0
		}
	}
	return open != 0
}

func ExampleSQL() {
	for _, text := range []string{
		"SELECT name FROM users WHERE id = 7",
		"SELECT name FROM users; DROP TABLE users",
		"SELECT pg_terminate_backend(42)",
	} {
		v := probe.SQL(text)
		fmt.Println(v.Annotations.Safety(), "-", v.Why)
	}
	// Output:
	// safe - one SELECT
	// dangerous - a second statement, and the word "DROP"
	// dangerous - the function "PG_TERMINATE_BACKEND"
}
