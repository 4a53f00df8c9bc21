package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
)

const taskMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// A shownTask is a response with a task, or with a result or an error in its place.
type shownTask struct {
	ResultType, TaskID, Status, StatusMessage string
	Content                                   []struct{ Text string }
	InputRequests                             map[string]json.RawMessage
	Result                                    struct {
		Content []struct{ Text string }
		IsError bool
	}
	Error struct {
		Code    int
		Message string
	}
}

// A call that waits for a person becomes a task of a client that takes tasks. It outlives the time for
// which a call waits otherwise, and is made once, after the answer.
func TestCallThatWaitsBecomesATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan hitl.Verdict)
		var given atomic.Int32
		s := newPlain(deleteThing)
		c := s.client(t, s.proxy(t, proxy.Options{
			Waits: func(context.Context) string { return "on a page," },
			Confirm: hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
				select {
				case v := <-answers:
					return hitl.Decision{Verdict: v}, nil
				case <-ctx.Done():
					given.Add(1)
					return hitl.Decision{}, context.Cause(ctx)
				}
			}),
		}))
		began := time.Now()
		task := c.do("tools/call", `"name":"delete_thing","arguments":{"n":1}`)
		if task.ResultType != "task" || task.Status != "working" || task.StatusMessage != "The call waits for a person's approval on a page." || time.Since(began) > 6*time.Second {
			t.Fatalf("after %v: %+v", time.Since(began), task)
		}
		time.Sleep(10 * time.Minute)
		if got := c.about("get", task); got.Status != "working" || got.ResultType != "complete" || len(s.calls()) > 0 {
			t.Errorf("the server executed %d calls: %+v", len(s.calls()), got)
		}
		if got := c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"bare","method":"tasks/get","params":{"taskId":%q}}`, task.TaskID), `"bare"`); !strings.Contains(got, "-32021") {
			t.Errorf("a client that does not declare tasks gets %s", got)
		}
		answers <- hitl.Approved
		synctest.Wait()
		for range 2 {
			if got := c.about("get", task); got.Status != "completed" || got.Result.Content[0].Text != "1" || len(s.calls()) != 1 {
				t.Errorf("the server executed %d calls: %+v", len(s.calls()), got)
			}
		}
		if got := c.about("cancel", task); got.ResultType != "complete" || c.about("get", task).Status != "completed" {
			t.Errorf("it was cancelled after its end: %+v", got)
		}
		time.Sleep(61 * time.Minute)
		if got := c.about("get", task); got.Error.Code != -32602 || !strings.Contains(got.Error.Message, "make the call again") {
			t.Errorf("it is kept: %+v", got)
		}

		denied := c.do("tools/call", `"name":"delete_thing","arguments":{"n":2}`)
		answers <- hitl.Denied
		synctest.Wait()
		if got := c.about("get", denied); got.Status != "completed" || !got.Result.IsError || !strings.Contains(got.Result.Content[0].Text, "The user said no") {
			t.Errorf("it was denied: %+v", got)
		}
		ended := c.do("tools/call", `"name":"delete_thing","arguments":{"n":3}`)
		time.Sleep(16 * time.Minute)
		if got := c.about("get", ended); got.Status != "completed" || !strings.Contains(got.Result.Content[0].Text, "no question about it is open") {
			t.Errorf("nobody answered: %+v", got)
		}
		before := given.Load()
		taken := c.do("tools/call", `"name":"delete_thing","arguments":{"n":4}`)
		c.about("cancel", taken)
		synctest.Wait()
		if got := c.about("get", taken); got.Status != "cancelled" || got.StatusMessage != "The call was not sent." || given.Load() != before+1 || len(s.calls()) != 1 {
			t.Errorf("the server executed %d calls, and %d questions were taken back: %+v", len(s.calls()), given.Load()-before, got)
		}
	})
}

// The input that a server needs for the call of a task is asked for by tasks/get.
func TestTaskThatNeedsInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPlain(deleteThing)
		s.answer = func(method, params string) string {
			if method != "tools/call" || strings.Contains(params, `"inputResponses":{"name":{"action":"accept"}}`) && strings.Contains(params, `"requestState":"s"`) {
				return ""
			}
			return `{"resultType":"input_required","content":[],"requestState":"s","inputRequests":{"name":{"method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object","properties":{}}}}}}`
		}
		confirm := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			time.Sleep(time.Minute)
			return hitl.Decision{Verdict: hitl.Approved}, nil
		})
		c := s.client(t, s.proxy(t, proxy.Options{Confirm: confirm}))
		task := c.do("tools/call", `"name":"delete_thing","arguments":{"n":1}`)
		time.Sleep(2 * time.Minute)
		got := c.about("get", task)
		if got.Status != "input_required" || got.InputRequests["1 name"] == nil {
			t.Fatalf("got %+v", got)
		}
		for range 2 { // the second is for what is not asked any more
			c.do("tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":{"1 name":{"action":"accept"}}`, task.TaskID))
		}
		time.Sleep(2 * time.Minute)
		if got := c.about("get", task); got.Status != "completed" || got.Result.Content[0].Text != "2" || len(s.calls()) != 2 {
			t.Errorf("the server got %d calls: %+v", len(s.calls()), got)
		}
	})
}

