package inbox_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The inbox in a server of the host's. A person would open the link in a browser.
func ExampleNew() {
	in := inbox.New(inbox.Options{})
	mux := http.NewServeMux()
	mux.Handle("/approvals/", in)
	server := httptest.NewServer(mux)
	defer server.Close()
	link := in.Link(server.URL, "ada")

	executor := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil
	})
	caller := hitl.New(in, hitl.Options{Timeout: 5 * time.Minute})(executor)
	tool, err := middleware.NewTool("files", &mcp.Tool{Name: "delete"}, annotation.Destructive())
	if err != nil {
		panic(err)
	}
	var person sync.WaitGroup
	person.Go(func() { denies(link) })
	_, err = caller.CallTool(context.Background(), middleware.Call{Tool: tool})
	person.Wait()
	fmt.Println(err)
	// Output:
	// hitl: files/delete was denied by ada: archive it instead
}

// denies is what a person does: goes in, looks until something waits, and says no.
func denies(link string) {
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	post := func(address string, form url.Values) {
		r, _ := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", link[:strings.Index(link, "/approvals/")])
		res, err := client.Do(r)
		if err != nil {
			panic(err)
		}
		res.Body.Close()
	}
	at, token, _ := strings.Cut(link, "?token=")
	post(at+"enter", url.Values{"token": {token}})
	for {
		res, err := client.Get(at)
		if err != nil {
			panic(err)
		}
		page, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if _, id, waits := strings.Cut(string(page), `data-id="`); waits {
			id, _, _ = strings.Cut(id, `"`)
			post(at+"question/"+id+"/decision", url.Values{"decision": {"deny"}, "digest": {field(string(page), "digest")}, "reason": {"archive it instead"}})
			return
		}
	}
}

// A call that was made is in the history, with a button that asks about its opposite.
func ExampleInbox_Undoable() {
	in := inbox.New(inbox.Options{User: func(*http.Request) (string, bool) { return "ada", true }})
	server := httptest.NewServer(in)
	defer server.Close()
	tool, err := middleware.NewTool("mail", &mcp.Tool{Name: "archive"}, annotation.Destructive())
	if err != nil {
		panic(err)
	}
	taken := make(chan string)
	in.Undoable(middleware.Call{Tool: tool}, hitl.Undo{Server: "mail", Tool: "unarchive"}, func(_ context.Context, person string) error {
		taken <- person // a host makes the call here, through its chain
		return nil
	})
	res, err := http.Get(server.URL + "/approvals/")
	if err != nil {
		panic(err)
	}
	page, _ := io.ReadAll(res.Body)
	res.Body.Close()
	_, id, _ := strings.Cut(string(page), `name="id" value="`)
	id, _, _ = strings.Cut(id, `"`)
	r, _ := http.NewRequest(http.MethodPost, server.URL+"/approvals/undo", strings.NewReader("id="+id))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", server.URL)
	if res, err = http.DefaultClient.Do(r); err != nil {
		panic(err)
	}
	res.Body.Close()
	fmt.Println("taken back for", <-taken)
	// Output:
	// taken back for ada
}
