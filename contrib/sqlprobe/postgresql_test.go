package sqlprobe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/sqlprobe"
)

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
