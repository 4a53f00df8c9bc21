package infer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/languages"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// conditioned are definitions with the conditions that they lead to: "name | description | schema | class | conditions".
const conditioned = `
	get_lamps | Gets the lamps | {"properties":{"filename":{"type":"string","description":"File name to save the lamps to"}}} | dangerous | dangerous if filename is given (writes a file), otherwise safe
	get_lamps | Gets the lamps | {"properties":{"save_to":{"type":"string"}}} | dangerous | dangerous if save_to is given (writes a file), otherwise safe
	get_lamps | Gets the lamps | {"properties":{"output_dir":{"type":"string"}}} | moderate | moderate if output_dir is given (writes a file), otherwise safe
	get_lamps | Gets the lamps | {"properties":{"filename":{"type":"string","description":"File to read"}}} | safe |
	get_lamps | Gets the lamps | {"properties":{"webhook_url":{"type":"string"}}} | dangerous | dangerous if webhook_url is given (sends to an address), otherwise safe
	ask_people | Asks people | {"properties":{"budget_usd":{"type":"number","description":"Payment in USD"}}} | dangerous | dangerous if budget_usd is given (spends money), otherwise safe
	lamps | Lamp tool | {"properties":{"action":{"enum":["list","dim","delete"]}}} | dangerous | by action (chooses the deed): "list" safe; "dim" moderate; "delete" dangerous, otherwise dangerous
	lamps | Lamp tool | {"properties":{"action":{"anyOf":[{"const":"list"},{"const":"delete"}]}}} | dangerous | by action (chooses the deed): "list" safe; "delete" dangerous, otherwise dangerous
	lamps | Lamp tool | {"properties":{"action":{"type":"string","description":"One of: list, delete, frob"}}} | dangerous | by action (chooses the deed): "list" safe; "delete", "frob" dangerous, otherwise dangerous
	lamps | Lamp tool | {"properties":{"request":{"oneOf":[{"properties":{"op":{"const":"list"}}},{"properties":{"op":{"const":"delete"}}}]}}} | dangerous | by request.op (chooses the deed): "list" safe; "delete" dangerous, otherwise dangerous
	get_lamps | Gets the lamps | {"properties":{"steps":{"type":"array","items":{"properties":{"action":{"enum":["wait","click"]}}}}}} | moderate | by steps[].action (chooses the deed): "wait" safe; "click" moderate, otherwise moderate
	update_lamp | Updates a lamp | {"properties":{"action":{"enum":["dim","delete"]}}} | dangerous | by action (chooses the deed): "dim" moderate; "delete" dangerous, otherwise dangerous
	delete_lamp | Deletes a lamp | {"properties":{"action":{"enum":["get","delete"]}}} | dangerous |
	delete_lamps | Deletes lamps | {"properties":{"dry_run":{"type":"boolean"}}} | dangerous | by dry_run (only tries): true safe, otherwise dangerous
	delete_lamps | Deletes lamps | {"properties":{"dry_run":{"anyOf":[{"type":"boolean"},{"type":"null"}]}}} | dangerous | by dry_run (only tries): true safe, otherwise dangerous
	delete_lamps | Deletes lamps | {"properties":{"dry_run":{"type":"string"}}} | dangerous |
	delete_lamps | Deletes lamps | {"properties":{"dry_run":{"type":"boolean"},"output_file":{"type":"string"}}} | dangerous | by dry_run (only tries): true safe, otherwise dangerous; dangerous if output_file is given (writes a file), otherwise safe
	delete_lamps | Deletes lamps | {"properties":{"dry_run":{"type":"boolean"},"webhook_url":{"type":"string"}}} | dangerous | by dry_run (only tries): true safe, otherwise dangerous; dangerous if webhook_url is given (sends to an address), otherwise safe
	delete_lamps | Deletes lamps | {"properties":{"output_file":{"type":"string"}}} | dangerous |
	copy_lamp | Copies a lamp | {"properties":{"overwrite":{"type":"boolean"}}} | dangerous | by overwrite (overrides a protection): false moderate; true dangerous, otherwise dangerous, absent moderate
	copy_lamp | Copies a lamp | {"properties":{"overwrite":{"type":"boolean","default":true}}} | dangerous | by overwrite (overrides a protection): false moderate; true dangerous, otherwise dangerous
	archive_lamp | Archives a lamp | {"properties":{"send_email":{"type":"boolean"}}} | dangerous | by send_email (does more): false moderate; true dangerous, otherwise dangerous, absent moderate
	create_event | Creates an event | {"properties":{"attendees":{"type":"array"}}} | dangerous | dangerous if attendees is given (writes to people), otherwise moderate
	query | Run a SQL query | {"properties":{"sql":{"type":"string"}}} | dangerous | by the sql in sql (is carried out): judged by its text, unjudged dangerous
	get_rows | Gets rows | {"properties":{"query":{"type":"string","description":"SQL query to execute"}}} | dangerous | by the sql in query (is carried out): judged by its text, unjudged dangerous
	explain_query | Explains a query | {"properties":{"query":{"type":"string","description":"SQL query to execute"}}} | safe |
	write_rows | Executes data modification statements | {"properties":{"query":{"type":"string","description":"SQL query to execute"}}} | dangerous | by the sql in query (is carried out): judged by its text, unjudged dangerous
	query | Run a SQL query | {"properties":{"query":{"type":"string"}}} | dangerous | by the sql in query (is carried out): judged by its text, unjudged dangerous
	run_command | Run a shell command | {"properties":{"command":{"type":"string"}}} | dangerous | by the shell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a bash command | {"properties":{"command":{"type":"string"}}} | dangerous | by the posix-shell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a shell command on the Linux host | {"properties":{"command":{"type":"string"}}} | dangerous | by the posix-shell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a shell command | {"properties":{"command":{"type":"string","description":"Handed to sh -c"}}} | dangerous | by the posix-shell in command (is carried out): judged by its text, unjudged dangerous
	bash | Run a command | {"properties":{"command":{"type":"string"}}} | dangerous | by the posix-shell in command (is carried out): judged by its text, unjudged dangerous
	run_bash | Run it | {"properties":{"bash":{"type":"string"}}} | dangerous | by the posix-shell in bash (is carried out): judged by its text, unjudged dangerous
	run_command | Run a shell command on Windows, Linux or macOS | {"properties":{"command":{"type":"string"}}} | dangerous | by the shell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a shell command with bash or PowerShell | {"properties":{"command":{"type":"string"}}} | dangerous | by the shell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a shell command. It does not use bash | {"properties":{"command":{"type":"string"}}} | dangerous | by the shell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a shell command until a Unix timestamp | {"properties":{"command":{"type":"string"}}} | dangerous | by the shell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a command over SSH | {"properties":{"command":{"type":"string"}}} | dangerous | by the shell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a shell command in cmd.exe | {"properties":{"command":{"type":"string"}}} | dangerous | by the powershell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a shell command on the Windows machine | {"properties":{"command":{"type":"string"}}} | dangerous | by the powershell in command (is carried out): judged by its text, unjudged dangerous
	run_command | Run a command of the device | {"properties":{"command":{"type":"string"}}} | dangerous | by the command in command (is carried out): judged by its text, unjudged dangerous
	get_lamps | Gets the lamps | {"properties":{"*":{"type":"object","properties":{"action":{"enum":["list","delete"]}}}}} | dangerous |
	http_request | Make an HTTP request | {"properties":{"url":{"type":"string"},"method":{"enum":["GET","POST"]},"headers":{"type":"object"},"body":{"type":"string"}}} | dangerous | by the http in url, with body, headers, method (is carried out): judged by its text, unjudged dangerous
	api_call | Call any API endpoint | {"properties":{"path":{"type":"string"},"method":{"type":"string"}}} | dangerous | by the http in path, with method (is carried out): judged by its text, unjudged dangerous
	fetch | Fetch a URL | {"properties":{"url":{"type":"string"},"method":{"type":"string"}}} | dangerous | by the http in url, with method (is carried out): judged by its text, unjudged dangerous
	fetch | Fetches a URL from the internet | {"properties":{"url":{"type":"string"},"max_length":{"type":"integer"}}} | dangerous | by the http in url (is fetched): judged by its text, unjudged dangerous
	fetch_page | Fetches a page of the local network | {"properties":{"url":{"type":"string"}}} | dangerous | by the http-local in url (is fetched): judged by its text, unjudged dangerous
	scrape_page | Scrapes a web page | {"properties":{"url":{"type":"string"},"format":{"enum":["html","text"]}}} | dangerous | by the http in url (is fetched): judged by its text, unjudged dangerous
	read_url | Reads what a URL has | {"properties":{"url":{"type":"string","description":"The URL of the webpage"}}} | dangerous | by the http in url (is fetched): judged by its text, unjudged dangerous
	get_page_screenshot | Gets a screenshot | {"properties":{"page_url":{"type":"string"}}} | dangerous | by the http in page_url (is fetched): judged by its text, unjudged dangerous
	extract_text | Extracts the text of web pages | {"properties":{"urls":{"type":"array","items":{"type":"string"}}}} | dangerous | by the http in urls[] (is fetched): judged by its text, unjudged dangerous
	read_page | Reads a page of the intranet | {"properties":{"url":{"type":"string"}}} | dangerous | by the http-local in url (is fetched): judged by its text, unjudged dangerous
	get_issue | Gets an issue | {"properties":{"url":{"type":"string","description":"URL of the issue"}}} | safe |
	get_track | Gets a track | {"properties":{"uri":{"type":"string"}}} | safe |
	fetch_lamp | Fetches a lamp | {"properties":{"id":{"type":"string"}}} | safe |
	issue_write | Create or update an issue | {"properties":{"method":{"type":"string"}}} | moderate | moderate, or stricter by the verb in method (chooses the deed)
	lamps | Lists the lamps | {"properties":{"action":{"type":"string"}}} | safe | safe, or stricter by the verb in action (chooses the deed)
	update_lamp | Updates a lamp | {"properties":{"operation_type":{"type":"string"}}} | moderate | moderate, or stricter by the verb in operation_type (chooses the deed)
	update_lamp | Updates a lamp | {"properties":{"mode":{"description":"How"}}} | moderate | moderate, or stricter by the verb in mode (chooses the deed)
	update_lamp | Updates a lamp | {"properties":{"steps":{"type":"array","items":{"properties":{"op":{"type":"string"}}}}}} | moderate | moderate, or stricter by the verb in steps[].op (chooses the deed)
	update_lamp | Updates a lamp | {"properties":{"method":{"type":"string","description":"One of: dim, list"}}} | moderate | moderate, or stricter by the verb in method (chooses the deed)
	update_lamp | Updates a lamp | {"properties":{"filename":{"type":"string"},"method":{"type":"string"},"notify_emails":{"type":"array"}}} | moderate | moderate, or stricter by the verb in method (chooses the deed)
	update_lamp | Updates a lamp | {"properties":{"method":{"type":"string","enum":["dim","list"]}}} | moderate |
	update_lamp | Updates a lamp | {"properties":{"payment_method":{"type":"string"}}} | moderate |
	update_lamp | Updates a lamp | {"properties":{"task":{"type":"string"},"event":{"type":"string"}}} | moderate |
	update_lamp | Updates a lamp | {"properties":{"mode":{"type":"integer"}}} | moderate |
	update_lamp | Updates a lamp | {"properties":{"mode_id":{"type":"string"}}} | moderate |
	update_lamp | Updates a lamp | {"properties":{"jsonPatch":{"type":"array","items":{"properties":{"op":{"type":"string"}}}}}} | moderate |
	create_rule | Creates a rule | {"properties":{"action":{"type":"string"}}} | moderate |
	get_rules | Gets the rules | {"properties":{"action":{"type":"string"}}} | safe |
	delete_lamp | Deletes a lamp | {"properties":{"mode":{"type":"string"}}} | dangerous |
	delete_lamps | Deletes lamps | {"properties":{"dry_run":{"type":"boolean"},"mode":{"type":"string"}}} | dangerous | by dry_run (only tries): true safe, otherwise dangerous
	lamps | Lists the lamps | {"properties":{"output_file":{"type":"string"},"action":{"type":"string"}}} | dangerous | dangerous if output_file is given (writes a file), otherwise safe; safe, or stricter by the verb in action (chooses the deed)
	delete_lamps | Deletes lamps | {"properties":{"mode":{"type":"string","enum":["execute","validate","dry-run"]}}} | dangerous | by mode (only tries): "dry-run", "validate" safe; "execute" dangerous, otherwise dangerous
	delete_lamps | Deletes lamps | {"properties":{"action":{"type":"string","enum":["preview","delete"]}}} | dangerous | by action (only tries): "preview" safe; "delete" dangerous, otherwise dangerous
	update_lamp | Updates a lamp | {"properties":{"execution":{"type":"string","enum":["plan","apply"],"default":"plan"}}} | moderate | by execution (only tries): "plan" safe; "apply" moderate, otherwise moderate
	delete_lamps | Deletes lamps | {"properties":{"dryRun":{"type":"string","enum":["none","client","server"]}}} | dangerous | by dryRun (only tries): "server", "client" safe; "none" dangerous, otherwise dangerous
	delete_lamps | Deletes lamps | {"properties":{"mode":{"type":"string","enum":["preview","execute"]},"output_file":{"type":"string"}}} | dangerous | by mode (only tries): "preview" safe; "execute" dangerous, otherwise dangerous; dangerous if output_file is given (writes a file), otherwise safe
	delete_lamps | Deletes lamps | {"properties":{"mode":{"type":"string","enum":["preview","delete","execute"]}}} | dangerous |
	delete_lamps | Deletes lamps | {"properties":{"mode":{"type":"string","enum":["preview","frob"]}}} | dangerous |
	delete_lamps | Deletes lamps | {"properties":{"mode":{"type":"string","enum":["preview"]}}} | dangerous |
	delete_lamps | Deletes lamps | {"properties":{"mode":{"enum":["preview",true]}}} | dangerous |
	delete_lamps | Deletes lamps | {"properties":{"mode":{"type":"string","description":"One of: preview, execute"}}} | dangerous |
	delete_lamps | Deletes lamps | {"properties":{"size":{"type":"string","enum":["preview","execute"]}}} | dangerous |
	pay_bill | Pays a bill | {"properties":{"payment_method":{"type":"string","enum":["check","card"]}}} | dangerous |
	update_task | Updates a task | {"properties":{"mode":{"type":"string","enum":["check","uncheck"]}}} | moderate |
	list_lamps | Lists the lamps of a file | {"properties":{"path":{"type":"string"},"method":{"type":"string","description":"quick or slow"}}} | safe |
	execute_query | Execute an instant query against Prometheus | {"properties":{"query":{"type":"string"}}} | dangerous | by the promql in query (is carried out): judged by its text, unjudged dangerous
	run_promql | Run PromQL | {"properties":{"promql":{"type":"string"}}} | dangerous | by the promql in promql (is carried out): judged by its text, unjudged dangerous
	query_graphql | Query an endpoint with the given query | {"properties":{"query":{"type":"string"},"variables":{"type":"string"}}} | dangerous | by the graphql in query (is carried out): judged by its text, unjudged dangerous
	execute | Execute a GraphQL operation | {"properties":{"document":{"type":"string"}}} | dangerous | by the graphql in document (is carried out): judged by its text, unjudged dangerous
	read_neo4j | Execute a read-only query on the neo4j database | {"properties":{"query":{"type":"string"}}} | dangerous | by the cypher in query (is carried out): judged by its text, unjudged dangerous
	run_query | Runs a query on the MongoDB database | {"properties":{"query":{"type":"string"}}} | dangerous | by the mongodb in query (is carried out): judged by its text, unjudged dangerous
	run_query | Runs a query on ClickHouse | {"properties":{"query":{"type":"string"}}} | dangerous | by the sql in query (is carried out): judged by its text, unjudged dangerous
	run_query | Runs a Kusto query | {"properties":{"query":{"type":"string"}}} | dangerous | by the kql in query (is carried out): judged by its text, unjudged dangerous
	execute_jq | Executes a query | {"properties":{"query":{"type":"string"}}} | dangerous | by the jq in query (is carried out): judged by its text, unjudged dangerous
	run_script | Runs a jq filter | {"properties":{"script":{"type":"string"}}} | dangerous | by the script in script (is carried out): judged by its text, unjudged dangerous
	create_table | Create a new table in the SQLite database | {"properties":{"query":{"type":"string","description":"CREATE TABLE SQL statement"}}} | dangerous | dangerous if query is given (is carried out), otherwise moderate
	create_table | Creates a table | {"properties":{"sql":{"type":"string"}}} | dangerous | dangerous if sql is given (is carried out), otherwise moderate
	create_table | Creates a table | {"properties":{"name":{"type":"string"},"columns":{"type":"array"}}} | moderate |
	save_query | Saves a query | {"properties":{"name":{"type":"string"},"sql":{"type":"string"}}} | moderate |
	execute_command | Executes a command, such as promtool with PromQL | {"properties":{"command":{"type":"string"}}} | dangerous | by the command in command (is carried out): judged by its text, unjudged dangerous
	run_query | Runs a query | {"properties":{"query":{"type":"string"}}} | dangerous | by the query in query (is carried out): judged by its text, unjudged dangerous
	find | Runs a find query against a MongoDB collection | {"properties":{"filter":{"type":"object"},"projection":{"type":"object"},"limit":{"type":"integer"}}} | dangerous | by the mongodb in filter (is evaluated): judged by its text, unjudged dangerous; by the mongodb in projection (is evaluated): judged by its text, unjudged dangerous
	count | Gets the number of documents in a MongoDB collection | {"properties":{"query":{"type":"object"}}} | dangerous | by the mongodb in query (is evaluated): judged by its text, unjudged dangerous
	list_lamps | Lists the lamps | {"properties":{"filter":{"type":"object"}}} | safe |
	aggregate | Run an aggregation | {"properties":{"pipeline":{"type":"array"}}} | dangerous | by the mongodb in pipeline (is carried out): judged by its text, unjudged dangerous`

