// Package questions makes real calls through the proxy, and keeps how each of the places of a question shows them:
// the terminal, the list of the page, the page of one question, the form of the client and the webhook, and what the model
// reads afterwards. A reader of testdata has to be able to tell what would happen after an approval.
package questions

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	update  = flag.Bool("update", false, "rewrite the golden files")
	screens = flag.String("screens", "", "write the pages of the questions to this `folder`, for a browser")
)

// places are where people are asked, and what the model reads; each has a golden file.
var places = []string{"terminal", "list", "page", "form", "webhook", "model"}

func TestQuestions(t *testing.T) {
	notices := make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Connection", "close")
		notices <- string(body)
	}))
	defer hook.Close()
	all := make(map[string]*strings.Builder)
	for _, place := range places {
		all[place] = new(strings.Builder)
	}
	for _, c := range calls() {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, c, hook.URL, notices)
			d.run()
			for _, place := range places {
				fmt.Fprintf(all[place], "# %s\n%s\n\n", c.name, strings.TrimRight(d.shown[place], "\n"))
			}
		})
	}
	for _, place := range places {
		golden := "testdata/" + place + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(all[place].String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || string(want) != all[place].String() {
			t.Errorf("%s: %v; -update rewrites it. Got\n%s", golden, err, all[place])
		}
	}
}

// A desk has a call, a proxy with its server, and the places of its question.
type desk struct {
	t       *testing.T
	c       call
	client  *mcp.ClientSession
	in      *inbox.Inbox
	hook    *reach.Webhook
	notices <-chan string
	shown   map[string]string

	mu      sync.Mutex
	looking bool // the calls before are over
	ran     []string
	hung    bool
	asked   []hitl.Request // of a batch
	ctx     context.Context
}

func newDesk(t *testing.T, c call, hook string, notices <-chan string) *desk {
	t.Helper()
	d := &desk{t: t, c: c, notices: notices, shown: make(map[string]string)}
	d.in = inbox.New(inbox.Options{User: func(*http.Request) (string, bool) { return "ann", true }})
	var err error
	if d.hook, err = reach.NewWebhook(hook, ""); err != nil {
		t.Fatal(err)
	}
	rules := c.policy
	if rules == "" {
		rules = `{}`
	}
	decided, err := policy.Parse("policy.json", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(proxy.Options{
		Policy: func() *policy.Policy { return decided }, Confirm: hitl.ConfirmerFunc(d.confirm), Logger: slog.New(slog.DiscardHandler), Stderr: io.Discard,
		Servers: []proxy.Server{{Name: c.server, Open: d.open}},
	})
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	go func() { _ = p.ServeLines(t.Context(), there, there); _ = there.Close() }()
	d.client = mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "claude-code", Version: "2.1"}, &mcp.ClientOptions{ElicitationHandler: d.form}),
		&mcp.IOTransport{Reader: here, Writer: here}, mcptest.Legacy)
	return d
}