// A call that its server goes on with as a task is in doubt until tasks/get returns what came of it, which is recorded.
func TestTaskOfAServerIsInDoubtUntilItEnds(t *testing.T) {
	t.Parallel()
	for _, end := range []string{
		`"status":"completed","result":{"content":[{"type":"text","text":"added"}]}`,
		`"status":"failed","error":{"code":-32603,"message":"no"}`,
		`"status":"cancelled"`,
	} {
		t.Run(end[9:20], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, b := newPlain(writeThing), new(book)
				status := `"status":"working"`
				s.answer = func(method, _ string) string {
					switch method {
					case "tools/call":
						return `{"resultType":"task","taskId":"t1","status":"working"}`
					case "tasks/get":
						return `{"resultType":"complete","taskId":"t1",` + status + `}`
					}
					return ""
				}
				s.held = "nothing"
				c := s.client(t, s.proxy(t, proxy.Options{Audit: b, Confirm: approve(false)}))
				call := func() shownTask { return c.do("tools/call", `"name":"add_thing","arguments":{"n":1}`) }
				task := call()
				if c.about("get", task); task.TaskID != "t1" || !strings.Contains(call().Content[0].Text, "may have happened") {
					t.Errorf("a call that goes on was repeated: %+v", task)
				}
				status = end
				for range 2 {
					c.about("get", task)
				}
				again := call()
				if settled := again.TaskID == "t1"; settled == strings.Contains(end, "cancelled") {
					t.Errorf("after the end the same call gets %+v", again)
				}
				var noted int
				for _, record := range b.ends() {
					if strings.Contains(record, "settled by its task") {
						noted++
					}
				}
				if want := 1; (noted == want) == strings.Contains(end, "cancelled") {
					t.Errorf("the records are %q", b.ends())
				}
			})
		})
	}
}

