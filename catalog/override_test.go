package catalog_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func declared(name, annotations string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object"},"annotations":` + annotations + `}`
}

func TestUntrustedServerCanOnlyRaise(t *testing.T) {
	for _, c := range []struct {
		name, tool, annotations string
		untrusted, trusted      annotation.Safety
	}{
		{"B075 a delete that declares to read", "delete_user", `{"readOnlyHint":true}`, annotation.Dangerous, annotation.Safe},
		{"an update that declares to read", "update_user", `{"readOnlyHint":true}`, annotation.Moderate, annotation.Safe},
		{"unclassified, and declares to read", "frobnicate", `{"readOnlyHint":true}`, annotation.Unknown, annotation.Safe},
		{"unclassified, and declares to only add", "frobnicate", `{"destructiveHint":false}`, annotation.Dangerous, annotation.Moderate},
		{"a read that declares to destroy", "list_users", `{"destructiveHint":true}`, annotation.Dangerous, annotation.Dangerous},
		{"an update that declares to destroy", "update_user", `{"destructiveHint":true}`, annotation.Dangerous, annotation.Dangerous},
		{"B077 a contradiction", "list_users", `{"readOnlyHint":true,"destructiveHint":true}`, annotation.Dangerous, annotation.Dangerous},
		{"B081 a hint in small letters", "frobnicate", `{"readonlyHint":true}`, annotation.Unknown, annotation.Unknown},
		{"B081 a hint in capitals", "frobnicate", `{"ReadOnlyHint":true}`, annotation.Unknown, annotation.Unknown},
		{"B083 a hint twice, first yes", "delete_user", `{"readOnlyHint":true,"readOnlyHint":false}`, annotation.Dangerous, annotation.Dangerous},
		{"B085 null", "frobnicate", `null`, annotation.Unknown, annotation.Unknown},
		{"B085 empty", "frobnicate", `{}`, annotation.Unknown, annotation.Unknown},
		{"what SDKs write on their own", "list_users", `{"readOnlyHint":false,"idempotentHint":false}`, annotation.Safe, annotation.Safe},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := raw(t, declared(c.tool, c.annotations))
			if got := lookup(t, tools, "srv", c.tool).Safety(); got != c.untrusted {
				t.Errorf("untrusted: got %s, want %s", got, c.untrusted)
			}
			tools.Trust("srv")
			if got := lookup(t, tools, "srv", c.tool).Safety(); got != c.trusted {
				t.Errorf("trusted: got %s, want %s", got, c.trusted)
			}
		})
	}
	t.Run("B083 a hint twice, last true, of an untrusted server", func(t *testing.T) {
		// The SDK takes the last; for a trusted server that counts.
		if got := lookup(t, raw(t, declared("delete_user", `{"readOnlyHint":false,"readOnlyHint":true}`)), "srv", "delete_user").Safety(); got != annotation.Dangerous {
			t.Errorf("got %s", got)
		}
	})
	t.Run("B085 absent", func(t *testing.T) {
		if got := lookup(t, raw(t, `{"name":"frobnicate","inputSchema":{"type":"object"}}`), "srv", "frobnicate").Safety(); got != annotation.Unknown {
			t.Errorf("got %s", got)
		}
	})
	t.Run("idempotence does not count", func(t *testing.T) {
		tools := raw(t, declared("update_user", `{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true}`))
		if lookup(t, tools, "srv", "update_user").Annotations.SafeToRetry() {
			t.Error("an untrusted server made its write repeatable")
		}
		tools.Trust("srv")
		if !lookup(t, tools, "srv", "update_user").Annotations.SafeToRetry() {
			t.Error("a trusted server's word does not count")
		}
	})
}

