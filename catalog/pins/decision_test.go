package pins_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

func ExampleLock_Decide() {
	executor := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return mcptest.Text("done"), nil
	})
	lock := new(pins.Lock)
	tools := catalog.New(catalog.Options{Lock: lock})
	defer tools.Close()
	if err := tools.AddTools("crm", executor, mcptest.Tool("frobnicate", "")); err != nil {
		fmt.Println(err)
	}
	for _, change := range lock.Changes(tools) {
		fmt.Println(change)
		err := lock.Decide(tools, change.Now, pins.Decision{
			Class: annotation.Safe, Reason: "it computes a checksum", Reviewer: "Ada", Date: time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC),
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	tool, _ := tools.Lookup("crm", "frobnicate")
	fmt.Print(tool.Explain())
	// Output:
	// crm/frobnicate: new, nobody has accepted it (unknown)
	// crm/frobnicate: safe
	//   read-only     yes   host by Ada on 2026-03-01
	//   destructive   no    host by Ada on 2026-03-01
	//   confirmation  no    host by Ada on 2026-03-01
}

var march = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func byAda(class annotation.Safety) pins.Decision {
	return pins.Decision{Class: class, Reason: "read its source", Reviewer: "ada", Date: march}
}

func byModel(class annotation.Safety) pins.Decision {
	return pins.Decision{Class: class, Reason: "its words", Date: march, Model: "m", Prompt: "p", Answer: "a"}
}

// decide decides the tool as the catalog lists it.
func decide(t testing.TB, c pinned, tool string, d pins.Decision) {
	t.Helper()
	if err := c.lock.Decide(c, lookup(t, c, "crm", tool), d); err != nil {
		t.Fatal(err)
	}
}

func TestDecisionHoldsUntilTheDefinitionChanges(t *testing.T) {
	t.Parallel()
	tool := mcptest.Tool("frobnicate", "Frobs.")
	tool.Annotations = &mcp.ToolAnnotations{DestructiveHint: new(true)}
	server := &fake{func() []*mcp.Tool { return []*mcp.Tool{tool} }}
	first := locked()
	add(t, first, "crm", server)
	accept(t, first)
	for _, class := range []annotation.Safety{annotation.Dangerous, annotation.Moderate, annotation.Safe} {
		decide(t, first, "frobnicate", byAda(class))
		if got := lookup(t, first, "crm", "frobnicate").Safety(); got != class || len(first.Changes()) != 0 {
			t.Errorf("decided to be %s, and it is %s; changes %v", class, got, first.Changes())
		}
	}
	path := t.TempDir() + "/a.lock"
	if err := first.lock.Save(path); err != nil {
		t.Fatal(err)
	}
	lock, err := pins.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	later := pinnedBy(lock)
	add(t, later, "crm", server)
	if got := lookup(t, later, "crm", "frobnicate"); got.Safety() != annotation.Safe || !strings.Contains(got.Explain(), "host by ada on 2026-03-01") {
		t.Errorf("read again: %s", got.Explain())
	}
	tool = mcptest.Tool("frobnicate", "Frobs more.")
	refresh(t, later, "crm")
	finding(t, later, "frobnicate", "safe → unknown")
	accept(t, later)
	if got := lookup(t, later, "crm", "frobnicate").Safety(); got != annotation.Unknown {
		t.Errorf("the decision on another definition made it %s", got)
	}
	if text := lockText(t, lock); strings.Contains(text, "review") {
		t.Errorf("the void decision stays:\n%s", text)
	}
}

// A class that another version lowers is accepted again, and the decision stays.
func TestDecisionSurvivesAnAcceptedClass(t *testing.T) {
	t.Parallel()
	c := locked()
	add(t, c, "crm", listing(mcptest.Tool("list_a", "")))
	accept(t, c)
	decide(t, c, "list_a", byAda(annotation.Dangerous))
	override := annotation.Annotations{ReadOnly: annotation.Yes}
	if err := c.Override("crm", "list_a", override); err != nil {
		t.Fatal(err)
	}
	finding(t, c, "list_a", "dangerous → safe")
	accept(t, c)
	if got := lookup(t, c, "crm", "list_a").Safety(); got != annotation.Safe || !strings.Contains(lockText(t, c.lock), "read its source") {
		t.Errorf("the host's code makes it %s; the lock\n%s", got, lockText(t, c.lock))
	}
}

func TestModelAloneOnlyRaises(t *testing.T) {
	t.Parallel()
	strictness := func(s annotation.Safety) annotation.Safety { return max(s, annotation.Dangerous) }
	rapid.Check(t, func(r *rapid.T) {
		tool := mcptest.Tool(rapid.SampledFrom([]string{"list_a", "delete_a", "create_a", "frobnicate"}).Draw(r, "name"), "")
		tool.Annotations = rapid.SampledFrom([]*mcp.ToolAnnotations{nil, {ReadOnlyHint: true}, {DestructiveHint: new(false)}}).Draw(r, "declared")
		c := locked()
		if rapid.Bool().Draw(r, "trusted") {
			c.Trust("crm")
		}
		add(t, c, "crm", listing(tool))
		accept(t, c)
		before := lookup(t, c, "crm", tool.Name).Safety()
		class := rapid.SampledFrom([]annotation.Safety{annotation.Dangerous, annotation.Moderate}).Draw(r, "class")
		decide(t, c, tool.Name, byModel(class))
		after := lookup(t, c, "crm", tool.Name)
		if strictness(after.Safety()) > min(strictness(before), strictness(class)) {
			r.Errorf("it was %s, the model proposed %s, and it is %s", before, class, after.Explain())
		}
		decide(t, c, tool.Name, byAda(annotation.Safe))
		if got := lookup(t, c, "crm", tool.Name).Safety(); got != annotation.Safe {
			r.Errorf("a person called it safe, and it is %s", got)
		}
	})
}

func TestDecisionsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := locked()
	add(t, c, "crm", listing(mcptest.Tool("list_a", ""), mcptest.Tool("list_b", "")))
	stranger := c.Changes()[1].Now // list_b
	if err := c.Accept(c.Changes()[0]); err != nil {
		t.Fatal(err)
	}
	decide(t, c, "list_a", byAda(annotation.Safe))
	a := lookup(t, c, "crm", "list_a")
	changed := *a
	changed.Digest[0]++
	text := lockText(t, c.lock)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"no class", c.lock.Decide(c, a, byAda(annotation.Unknown)), "a class"},
		{"an impossible class", c.lock.Decide(c, a, byAda(annotation.Safe+1)), "a class"},
		{"no reason", c.lock.Decide(c, a, pins.Decision{Class: annotation.Safe, Reviewer: "ada"}), "a reason"},
		{"neither a person nor a model", c.lock.Decide(c, a, pins.Decision{Class: annotation.Dangerous, Reason: "x"}), "a reviewer"},
		{"a model alone calls it safe", c.lock.Decide(c, a, byModel(annotation.Safe)), "can only raise"},
		{"a model over a person", c.lock.Decide(c, a, byModel(annotation.Dangerous)), "only a person"},
		{"a model on unaccepted tools", c.lock.Decide(c, stranger, byModel(annotation.Dangerous)), "only a person"},
		{"another definition", c.lock.Decide(c, &changed, byAda(annotation.Safe)), "has changed it"},
	} {
		if tt.err == nil || !strings.HasPrefix(tt.err.Error(), "pins: the decision on crm/list_") || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, tt.err, tt.want)
		}
	}
	if got := lockText(t, c.lock); got != text {
		t.Errorf("the lock has changed:\n%s", got)
	}
}