// open starts the server of a call.
func (d *desk) open() (io.ReadWriteCloser, error) {
	s := mcptest.New()
	for _, its := range d.c.tools {
		definition := mcptest.Tool(its.name, its.does)
		definition.InputSchema = json.RawMessage(`{"type":"object","properties":{` + its.properties + `},"required":[` + firstName.FindString(its.properties) + `]}`)
		mcptest.Add(s, definition, func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			d.mu.Lock()
			hangs := d.c.hangs && !d.hung
			d.hung, d.ran = true, append(d.ran, its.name+" "+string(arguments))
			d.mu.Unlock()
			if hangs {
				<-ctx.Done()
			}
			return mcptest.Text(its.answers), nil
		})
	}
	here, there := net.Pipe()
	_, err := s.Connect(d.t.Context(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
	return here, err
}

// run makes the calls.
func (d *desk) run() {
	for _, s := range d.c.before {
		_, _ = d.client.CallTool(d.t.Context(), &mcp.CallToolParams{Name: s.tool, Arguments: json.RawMessage(s.arguments)}) // in doubt
	}
	if d.c.hangs {
		time.Sleep(time.Minute) // of the bubble: the outcome is unknown since then
	}
	d.mu.Lock()
	d.looking = true
	ran := len(d.ran)
	d.mu.Unlock()
	var turn sync.WaitGroup
	for _, arguments := range append([]string{d.c.arguments}, d.c.batch...) {
		turn.Go(func() {
			res, err := d.client.CallTool(d.t.Context(), &mcp.CallToolParams{Name: d.c.tools[0].name, Arguments: json.RawMessage(arguments)})
			if err != nil {
				d.t.Errorf("%s: %v", d.c.name, err)
				return
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, content := range res.Content {
				d.shown["model"] += content.(*mcp.TextContent).Text + "\n"
			}
		})
		synctest.Wait() // so that they are asked about in their order
	}
	if d.c.batch != nil {
		d.together()
	}
	turn.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, call := range d.ran[ran:] {
		if d.c.edit == "" && strings.HasPrefix(call, d.c.tools[0].name) && !strings.Contains(call, "dry_run") && !strings.Contains(call, `"preview"`) {
			d.t.Errorf("%s: %s was made, though it was denied", d.c.name, call)
		}
	}
}

// confirm asks at each place in turn; all deny but the last one.
func (d *desk) confirm(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
	if !d.looking {
		return hitl.Decision{Verdict: hitl.Approved}, nil
	}
	if d.c.batch != nil {
		d.mu.Lock()
		d.asked, d.ctx = append(d.asked, r), ctx
		d.mu.Unlock()
		d.notify(r)
		return d.in.Confirm(ctx, r)
	}
	deadline := r.Deadline
	var screen bytes.Buffer
	decision, err := terminal.New(strings.NewReader("n\n"), &screen).Confirm(ctx, r)
	d.denied("terminal", decision, err)
	d.shown["terminal"] = screen.String()
	decision, err = elicit.New(elicit.Options{}).Confirm(ctx, r)
	if d.shown["form"] == "" && err != nil {
		d.shown["form"] = err.Error()
	} else {
		d.denied("form", decision, err)
	}
	r.Deadline = deadline
	d.notify(r)
	return d.onPage(ctx, r)
}

// notify has the webhook send what it sends of a question.
func (d *desk) notify(r hitl.Request) {
	(&reach.Ways{Webhook: d.hook, Logger: slog.New(slog.DiscardHandler)}).Tell(r, "http://127.0.0.1/approvals/")
	d.shown["webhook"] += notice(d.t, <-d.notices) + "\n"
}

func (d *desk) denied(place string, decision hitl.Decision, err error) {
	if err != nil || decision.Verdict != hitl.Denied {
		d.t.Errorf("%s: %s: got %+v, %v", d.c.name, place, decision, err)
	}
}

// form is the client's answer to the form.
func (d *desk) form(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	fields, err := json.MarshalIndent(req.Params.RequestedSchema.(map[string]any)["properties"], "", " ")
	if err != nil {
		return nil, err
	}
	d.shown["form"] = req.Params.Message
	for line := range strings.Lines(string(fields)) {
		if _, title, ok := strings.Cut(line, `"title": `); ok {
			d.shown["form"] += "[" + strings.Trim(title, "\",\n") + "] "
		}
	}
	content := map[string]any{"decision": "deny", "reason": "no"}
	if d.c.batch != nil {
		delete(content, "decision")
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// onPage asks on the page: it looks at the list and at the question, and denies or edits there.
func (d *desk) onPage(ctx context.Context, r hitl.Request) (decision hitl.Decision, err error) {
	var person sync.WaitGroup
	person.Go(func() { decision, err = d.in.Confirm(ctx, r) })
	time.Sleep(time.Millisecond) // of the bubble: until it waits
	whole := d.sends(http.MethodGet, "question/"+r.ID, nil)
	list := d.sends(http.MethodGet, "", nil)
	d.shown["list"], d.shown["page"] = page(d.t, list), page(d.t, whole)
	d.draw("list", list)
	d.draw("page", whole)
	form := url.Values{"decision": {"deny"}, "digest": {digest.FindStringSubmatch(whole)[1]}, "reason": {"archive it instead"}}
	if d.c.edit != "" {
		form.Set("decision", "edit")
		form.Set("arguments", d.c.edit)
		form.Set("shown", "all")
	}
	d.sends(http.MethodPost, "question/"+r.ID+"/decision", form)
	person.Wait()
	return decision, err
}

// together shows the questions of a turn: at a terminal, in one form, in the list, and on the page of those of one tool. It
// denies each.
func (d *desk) together() {
	d.t.Helper()
	var screen bytes.Buffer
	group := terminal.New(strings.NewReader("n\n"), &screen).(hitl.GroupConfirmer)
	if said, err := group.ConfirmGroup(d.t.Context(), d.asked); err != nil || len(said) > 0 {
		d.t.Errorf("%s: terminal: got %+v, %v", d.c.name, said, err)
	}
	d.shown["terminal"] = screen.String()
	said, err := elicit.New(elicit.Options{}).(hitl.GroupConfirmer).ConfirmGroup(d.ctx, d.asked)
	for _, r := range d.asked {
		d.denied("form", said[r.ID], err)
	}
	list := d.sends(http.MethodGet, "", nil)
	beside := d.sends(http.MethodGet, "together?"+url.Values{"server": {d.c.server}, "tool": {d.c.tools[0].name}}.Encode(), nil)
	d.shown["list"], d.shown["page"] = page(d.t, list), page(d.t, beside)
	d.draw("list", list)
	d.draw("page", beside)
	for _, id := range asked.FindAllStringSubmatch(list, -1) {
		whole := d.sends(http.MethodGet, "question/"+id[1], nil)
		d.sends(http.MethodPost, "question/"+id[1]+"/decision", url.Values{"decision": {"deny"}, "digest": {digest.FindStringSubmatch(whole)[1]}})
		synctest.Wait() // so that the model reads them in order
	}
}

var (
	digest    = regexp.MustCompile(`name="digest" value="([^"]*)"`)
	firstName = regexp.MustCompile(`^"[^"]+"`)
	asked     = regexp.MustCompile(`data-id="([^"]*)"`)
)

// draw writes a page with its style, as it is once the script runs, for a browser that has no proxy.
func (d *desk) draw(kind, source string) {
	if *screens == "" {
		return
	}
	d.t.Helper()
	style := d.sends(http.MethodGet, "style.css", nil)
	source = strings.Replace(source, `<html lang="en">`, `<html lang="en" class="scripted"><style>`+style+` .yes { animation: none }</style>`, 1)
	file := filepath.Join(*screens, kind+"-"+strings.ReplaceAll(d.c.name, " ", "-")+".html")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// sends asks the page for something, as a browser does.
func (d *desk) sends(method, path string, form url.Values) string {
	d.t.Helper()
	r := httptest.NewRequestWithContext(d.t.Context(), method, "http://127.0.0.1:8080/approvals/"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://127.0.0.1:8080")
	w := httptest.NewRecorder()
	d.in.ServeHTTP(w, r)
	if w.Code/100 != 2 && w.Code != http.StatusSeeOther {
		d.t.Errorf("%s: %s %s: %d\n%s", d.c.name, method, path, w.Code, w.Body)
	}
	return w.Body.String()
}

// notice is what a webhook gets, without the machine's name.
func notice(tb testing.TB, body string) string {
	tb.Helper()
	host, err := os.Hostname()
	if err != nil {
		tb.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(body), "", " "); err != nil {
		tb.Fatal(err)
	}
	return strings.NewReplacer(fmt.Sprintf("%q", host), `"HOST"`, "on "+host, "on HOST").Replace(indented.String())
}