func TestTrustAndOverrideHoldBeforeAndAfterAdd(t *testing.T) {
	server := func() *fake {
		return listing(&mcp.Tool{
			Name: "delete_user", InputSchema: json.RawMessage(`{"type":"object"}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		}, mcptest.Tool("frobnicate", ""))
	}
	steps := map[string]func(t *testing.T, c *catalog.Catalog){
		"add":   func(t *testing.T, c *catalog.Catalog) { add(t, c, "srv", server()) },
		"trust": func(_ *testing.T, c *catalog.Catalog) { c.Trust("srv") },
		"override": func(t *testing.T, c *catalog.Catalog) {
			if err := c.Override("srv", "frobnicate", annotation.Write()); err != nil {
				t.Fatal(err)
			}
		},
	}
	for _, order := range [][]string{
		{"add", "trust", "override"}, {"trust", "add", "override"}, {"override", "add", "trust"}, {"trust", "override", "add"},
	} {
		t.Run(strings.Join(order, " "), func(t *testing.T) {
			c := catalog.New(catalog.Options{})
			for _, step := range order {
				steps[step](t, c)
			}
			check := func() {
				t.Helper()
				if got := lookup(t, c, "srv", "delete_user").Safety(); got != annotation.Safe {
					t.Errorf("trusted: got %s", got)
				}
				if got := lookup(t, c, "srv", "frobnicate").Safety(); got != annotation.Moderate {
					t.Errorf("overridden: got %s", got)
				}
			}
			check()
			if err := c.Refresh(t.Context(), "srv"); err != nil {
				t.Fatal(err)
			}
			check()
		})
	}
	t.Run("trust is of one server", func(t *testing.T) {
		c := catalog.New(catalog.Options{})
		c.Trust("other")
		add(t, c, "srv", server())
		if got := lookup(t, c, "srv", "delete_user").Safety(); got != annotation.Dangerous {
			t.Errorf("got %s", got)
		}
	})
}

func TestHostsWordWins(t *testing.T) {
	const lying = `{"readOnlyHint":true}`
	for _, c := range []struct {
		name, tool, annotations string
		trusted                 bool
		word                    annotation.Annotations
		want                    annotation.Safety
	}{
		{"B087 over the words of the name", "resetPagination", `null`, false, annotation.Annotations{ReadOnly: annotation.Yes}, annotation.Safe},
		{"over an untrusted server", "frobnicate", `{"destructiveHint":true}`, false, annotation.Write(), annotation.Moderate},
		{"over a trusted server", "delete_user", lying, true, annotation.Destructive(), annotation.Dangerous},
		{"to ask before a read", "list_users", lying, true, annotation.Annotations{RequiresConfirmation: annotation.Yes}, annotation.Dangerous},
		{"what it leaves unset stays", "delete_user", lying, false, annotation.Annotations{Title: "Delete a user"}, annotation.Dangerous},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := raw(t, declared(c.tool, c.annotations))
			if c.trusted {
				tools.Trust("srv")
			}
			if err := tools.Override("srv", c.tool, c.word); err != nil {
				t.Fatal(err)
			}
			tool := lookup(t, tools, "srv", c.tool)
			if got := tool.Safety(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if strings.HasPrefix(c.name, "B087") {
				if text := found(t, tools, "srv/resetPagination: the host lowers it from "); !strings.HasSuffix(text, " to safe") {
					t.Errorf("got %q", text)
				}
			} else if c.want == annotation.Dangerous && len(tools.Findings()) > 0 && strings.Contains(tools.Findings()[0].Text, "lowers") {
				t.Errorf("got %v", tools.Findings())
			}
			if c.word.ReadOnly != annotation.Unset && !strings.Contains(tool.Explain(), "host") {
				t.Errorf("%s does not say that it is the host's word", tool.Explain())
			}
		})
	}
	t.Run("the last one of two", func(t *testing.T) {
		tools := raw(t, declared("frobnicate", `null`))
		for _, word := range []annotation.Annotations{annotation.Destructive(), annotation.ReadOnly()} {
			if err := tools.Override("srv", "frobnicate", word); err != nil {
				t.Fatal(err)
			}
		}
		if got := lookup(t, tools, "srv", "frobnicate").Safety(); got != annotation.Safe {
			t.Errorf("got %s", got)
		}
	})
}

func TestOverrideThatContradictsItselfIsRefused(t *testing.T) {
	for name, word := range map[string]annotation.Annotations{
		"reads and destroys":  {ReadOnly: annotation.Yes, Destructive: annotation.Yes},
		"a negative duration": {EstimatedDuration: -1},
		"B095 a rate that is not a number": {RateLimitHint: func() *float64 {
			f := math.NaN()
			return &f
		}()},
		"an unknown hint": {ReadOnly: 7},
	} {
		t.Run(name, func(t *testing.T) {
			c := raw(t, declared("frobnicate", `null`))
			before := lookup(t, c, "srv", "frobnicate")
			if err := c.Override("srv", "frobnicate", word); err == nil || !strings.Contains(err.Error(), "srv/frobnicate") {
				t.Errorf("got %v, want an error that names the tool", err)
			}
			if _, err := c.OverrideMatching("srv/*", word); err == nil || !strings.Contains(err.Error(), "srv/*") {
				t.Errorf("by pattern: got %v, want an error that names the pattern", err)
			}
			if after := lookup(t, c, "srv", "frobnicate"); after != before {
				t.Error("something has changed")
			}
		})
	}
}

func TestOverrideOfAToolThatIsNotThereIsReported(t *testing.T) {
	c := catalog.New(catalog.Options{})
	for _, name := range []string{"list_all", "List_good"} {
		if err := c.Override("srv", name, annotation.ReadOnly()); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Findings(); len(got) != 0 {
		t.Errorf("before the server is there: got %v", got)
	}
	add(t, c, "srv", listing(mcptest.Tool("list_good", "")))
	found(t, c, "srv/list_all", "does not list")
	found(t, c, "srv/List_good", "does not list") // B015
}

func TestPatternRaisesFreelyAndLowersNoDanger(t *testing.T) {
	c := catalog.New(catalog.Options{})
	add(t, c, "srv", listing(mcptest.Tool("delete_user", ""), mcptest.Tool("frobnicate", ""), mcptest.Tool("list_users", "")))
	got, err := c.OverrideMatching("srv/*", annotation.ReadOnly())
	if err != nil || !slices.Equal(got, []string{"srv/delete_user", "srv/frobnicate", "srv/list_users"}) {
		t.Fatalf("got %v, %v", got, err)
	}
	if got := lookup(t, c, "srv", "delete_user").Safety(); got != annotation.Dangerous {
		t.Errorf("a pattern lowered what its name calls dangerous: %s", got)
	}
	if got := lookup(t, c, "srv", "frobnicate").Safety(); got != annotation.Safe {
		t.Errorf("got %s, want safe", got)
	}
	if _, err := c.OverrideMatching("*/list_*", annotation.Destructive()); err != nil {
		t.Fatal(err)
	}
	if got := lookup(t, c, "srv", "list_users").Safety(); got != annotation.Dangerous {
		t.Errorf("got %s, want dangerous", got)
	}
	if err := c.Override("srv", "delete_user", annotation.ReadOnly()); err != nil {
		t.Fatal(err)
	}
	if got := lookup(t, c, "srv", "delete_user").Safety(); got != annotation.Safe {
		t.Errorf("the word on the one tool did not win: %s", got)
	}
	for _, pattern := range []string{"", "srv", "srv/[", "a/b/c"} {
		if _, err := c.OverrideMatching(pattern, annotation.ReadOnly()); err == nil {
			t.Errorf("%q was taken for a pattern", pattern)
		}
	}
}

// The host declares that it writes. Its server declares the same, and that it only adds, which
// then does not count.
func TestClaimDoesNotSoftenTheHostsWord(t *testing.T) {
	for _, tool := range []string{
		`{"name":"list_users","inputSchema":{"type":"object"}}`,
		declared("list_users", `{"readOnlyHint":false,"destructiveHint":false}`),
	} {
		tools := raw(t, tool)
		before := lookup(t, tools, "srv", "list_users").Safety()
		if want := map[bool]annotation.Safety{true: annotation.Moderate, false: annotation.Safe}[strings.Contains(tool, "Hint")]; before != want {
			t.Errorf("%s: got %s, want %s", tool, before, want)
		}
		if _, err := tools.OverrideMatching("srv/list_users", annotation.Annotations{ReadOnly: annotation.No}); err != nil {
			t.Fatal(err)
		}
		if got := lookup(t, tools, "srv", "list_users").Safety(); got != annotation.Dangerous {
			t.Errorf("%s, and the host declares that it writes: got %s, want dangerous", tool, got)
		}
	}
}

func TestServerThatLiesIsReported(t *testing.T) {
	tools := raw(t, declared("delete_user", `{"readOnlyHint":true}`), declared("list_users", `{"readOnlyHint":true}`),
		declared("frobnicate", `{"readOnlyHint":true,"destructiveHint":true}`), declared("twiddle", `{"destructiveHint":false}`))
	found(t, tools, "srv/delete_user", "declares itself read-only", "does not count", `"delete"`)
	found(t, tools, "srv/frobnicate", "both read-only and destructive") // B077
	found(t, tools, "srv/twiddle", "declares itself moderate", "does not count", "dangerous")
	found(t, tools, "srv: its session was not prepared", "mount.Transport")
	if got := len(tools.Findings()); got != 4 {
		t.Errorf("got %v, want four", tools.Findings())
	}
	tools.Trust("srv")
	found(t, tools, "srv/delete_user", "is believed, since the server is trusted")
}

func TestExtensionFieldsThatCannotBeReadAreReported(t *testing.T) {
	meta := func(fields string) string {
		return `{"name":"list_users","inputSchema":{"type":"object"},"_meta":{"` + annotation.MetaKey + `":` + fields + `}}`
	}
	for name, fields := range map[string]string{
		"B095 a negative rate":     `{"rateLimitHint":-5}`,
		"B095 text for a number":   `{"costHint":"9"}`,
		"B095 an endless duration": `{"estimatedDuration":-1e300}`,
		"B095 several":             `{"rateLimitHint":-5,"costHint":"9","tags":[1]}`,
		"no object":                `"x"`,
		"an escape sequence":       `{"costHint":"\u001b]0;x\u0007\u202e\u009b"}`,
	} {
		t.Run(name, func(t *testing.T) {
			tools := raw(t, meta(fields))
			got := lookup(t, tools, "srv", "list_users")
			if a := got.Annotations; a.RateLimitHint != nil || a.CostHint != nil || a.EstimatedDuration != 0 || a.Safety() != annotation.Safe {
				t.Errorf("got %+v", a)
			}
			if text := found(t, tools, "srv/list_users", "cannot be read"); strings.ContainsAny(text, "\n\x1b\x07\u202e\u009b") || strings.Contains(text, `\n`) {
				t.Errorf("got %q, want one line that is safe to show", text)
			}
		})
	}
}

func TestLayersExplainTheClass(t *testing.T) {
	c := raw(t, declared("delete_user", `{"readOnlyHint":true}`))
	said, inferred := c.Layers(lookup(t, c, "srv", "delete_user"))
	if said.ReadOnly != annotation.Yes || inferred.Destructive != annotation.Yes {
		t.Errorf("got declared %+v and inferred %+v", said, inferred)
	}
}
