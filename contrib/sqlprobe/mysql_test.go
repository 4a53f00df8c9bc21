package sqlprobe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/sqlprobe"
)

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