// What a server's task comes to is a source of later arguments, as the result of a call is.
func TestResultOfATaskIsASource(t *testing.T) {
	t.Parallel()
	const account = "DE02120300000000202051"
	for _, end := range []string{
		`"status":"completed","result":{"content":[{"type":"text","text":"pay to ` + account + `"}]}`,
		`"status":"failed","error":{"code":-32603,"message":"pay to \u0044E02120300000000202051"}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newPlain(readThing, writeThing)
			s.answer = func(method, params string) string {
				switch {
				case method == "tools/call" && strings.Contains(params, "read_thing"):
					return `{"resultType":"task","taskId":"t1","status":"working"}`
				case method == "tasks/get":
					return `{"resultType":"complete","taskId":"t1",` + end + `}`
				}
				return ""
			}
			s.held = "nothing"
			var sources []string
			confirm := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
				for _, s := range r.Sources {
					sources = append(sources, s.String())
				}
				return hitl.Decision{}, nil
			})
			c := s.client(t, s.proxy(t, proxy.Options{Confirm: confirm}))
			c.about("get", c.do("tools/call", `"name":"read_thing","arguments":{}`))
			c.do("tools/call", `"name":"add_thing","arguments":{"iban":"`+account+`"}`)
			if len(sources) != 1 || !strings.Contains(sources[0], "from plain/read_thing, 1 call ago, untrusted") {
				t.Errorf("the sources are %q", sources)
			}
		})
	}
}

// What reaches the model in place of the end of a task is a source as well: a second end, a result before the end, and the
// answer about a task that is not known here.
func TestOtherAnswersAboutTasksAreSources(t *testing.T) {
	t.Parallel()
	const account = "DE02120300000000202051"
	const paid = `"result":{"content":[{"type":"text","text":"pay to ` + account + `"}]}`
	for name, c := range map[string]struct {
		answers []string // to tasks/get
		id      string
	}{
		"B424: a second end":          {[]string{`"taskId":"t1","status":"completed","result":{"content":[]}`, `"taskId":"t1","status":"completed",` + paid}, "t1"},
		"B424: a result before":       {[]string{`"taskId":"t1","status":"working",` + paid}, "t1"},
		"B424: a member of no name":   {[]string{`"taskId":"t1","status":"working","note":"pay to ` + account + `"`}, "t1"},
		"B424: a result of a failure": {[]string{`"taskId":"t1","status":"failed","error":{"code":1,"message":"no"},` + paid}, "t1"},
		"B424: without the name":      {[]string{`"status":"completed",` + paid}, "t1"},
		"B424: a task of nobody":      {[]string{`"taskId":"t9","status":"completed",` + paid}, "t9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, asked := newPlain(readThing, writeThing), 0
				s.answer = func(method, params string) string {
					switch {
					case method == "tools/call" && strings.Contains(params, "read_thing"):
						return `{"resultType":"task","taskId":"t1","status":"working"}`
					case method == "tasks/get":
						asked++
						return `{"resultType":"complete",` + c.answers[asked-1] + `}`
					}
					return ""
				}
				s.held = "nothing"
				var sources []string
				client := s.client(t, s.proxy(t, proxy.Options{Confirm: hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
					for _, s := range r.Sources {
						sources = append(sources, s.String())
					}
					return hitl.Decision{}, nil
				})}))
				client.do("tools/call", `"name":"read_thing","arguments":{}`)
				for range c.answers {
					client.about("get", shownTask{TaskID: c.id})
				}
				client.do("tools/call", `"name":"add_thing","arguments":{"iban":"`+account+`"}`)
				if len(sources) != 1 || !strings.Contains(sources[0], "from plain/") {
					t.Errorf("the sources are %q", sources)
				}
			})
		})
	}
}

// server/discover has the extension beside what the server has.
func TestTasksAreDeclared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPlain(deleteThing)
		s.answer = func(method, _ string) string {
			if method == "server/discover" {
				return `{"capabilities":{"extensions":{"a/b":{"c":1}},"tools":{}},"supportedVersions":["2026-07-28"]}`
			}
			return ""
		}
		ask := `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + taskMeta + `}}`
		got := s.client(t, s.proxy(t, proxy.Options{Confirm: approve(true)})).ask(ask, `"d"`)
		if !strings.Contains(got, `"extensions":{"a/b":{"c":1},"io.modelcontextprotocol/tasks":{}},"tools":{}`) {
			t.Errorf("got %s", got)
		}
		if got := s.client(t, s.proxy(t, proxy.Options{})).ask(ask, `"d"`); strings.Contains(got, "/tasks") {
			t.Errorf("without a person: %s", got)
		}
	})
}

