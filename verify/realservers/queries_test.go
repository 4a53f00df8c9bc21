package realservers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
)

// npm returns the path of a program that a package of npm has, and skips the test if it is not installed.
func npm(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("FAIRLEAD_NPM_SERVERS")
	path := filepath.Join(dir, ".bin", name)
	if _, err := os.Stat(path); err != nil || dir == "" {
		fmt.Fprintf(os.Stderr, "SKIPPED, NOT TESTED: %s: FAIRLEAD_NPM_SERVERS names no node_modules with %s\n", t.Name(), name)
		t.Skipf("SKIPPED: FAIRLEAD_NPM_SERVERS names no node_modules with %s: it is not put behind the proxy; .ci/run race:verify installs it", name)
	}
	return path
}

// A judged call is one of a session, with what has to become of it.
type judged struct {
	tool      string
	arguments any
	reads     bool
	answer    string // a part of the server's answer to a read
}

// sessions makes the calls twice: with the proxy as it is, where what does not read is asked about and denied, and with
// --read-only, where it is refused and nobody is asked. The proxy has no policy and no settings.
func sessions(t *testing.T, calls []judged, after func(t *testing.T, c *client), server ...string) {
	t.Helper()
	for _, flags := range [][]string{{"--"}, {"--read-only", "--"}} {
		readOnly := flags[0] == "--read-only"
		c := proxied(t, ledger(filepath.Join(t.TempDir(), "ledger")), flags, server...)
		c.answer = func(m message) { c.reply(m, "deny") }
		for _, one := range calls {
			asked, failed, text := c.made(one)
			because := fmt.Sprintf("read-only %v: %s %s: asked %d times, %.300s", readOnly, one.tool, inJSON(t, one.arguments), asked, text)
			switch {
			case one.reads && (asked > 0 || failed || !strings.Contains(text, one.answer)):
				t.Errorf("%s; want it unasked, and %q", because, one.answer)
			case one.reads:
			case readOnly && (asked > 0 || !failed || !strings.Contains(text, "only what reads may be called here")):
				t.Errorf("%s; want it refused, and nobody asked", because)
			case !readOnly && (asked != 1 || !failed):
				t.Errorf("%s; want it asked about once, and denied", because)
			}
		}
		after(t, c)
		c.close()
	}
}