func TestConditions(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(conditioned) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 5 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		a := infer.Tool(&mcp.Tool{Name: cells[0], Description: cells[1], InputSchema: json.RawMessage(cells[2])})
		if got := conditionsOf(a); a.Safety().String() != cells[3] || got != cells[4] {
			t.Errorf("%s %s: got %v, %s, want %s, %s", cells[0], cells[2], a.Safety(), got, cells[3], cells[4])
		}
		e, ok := a.EvidenceOf(annotation.Conditions)
		if ok != (cells[4] != "") || ok && (e.Source != annotation.Inferred || e.Word == "" || e.Rule == "") {
			t.Errorf("%s: the evidence is %v", cells[0], e)
		}
	}
}

// Another tool of the server states whose shell it is, if the tool itself does not.
func TestShellOfAServer(t *testing.T) {
	t.Parallel()
	run := &mcp.Tool{Name: "run", Description: "Run a shell command", InputSchema: json.RawMessage(`{"properties":{"command":{"type":"string"}}}`)}
	for about, want := range map[string]string{
		"Lists the processes of the Linux host":     "posix-shell",
		"Lists the services of Windows":             "powershell",
		"Lists the hosts, be they Linux or Windows": "shell",
		"Lists the hosts":                           "shell",
	} {
		all := infer.Tools([]*mcp.Tool{run, {Name: "list_things", Description: about}})
		if got := all[0].Conditions[0].Language; got != want {
			t.Errorf("beside %q: %s, want %s", about, got, want)
		}
	}
}