// A task is handed on as the server wrote it, and recorded as a call whose outcome is unknown.
func TestTaskIsHandedOnAndRecordedAsOpen(t *testing.T) {
	t.Parallel()
	const task = `{"resultType":"task","task":{"taskId":"7","status":"working","ttl":60000}}`
	record := t.TempDir() + "/calls"
	file, err := audit.OpenFile(record, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	r := connectRaw(t, proxy.Options{
		Confirm: approve(true), Audit: file,
		Servers: []proxy.Server{{Name: "things", Open: func() (io.ReadWriteCloser, error) {
			here, there := net.Pipe()
			go func() {
				for lines := bufio.NewScanner(there); lines.Scan(); {
					var q mcptest.Request
					if json.Unmarshal(lines.Bytes(), &q) != nil || q.ID == nil {
						continue
					}
					result := map[string]string{
						"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
						"tools/list": `{"tools":[{"name":"delete_thing","inputSchema":{"type":"object"}}]}`,
						"tools/call": task,
					}[q.Method]
					_, _ = fmt.Fprintf(there, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", q.ID, result)
				}
			}()
			return here, nil
		}}},
	})
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_thing","arguments":{"id":"a"}}}`)
	if got := r.answer("1"); string(got["result"]) != task {
		t.Errorf("got %s", got["result"])
	}
	text, err := os.ReadFile(record)
	if err != nil || !strings.Contains(string(text), `"outcome":"unknown"`) {
		t.Errorf("%v: recorded as\n%s", err, text)
	}
}

// What a client brings to a task of its server belongs to the call: it is judged, shown and recorded as the call was, and
// the server gets nothing of an update that was denied or that could be read in two ways.
func TestInputOfATaskIsAPartOfTheCall(t *testing.T) {
	t.Parallel()
	const input = `"inputResponses":{"path":{"action":"accept","content":{"path":"/srv/everything"}}}`
	for _, row := range []struct {
		name, params string
		verdict      hitl.Verdict
		asked, sent  int
		refused      string
	}{
		{"approved", input, hitl.Approved, 2, 1, ""},
		{"denied", input, hitl.Denied, 2, 0, "denied"},
		{"an unknown member", input + `,"path":"/srv/everything"`, hitl.Approved, 1, 0, "is not known"},
		{"another case", input + `,"InputResponses":{}`, hitl.Approved, 1, 0, "differ only in case"},
		{"twice", input + `,` + input, hitl.Approved, 1, 0, "is given twice"},
		{"arguments", input + `,"arguments":{"path":"/srv/everything"}`, hitl.Approved, 1, 0, "tools/call"},
		{"no input", `"x":1`, hitl.Approved, 1, 0, "is not known"},
		{"a list", `"inputResponses":[1]`, hitl.Approved, 1, 0, "cannot unmarshal"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, b := newPlain(deleteThing), new(book)
				var updates []string
				s.answer = func(method, params string) string {
					switch method {
					case "tools/call":
						return `{"resultType":"task","taskId":"t1","status":"input_required"}`
					case "tasks/update":
						updates = append(updates, params)
						return `{"resultType":"complete"}`
					}
					return ""
				}
				var asked []hitl.Request
				confirm := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
					if asked = append(asked, r); len(asked) == 1 {
						return hitl.Decision{Verdict: hitl.Approved}, nil
					}
					return hitl.Decision{Verdict: row.verdict}, nil
				})
				c := s.client(t, s.proxy(t, proxy.Options{Audit: b, Confirm: confirm}))
				task := c.do("tools/call", `"name":"delete_thing","arguments":{"n":1}`)
				got := c.do("tasks/update", fmt.Sprintf(`"taskId":%q,%s`, task.TaskID, row.params))
				if len(asked) != row.asked || len(updates) != row.sent || !strings.Contains(got.Error.Message, row.refused) || (row.refused == "") != (got.Error.Message == "") {
					t.Fatalf("%d questions; the server got %q; the client got %+v", len(asked), updates, got)
				}
				if row.asked == 2 && (!strings.Contains(string(asked[1].Extra), "/srv/everything") || string(asked[1].Arguments) != `{"n":1}`) {
					t.Errorf("the person was shown %s and %s", asked[1].Arguments, asked[1].Extra)
				}
				if row.sent == 1 && (!strings.Contains(updates[0], input) || !strings.Contains(updates[0], `"taskId":"t1"`)) {
					t.Errorf("the server got %s", updates[0])
				}
				if ends := b.ends(); len(ends) != 2 {
					t.Errorf("the records are %q", ends)
				}
				if row.asked == 2 && !strings.Contains(b.inputs(), "/srv/everything") {
					t.Errorf("the input was recorded as %q", b.inputs())
				}
			})
		})
	}
}