func TestReviewCanBeReadInALockFile(t *testing.T) {
	t.Parallel()
	c := locked()
	add(t, c, "crm", listing(mcptest.Tool("frobnicate", "")))
	accept(t, c)
	decide(t, c, "frobnicate", byModel(annotation.Dangerous))
	if text := lockText(t, c.lock); !strings.Contains(text, `"class": "unknown",`) || !strings.Contains(text, `"reviewer": "",`) {
		t.Errorf("a model alone gives\n%s", text)
	}
	d := byAda(annotation.Moderate)
	d.Model, d.Prompt, d.Answer = "m", "p", `{"class":"safe"}`
	decide(t, c, "frobnicate", d)
	text := lockText(t, c.lock)
	const want = `
      "review": {
        "class": "moderate",
        "reason": "read its source",
        "reviewer": "ada",
        "date": "2026-03-01T12:00:00Z",
        "model": "m",
        "prompt": "p",
        "answer": "{\"class\":\"safe\"}"
      },
      "definition": {`
	if !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant in it%s", text, want)
	}
	if l, err := pins.Parse([]byte(text)); err != nil || lockText(t, l) != text {
		t.Errorf("read and written again: %v", err)
	}
	for from, want := range map[string]string{
		`"reviewer": "ada"`:    `"reviewer": ""`, // fine: a model alone raises
		`"reason": "read`:      `"reason": "", "more": "read`,
		`"class": "moderate",`: `"Class": "moderate",`,
		`"date": "2026`:        `"date": "`,
		`"model": "m"`:         `"model": 7`,
		`"prompt": "p",`:       `"prompt": "p", "prompt": "q",`,
	} {
		bad := strings.Replace(text, from, want, 1)
		if _, err := pins.Parse([]byte(bad)); (err == nil) != (want == `"reviewer": ""`) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

// unless is a condition as a reviewer writes one.
func unless(argument string, other annotation.Safety) annotation.Condition {
	return annotation.Condition{Argument: argument, Absent: annotation.Safe, Other: other}
}

func TestConditionsOfADecision(t *testing.T) {
	t.Parallel()
	server := &fake{func() []*mcp.Tool { return []*mcp.Tool{mcptest.Tool("frobnicate", "Frobs.")} }}
	c := locked()
	add(t, c, "crm", server)
	accept(t, c)
	d := byAda(annotation.Dangerous)
	d.Conditions = []annotation.Condition{unless("/filename", annotation.Dangerous), unless("/to", annotation.Moderate)}
	decide(t, c, "frobnicate", d)
	text, err := c.lock.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	read, err := pins.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	word, _ := read.Decided(lookup(t, c, "crm", "frobnicate"))
	for arguments, want := range map[string]annotation.Safety{
		`{}`: annotation.Safe, `{"to":"a"}`: annotation.Moderate, `{"to":"a","filename":null}`: annotation.Dangerous,
	} {
		if got := word.Decide([]byte(arguments), nil).Class; got != want {
			t.Errorf("%s: %s, want %s", arguments, got, want)
		}
	}
	if _, err := pins.Parse(bytes.Replace(text, []byte(`"absent"`), []byte(`"above": 1, "absent"`), 1)); err == nil {
		t.Error("a condition with an unknown member is taken")
	}
	for name, spoil := range map[string]func(*pins.Decision){
		"less strict than its conditions": func(d *pins.Decision) { d.Class = annotation.Moderate },
		"stricter than its conditions":    func(d *pins.Decision) { d.Conditions = d.Conditions[1:] },
		"a model's":                       func(d *pins.Decision) { d.Reviewer, d.Model = "", "m" },
		"no pointer":                      func(d *pins.Decision) { d.Conditions = []annotation.Condition{unless("to", annotation.Dangerous)} },
	} {
		bad := d
		if spoil(&bad); bad.Validate() == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