// The class of a call follows from its arguments.
func TestConditionsOfACall(t *testing.T) {
	t.Parallel()
	browser := &mcp.Tool{Name: "browser_console_messages", Description: "Returns all console messages", InputSchema: json.RawMessage(
		`{"properties":{"level":{"enum":["error","info"]},"filename":{"type":"string","description":"File name to save the messages to"}}}`)}
	memory := &mcp.Tool{Name: "process_memory", Description: "Memory operations: read, write, free", InputSchema: json.RawMessage(
		`{"properties":{"action":{"anyOf":[{"type":"object","properties":{"action":{"const":"read"},"address":{}}},{"type":"object","properties":{"action":{"const":"free"}}}]},"output_path":{"type":"string"}}}`)}
	for _, c := range []struct {
		tool      *mcp.Tool
		arguments string
		want      annotation.Safety
	}{
		{browser, `{}`, annotation.Safe},
		{browser, `{"level":"error"}`, annotation.Safe},
		{browser, `{"filename":"package.json"}`, annotation.Dangerous},
		{browser, `{"filename":null}`, annotation.Dangerous},
		{memory, `{"action":{"action":"read"}}`, annotation.Safe},
		{memory, `{"action":{"action":"read"},"output_path":"x"}`, annotation.Dangerous},
		{memory, `{"action":{"action":"free"}}`, annotation.Dangerous},
		{memory, `{"action":"read"}`, annotation.Dangerous},
		{memory, `{}`, annotation.Dangerous},
	} {
		a := infer.Tool(c.tool)
		if got := a.Decide(json.RawMessage(c.arguments), nil); got.Class != c.want {
			t.Errorf("%s %s: got %v, %s, want %v: %v", c.tool.Name, c.arguments, got.Class, got.Why, c.want, a.Conditions)
		}
	}
}