// made makes a call, and returns how often a person was asked, and what came of it.
func (c *client) made(one judged) (asked int, failed bool, text string) {
	c.t.Helper()
	before := len(c.asked)
	m := c.await(c.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":%q,"arguments":%s}}`, one.tool, inJSON(c.t, one.arguments))))
	var result struct{ IsError bool }
	_ = json.Unmarshal(m.Result, &result) // an error of the protocol has none
	return len(c.asked) - before, result.IsError || m.Error != nil, string(m.Result) + string(m.Error)
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

type arguments map[string]any

// The reference server of PostgreSQL runs each text in a transaction that only reads, which a COMMIT in the text ends.
func TestQueriesOfPostgreSQL(t *testing.T) {
	t.Parallel()
	server := npm(t, "mcp-server-postgres")
	db := postgrestest.New(t)
	setup := db.Command("psql", "-h", db.Dir, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c",
		"CREATE TABLE customers (id int primary key, name text); INSERT INTO customers SELECT n, 'name ' || n FROM generate_series(1, 7) n; CREATE SEQUENCE numbers")
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sql := func(text string, reads bool, answer string) judged {
		return judged{"query", arguments{"sql": text}, reads, answer}
	}
	calls := []judged{
		sql("SELECT count(*) AS n FROM customers", true, "7"),
		sql("SELECT id, name FROM customers WHERE id = 3", true, "name 3"),
		sql("SELECT c.name, count(*) OVER () FROM customers c -- all of them\nORDER BY c.id\nLIMIT 2;", true, "name 2"),
		sql("WITH few AS (SELECT * FROM customers WHERE id < 3) SELECT string_agg(name, ', ' ORDER BY id) FROM few", true, "name 1, name 2"),
		sql("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'", true, "customers"),
		sql("SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class WHERE relname = 'customers'", true, "customers"),
		sql("SHOW server_version", true, "server_version"),
		sql("EXPLAIN SELECT * FROM customers", true, "QUERY PLAN"),
		sql("EXPLAIN (ANALYZE, FORMAT TEXT) SELECT * FROM customers WHERE id = 1", true, "QUERY PLAN"),
		sql("TABLE customers ORDER BY id LIMIT 1", true, "name 1"),
		sql("VALUES (1, 'one'), (2, 'two')", true, "two"),
		sql("SELECT DISTINCT left(name, 4) AS start FROM customers", true, "name"),
		sql("SELECT id, CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END AS kind FROM customers ORDER BY id", true, "even"),
		sql("SELECT a.id FROM customers a JOIN customers b ON b.id = a.id + 1 WHERE a.name LIKE 'name%' AND a.id BETWEEN 2 AND 4", true, "2"),
		sql("SELECT coalesce(max(id), 0) AS most FROM customers GROUP BY id HAVING count(*) > 0 ORDER BY 1 DESC FETCH FIRST 1 ROW ONLY", true, "7"),
		sql("SELECT id FROM customers EXCEPT SELECT id FROM customers WHERE id < 7", true, "7"),
		sql("WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 5) SELECT sum(n) FROM up", true, "15"),
		sql("SELECT json_agg(c) FROM (SELECT * FROM customers ORDER BY id LIMIT 2) c", true, "name 2"),
		sql("SELECT name FROM customers WHERE id IN (SELECT min(id) FROM customers) -- the first", true, "name 1"),
		sql("SELECT extract(year FROM date '2024-05-06') AS y, now() > date '2020-01-01' AS later", true, "2024"),
		sql("SELECT schemaname, tablename FROM pg_catalog.pg_tables WHERE schemaname = 'public'", true, "customers"),
		sql("INSERT INTO customers VALUES (8, 'x')", false, ""),
		sql("UPDATE customers SET name = 'x' WHERE id = 1", false, ""),
		sql("CREATE TABLE other (id int)", false, ""),
		sql("ALTER TABLE customers ADD COLUMN x int", false, ""),
		sql("SELECT * FROM customers FOR UPDATE", false, ""),
		sql("SELECT setval('numbers', 7)", false, ""),
		sql("SELECT pg_read_file('/etc/passwd')", false, ""),
		sql("COPY customers TO PROGRAM 'cat > /tmp/x'", false, ""),
		sql("DO $$ BEGIN DELETE FROM customers; END $$", false, ""),
		sql("SET default_transaction_read_only = off", false, ""),
		sql("COMMIT; DROP TABLE customers;", false, ""),
		sql("DELETE FROM customers", false, ""),
		sql("SELECT 1; COMMIT; DELETE FROM customers", false, ""),
		sql("EXPLAIN ANALYZE DELETE FROM customers", false, ""),
		sql("WITH gone AS (DELETE FROM customers RETURNING *) SELECT count(*) FROM gone", false, ""),
		sql("SELECT * INTO copy FROM customers", false, ""),
		sql("SELECT pg_terminate_backend(pg_backend_pid())", false, ""),
		sql("SELECT nextval('numbers')", false, ""),
		sql("SELECT 1 /* */ ; ROLLBACK; TRUNCATE customers --", false, ""),
	}
	sessions(t, calls, func(t *testing.T, c *client) {
		t.Helper()
		if _, _, text := c.made(sql("SELECT count(*) AS still FROM customers", true, "")); !strings.Contains(text, `\"still\": \"7\"`) {
			t.Errorf("the table is not whole: %s", text)
		}
	}, installed(t, "node"), server, "postgres://postgres@localhost/postgres?host="+db.Dir)
}

// A SQLite server with a tool for reads, one for writes and one for CREATE TABLE, each of which gets a text. It is built
// from source, so it is installed for the nightly run alone.
func TestQueriesOfSQLite(t *testing.T) {
	t.Parallel()
	server := filepath.Join(os.Getenv("FAIRLEAD_SQLITE_SERVER"), ".bin", "mcp-server-sqlite-npx")
	if _, err := os.Stat(server); err != nil || os.Getenv("FAIRLEAD_SQLITE_SERVER") == "" {
		fmt.Fprintf(os.Stderr, "SKIPPED, NOT TESTED: %s: FAIRLEAD_SQLITE_SERVER names no node_modules with mcp-server-sqlite-npx\n", t.Name())
		t.Skip("SKIPPED: FAIRLEAD_SQLITE_SERVER names no node_modules with mcp-server-sqlite-npx; .ci/nightly installs it")
	}
	node, file := installed(t, "node"), filepath.Join(t.TempDir(), "shop.db")
	// The tables are made by the server itself, without the proxy.
	direct := start(t, ledger(filepath.Join(t.TempDir(), "ledger")), node, server, file)
	for tool, text := range map[string]string{"create_table": "CREATE TABLE customers (id integer primary key, name text)"} {
		if _, failed, text := direct.made(judged{tool, arguments{"query": text}, false, ""}); failed {
			t.Fatal(text)
		}
	}
	if _, failed, text := direct.made(judged{"write_query", arguments{"query": "INSERT INTO customers VALUES (1, 'name 1'), (2, 'name 2'), (3, 'name 3')"}, false, ""}); failed {
		t.Fatal(text)
	}
	direct.close()
	read := func(text, answer string) judged { return judged{"read_query", arguments{"query": text}, true, answer} }
	no := func(tool, text string) judged { return judged{tool, arguments{"query": text}, false, ""} }
	calls := []judged{
		{"list_tables", arguments{}, true, "customers"},
		{"describe_table", arguments{"table_name": "customers"}, true, "name"},
		read("SELECT count(*) AS n FROM customers", "3"),
		read("SELECT name FROM customers WHERE id = 2 -- the second", "name 2"),
		read("SELECT [name] FROM [customers] ORDER BY id LIMIT 1;", "name 1"),
		read("select upper(name) as u from customers order by 1 desc limit 1", "NAME 3"),
		read("SELECT name FROM sqlite_master WHERE type = 'table'", "customers"),
		read("SELECT name FROM pragma_table_info('customers')", "id"),
		read("SELECT group_concat(name, ', ') FROM (SELECT name FROM customers ORDER BY id)", "name 1, name 2"),
		read("SELECT row_number() OVER (ORDER BY id) AS r, strftime('%Y', '2024-01-01') AS y FROM customers", "2024"),
		read("SELECT id, CASE WHEN id = 1 THEN 'first' ELSE 'later' END AS place FROM customers", "first"),
		read("SELECT id FROM customers WHERE name LIKE 'name%' AND id BETWEEN 2 AND 3", "3"),
		read("SELECT a.name FROM customers a JOIN customers b ON b.id = a.id + 1 ORDER BY a.id LIMIT 1", "name 1"),
		read("SELECT DISTINCT substr(name, 1, 4) AS start FROM customers", "name"),
		read("SELECT id FROM customers EXCEPT SELECT id FROM customers WHERE id < 3", "3"),
		read("SELECT sum(n) AS s FROM (WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 5) SELECT n FROM up)", "15"),
		read("SELECT coalesce(max(id), 0) AS most FROM customers", "3"),
		read("SELECT json_group_array(name) AS names FROM customers", "name 3"),
		read("SELECT name FROM customers WHERE id IN (SELECT min(id) FROM customers)", "name 1"),
		{"describe_table", arguments{"table_name": "customers"}, true, "id"},
		no("read_query", "INSERT INTO customers VALUES (4, 'x')"),
		no("read_query", "REPLACE INTO customers VALUES (1, 'x')"),
		no("read_query", "CREATE TABLE other (id int)"),
		no("read_query", "PRAGMA journal_mode = DELETE"),
		no("read_query", "PRAGMA table_info(customers); DELETE FROM customers"),
		no("read_query", "VACUUM INTO '/tmp/x'"),
		no("read_query", "SELECT writefile('/tmp/x', 'x')"),
		no("write_query", "INSERT INTO customers VALUES (5, 'x')"),
		no("write_query", "REPLACE INTO customers VALUES (1, 'x')"),
		no("create_table", "CREATE TABLE x AS SELECT 1; DELETE FROM customers"),
		no("read_query", "SELECT 1; DROP TABLE customers"),
		no("read_query", "DELETE FROM customers"),
		no("read_query", "WITH x AS (SELECT 1) DELETE FROM customers"),
		no("read_query", "SELECT load_extension('x')"),
		no("read_query", "PRAGMA writable_schema = 1"),
		no("read_query", "ATTACH DATABASE '/tmp/x' AS x"),
		no("write_query", "DELETE FROM customers"),
		no("write_query", "UPDATE customers SET name = 'x'"),
		no("write_query", "DROP TABLE customers"),
		no("create_table", "DROP TABLE customers"),
	}
	sessions(t, calls, func(t *testing.T, c *client) {
		t.Helper()
		if _, _, text := c.made(read("SELECT count(*) AS still FROM customers", "")); !strings.Contains(text, `\"still\": 3`) {
			t.Errorf("the table is not whole: %s", text)
		}
	}, node, server, file)
}

// Playwright's server writes what it reads to a file that the call names.
func TestFilesOfPlaywright(t *testing.T) {
	t.Parallel()
	server, node := npm(t, "playwright-mcp"), installed(t, "node")
	chromium := installed(t, "chromium")
	dir := t.TempDir()
	file := filepath.Join(dir, "package.json")
	if err := os.WriteFile(file, []byte(`{"mine":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := []judged{
		{"browser_console_messages", arguments{}, true, ""},
		{"browser_console_messages", arguments{"level": "error"}, true, ""},
		{"browser_network_requests", arguments{}, true, ""},
		{"browser_snapshot", arguments{}, true, ""},
		{"browser_console_messages", arguments{"level": "info", "filename": file}, false, ""},
		{"browser_console_messages", arguments{"filename": file}, false, ""},
		{"browser_network_requests", arguments{"filename": file}, false, ""},
		{"browser_snapshot", arguments{"filename": file}, false, ""},
		{"browser_evaluate", arguments{"function": "() => document.title = 'x'"}, false, ""},
	}
	sessions(t, calls, func(t *testing.T, _ *client) {
		t.Helper()
		if got, err := os.ReadFile(file); string(got) != `{"mine":true}` {
			t.Errorf("the file is %q, %v", got, err)
		}
	}, node, server, "--headless", "--no-sandbox", "--isolated", "--output-dir", dir, "--executable-path", chromium)
}

// MongoDB's server without a database: what reads reaches it, and it answers that it is connected to none.
func TestPipelinesOfMongoDB(t *testing.T) {
	t.Parallel()
	server := npm(t, "mongodb-mcp-server")
	c := proxied(t, ledger(filepath.Join(t.TempDir(), "ledger")), []string{"--"}, installed(t, "node"), server, "--telemetry", "disabled")
	c.answer = func(m message) { c.reply(m, "deny") }
	on := func(more arguments) arguments {
		more["database"], more["collection"] = "shop", "orders"
		return more
	}
	stages := func(all ...arguments) arguments { return on(arguments{"pipeline": all}) }
	for _, one := range []judged{
		{"find", on(arguments{"filter": arguments{"status": "A"}}), true, ""},
		{"count", on(arguments{"query": arguments{}}), true, ""},
		{"aggregate", stages(arguments{"$match": arguments{"status": "A"}}), true, ""},
		{"aggregate", stages(arguments{"$group": arguments{"_id": "$x", "n": arguments{"$sum": 1}}}, arguments{"$sort": arguments{"n": -1}}), true, ""},
		{"aggregate", stages(arguments{"$lookup": arguments{"from": "a", "localField": "b", "foreignField": "c", "as": "d"}}), true, ""},
		{"find", on(arguments{"filter": arguments{"n": arguments{"$gte": 1, "$lt": 9}}, "limit": 5}), true, ""},
		{"find", on(arguments{"filter": arguments{"$or": []arguments{{"a": 1}, {"b": arguments{"$in": []int{1, 2}}}}}}), true, ""},
		{"find", on(arguments{"filter": arguments{"name": arguments{"$regex": "^a", "$options": "i"}}, "sort": arguments{"name": 1}}), true, ""},
		{"find", on(arguments{"projection": arguments{"name": 1, "_id": 0}}), true, ""},
		{"find", on(arguments{"filter": arguments{"tags": arguments{"$elemMatch": arguments{"a": 1}}}}), true, ""},
		{"find", on(arguments{}), true, ""},
		{"count", on(arguments{"query": arguments{"status": arguments{"$ne": "A"}}}), true, ""},
		{"count", on(arguments{}), true, ""},
		{"aggregate", stages(arguments{"$unwind": "$items"}, arguments{"$count": "n"}), true, ""},
		{"aggregate", stages(arguments{"$project": arguments{"total": arguments{"$multiply": []string{"$a", "$b"}}}}), true, ""},
		{"aggregate", stages(arguments{"$addFields": arguments{"y": arguments{"$year": "$at"}}}, arguments{"$limit": 3}), true, ""},
		{"aggregate", stages(arguments{"$sortByCount": "$status"}), true, ""},
		{"aggregate", stages(arguments{"$facet": arguments{"a": []arguments{{"$count": "n"}}}}), true, ""},
		{"aggregate", stages(arguments{"$bucket": arguments{"groupBy": "$n", "boundaries": []int{0, 10}}}), true, ""},
		{"collection-schema", on(arguments{}), true, ""},
		{"collection-indexes", on(arguments{}), true, ""},
		{"find", on(arguments{"filter": arguments{"$where": "sleep(1000)"}}), false, ""},
		{"find", on(arguments{"filter": arguments{"$expr": arguments{"$function": arguments{"body": "f", "args": []int{}, "lang": "js"}}}}), false, ""},
		{"find", on(arguments{"projection": arguments{"x": arguments{"$function": arguments{"body": "f", "args": []int{}, "lang": "js"}}}}), false, ""},
		{"count", on(arguments{"query": arguments{"$where": "true"}}), false, ""},
		{"aggregate", stages(arguments{"$project": arguments{"x": arguments{"$function": arguments{"body": "f", "args": []int{}, "lang": "js"}}}}), false, ""},
		{"aggregate", stages(arguments{"$group": arguments{"_id": 1, "x": arguments{"$accumulator": arguments{"init": "f"}}}}), false, ""},
		{"aggregate", stages(arguments{"$unionWith": arguments{"coll": "a", "pipeline": []arguments{{"$out": "b"}}}}), false, ""},
		{"aggregate", stages(arguments{"$lookup": arguments{"from": "a", "pipeline": []arguments{{"$merge": "b"}}, "as": "c"}}), false, ""},
		{"count", on(arguments{"query": arguments{"$expr": arguments{"$function": arguments{"body": "f", "args": []int{}, "lang": "js"}}}}), false, ""},
		{"update-many", on(arguments{"filter": arguments{}, "update": arguments{"$set": arguments{"a": 1}}}), false, ""},
		{"drop-index", on(arguments{"indexName": "a", "type": "classic"}), false, ""},
		{"drop-database", arguments{"database": "shop"}, false, ""},
		{"rename-collection", on(arguments{"newName": "b"}), false, ""},
		{"aggregate", stages(arguments{"$match": arguments{}}, arguments{"$out": "copy"}), false, ""},
		{"aggregate", stages(arguments{"$merge": arguments{"into": "copy"}}), false, ""},
		{"aggregate", stages(arguments{"$match": arguments{"$where": "sleep(1000)"}}), false, ""},
		{"aggregate", stages(arguments{"$facet": arguments{"a": []arguments{{"$out": "copy"}}}}), false, ""},
		{"delete-many", on(arguments{"filter": arguments{}}), false, ""},
		{"drop-collection", on(arguments{}), false, ""},
	} {
		asked, failed, text := c.made(one)
		if denied := strings.Contains(text, "The user said no"); (asked > 0) == one.reads || denied == one.reads || !failed && !one.reads {
			t.Errorf("%s %s: asked %d times, %.300s", one.tool, inJSON(t, one.arguments), asked, text)
		}
	}
}