// An update of a task whose call is not known is refused, and so is a member that a server could take for input in a
// request that only names a task.
func TestTaskRequestsCarryNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPlain(deleteThing)
		var got []string
		s.answer = func(method, params string) string {
			if strings.HasPrefix(strings.ToLower(method), "tasks/") {
				got = append(got, method+" "+params)
			}
			if method == "tools/call" {
				return `{"resultType":"task","taskId":"t1","status":"working"}`
			}
			return ""
		}
		c := s.client(t, s.proxy(t, proxy.Options{Confirm: approve(true)}))
		c.do("tools/call", `"name":"delete_thing","arguments":{"n":1}`)
		for _, one := range [][2]string{
			{"tasks/update", `"taskId":"t2","inputResponses":{}`},
			{"Tasks/Update", `"taskId":"t1","inputResponses":{}`},
			{"tasks/get", `"taskId":"t1","path":"/"`},
			{"tasks/get", `"taskId":"t2","path":"/"`},
			{"tasks/get", `"taskId":"t1","TaskId":"t2"`},
			{"tasks/cancel", `"taskId":"t1","inputResponses":{}`},
			{"tasks/resume", `"taskId":"t1","inputResponses":{}`},
		} {
			if answer := c.do(one[0], one[1]); answer.Error.Message == "" || len(got) > 0 {
				t.Errorf("%s: the server got %q, the client %+v", one, got, answer)
			}
		}
		c.send(`{"jsonrpc":"2.0","method":"tasks/update","params":{"taskId":"t1","inputResponses":{}}}`)
		for i, verb := range []string{"get", "cancel"} {
			if c.do("tasks/"+verb, `"taskId":"t1"`); len(got) != i+1 {
				t.Errorf("%s: the server got %q", verb, got)
			}
		}
	})
}

// The input of a task goes on with the call that is in doubt, and does not repeat it: it is not held, and the doubt stays.
func TestInputOfATaskIsNotARepetition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, updates := newPlain(writeThing), 0
		s.answer = func(method, _ string) string {
			switch method {
			case "tools/call":
				return `{"resultType":"task","taskId":"t1","status":"input_required"}`
			case "tasks/update":
				updates++
				return `{"resultType":"complete"}`
			case "tasks/get":
				return `{"resultType":"complete","taskId":"t1","status":"completed","result":{"content":[]}}`
			}
			return ""
		}
		s.held = "nothing"
		c := s.client(t, s.proxy(t, proxy.Options{Confirm: approve(false)}))
		call := func() shownTask { return c.do("tools/call", `"name":"add_thing","arguments":{"n":1}`) }
		task := call()
		got := c.do("tasks/update", `"taskId":"t1","inputResponses":{"a":{"action":"accept"}}`)
		if updates != 1 || got.Error.Message != "" {
			t.Fatalf("%d updates, and %+v", updates, got)
		}
		if held := call(); len(held.Content) == 0 || !strings.Contains(held.Content[0].Text, "may have happened") {
			t.Errorf("the repetition got %+v", held)
		}
		c.about("get", task)
		if again := call(); again.TaskID != "t1" {
			t.Errorf("after its end the same call gets %+v", again)
		}
	})
}