// No call of a shared tool is stricter than its conditions at their worst, and one without arguments is never milder
// than the mildest of the tool.
func TestConditionsOfSharedTools(t *testing.T) {
	t.Parallel()
	for server, tools := range everyServer(t) {
		for i, a := range infer.Tools(tools) {
			if err := a.Validate(); err != nil {
				t.Errorf("%s %s: %v", server, tools[i].Name, err)
			}
			for _, c := range a.Conditions {
				if !c.Decides() {
					t.Errorf("%s %s: %s decides nothing", server, tools[i].Name, c)
				}
			}
			if got := a.Decide(nil, nil).Class; got > mildest(a) {
				t.Errorf("%s %s: without arguments it is %v", server, tools[i].Name, got)
			}
		}
	}
}

// The hints are those of the worst call that the schema states, also for a reader that ignores conditions.
func TestHintsAreThoseOfTheWorstCall(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(conditioned) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		a := infer.Tool(&mcp.Tool{Name: strings.TrimSpace(cells[0]), Description: cells[1], InputSchema: json.RawMessage(cells[2])})
		for i := range a.Conditions {
			if worst := a.Conditions[i].Worst(); worst < a.Safety() && !a.Conditions[i].OnlyRaises() {
				t.Errorf("%s: %v leads to %v, and the hints to %v", line, a.Conditions[i], worst, a.Safety())
			}
		}
		if err := a.Validate(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A verb in a text that chooses the deed makes a call stricter, and nothing in it makes one milder.
func TestVerbInATextRaises(t *testing.T) {
	t.Parallel()
	texts := json.RawMessage(`{"properties":{"method":{"type":"string"},"body":{"type":"string"}}}`)
	write := infer.Tool(&mcp.Tool{Name: "issue_write", Description: "Create or update an issue", InputSchema: texts})
	read := infer.Tool(&mcp.Tool{Name: "issues", Description: "Lists the issues", InputSchema: texts})
	for name, c := range map[string]struct {
		tool      annotation.Annotations
		arguments string
		want      annotation.Safety
	}{
		"a deletion":                     {write, `{"method":"delete"}`, annotation.Dangerous},
		"B425: in other cases":           {write, `{"method":" DeLete\n"}`, annotation.Dangerous},
		"B425: behind another word":      {write, `{"method":"issues/removeAll"}`, annotation.Dangerous},
		"B425: behind a read":            {write, `{"method":"get, then delete"}`, annotation.Dangerous},
		"B425: in capitals":              {write, `{"method":"DELETE"}`, annotation.Dangerous},
		"B425: in the third person":      {write, `{"method":"deletes"}`, annotation.Dangerous},
		"B426: at the end of much":       {write, `{"method":"` + strings.Repeat("please ", 4000) + `delete"}`, annotation.Dangerous},
		"B426: the name in another case": {write, `{"Method":"create"}`, annotation.Dangerous},
		"B427: an escape":                {write, `{"method":"d\u0065lete"}`, annotation.Dangerous},
		"something is sent":              {write, `{"method":"send"}`, annotation.Dangerous},
		"a read of a write":              {write, `{"method":"get"}`, annotation.Moderate},
		"a write of a write":             {write, `{"method":"create"}`, annotation.Moderate},
		"an unknown word":                {write, `{"method":"frob"}`, annotation.Moderate},
		"a noun":                         {write, `{"method":"email"}`, annotation.Moderate},
		"what was deleted":               {write, `{"method":"list_deleted"}`, annotation.Moderate},
		"another argument":               {write, `{"method":"create","body":"delete all of it"}`, annotation.Moderate},
		"B427: in a list":                {write, `{"method":["delete"]}`, annotation.Dangerous},
		"another type":                   {write, `{"method":7}`, annotation.Moderate},
		"null":                           {write, `{"method":null}`, annotation.Moderate},
		"none":                           {write, `{}`, annotation.Moderate},
		"a deletion of a read":           {read, `{"method":"delete"}`, annotation.Dangerous},
		"a write of a read":              {read, `{"method":"update"}`, annotation.Moderate},
		"a read of a read":               {read, `{"method":"search"}`, annotation.Safe},
		"none of a read":                 {read, `{}`, annotation.Safe},
	} {
		if d := c.tool.Decide(json.RawMessage(c.arguments), languages.Judge); d.Class != c.want {
			t.Errorf("%s: got %v (%s), want %v", name, d.Class, d.Why, c.want)
		}
	}
}
