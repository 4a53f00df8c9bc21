package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// byServerAndClass is a rule for permissions as a host would write it.
func byServerAndClass(tool *middleware.Tool) string {
	if tool.Safety() == annotation.Safe {
		return tool.Server + ".read"
	}
	return tool.Server + ".write"
}

func view(t testing.TB, c *catalog.Catalog, scopes ...string) *catalog.View {
	t.Helper()
	all := make([]catalog.Scope, len(scopes))
	for i, s := range scopes {
		all[i].Permission = s
	}
	v, err := c.View(all...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func listed(v interface{ List() []*middleware.Tool }) string {
	var all []string
	for _, tool := range v.List() {
		all = append(all, tool.String())
	}
	return strings.Join(all, " ")
}

// shop is a catalog of two servers with a read and two writes each.
func shop(t testing.TB, o catalog.Options) (*catalog.Catalog, map[string]*ledger) {
	t.Helper()
	c := catalog.New(o)
	ledgers := make(map[string]*ledger)
	for _, id := range []string{"customers", "orders"} {
		ledgers[id] = newLedger(mcptest.Tool("list_all", ""), mcptest.Tool("create_one", ""), mcptest.Tool("delete_one", ""))
		add(t, c, id, mcptest.Connect(t, ledgers[id].server, nil))
		if err := c.Override(id, "list_all", annotation.Annotations{Freshness: annotation.Stable}); err != nil {
			t.Fatal(err)
		}
	}
	return c, ledgers
}

const everything = "customers/create_one customers/delete_one customers/list_all orders/create_one orders/delete_one orders/list_all"

func TestCallerSeesAndMayCallOnlyWhatItsScopesCover(t *testing.T) {
	c, ledgers := shop(t, catalog.Options{Permission: byServerAndClass})
	for _, tt := range []struct {
		scopes []string
		want   string
	}{
		{nil, ""},
		{[]string{"customers.read"}, "customers/list_all"},
		{[]string{"customer.read"}, ""},
		{[]string{"*.read"}, "customers/list_all orders/list_all"},
		{[]string{"orders.*"}, "orders/create_one orders/delete_one orders/list_all"},
		{[]string{"customers.read", "orders.write"}, "customers/list_all orders/create_one orders/delete_one"},
		{[]string{"*.all"}, everything},
	} {
		t.Run(strings.Join(tt.scopes, " "), func(t *testing.T) {
			v := view(t, c, tt.scopes...)
			if got := listed(v); got != tt.want {
				t.Errorf("lists %q, want %q", got, tt.want)
			}
			for _, tool := range c.List() {
				covered := strings.Contains(" "+tt.want+" ", " "+tool.String()+" ")
				if got, ok := v.Lookup(tool.Server, tool.Name()); ok != covered || ok != (got != nil) {
					t.Errorf("Lookup of %s: got %v, %v", tool, got, ok)
				}
				if got, err := v.Find(tool.ModelName()); (err == nil) != covered || covered != (got != nil) {
					t.Errorf("Find of %s: got %v, %v", tool, got, err)
				}
				call := middleware.Call{Tool: tool}
				before := ledgers[tool.Server].ran.Load()
				res, err := v.CallTool(agree(t, call), call)
				if ran := ledgers[tool.Server].ran.Load() - before; (err == nil) != covered || (res != nil) != covered || (ran == 1) != covered {
					t.Errorf("%s: got %v, %v and %d executions, want covered %v", tool, res, err, ran, covered)
				}
				if !covered && (!errors.Is(err, catalog.ErrUnknownTool) || !middleware.NotSent(err) || !middleware.Permanent(err)) {
					t.Errorf("%s: got %v", tool, err)
				}
			}
		})
	}
}

// The refusal of a hidden tool equals that of a missing one.
func TestRefusalDoesNotTellWhetherTheToolExists(t *testing.T) {
	c, _ := shop(t, catalog.Options{Permission: byServerAndClass})
	v := view(t, c, "orders.read")
	for _, stale := range []bool{false, true} {
		hidden := *lookup(t, c, "customers", "list_all")
		if stale { // which a caller that sees the tool would read
			hidden.Digest[0]++
		}
		absent := hidden
		absent.Definition = mcptest.Tool("list_any", "")
		for _, caller := range []middleware.ToolCaller{v, chain.Standard{}.Then(v), chain.New(v.Admit).Then(v)} {
			_, hiddenErr := caller.CallTool(t.Context(), middleware.Call{Tool: &hidden})
			_, absentErr := caller.CallTool(t.Context(), middleware.Call{Tool: &absent})
			if hiddenErr == nil || absentErr == nil {
				t.Fatal("a call went through")
			}
			if got, want := hiddenErr.Error(), strings.ReplaceAll(absentErr.Error(), "list_any", "list_all"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got, want := fmt.Sprintf("%T", hiddenErr), fmt.Sprintf("%T", absentErr); got != want {
				t.Errorf("got a %s, want a %s", got, want)
			}
		}
	}
}

func TestToolWithoutARequirementIsCoveredByEverythingAlone(t *testing.T) {
	for name, permission := range map[string]func(*middleware.Tool) string{
		"no func":    nil,
		"none":       func(*middleware.Tool) string { return "" },
		"a wildcard": func(*middleware.Tool) string { return "*.read" },
		"all":        func(*middleware.Tool) string { return "customers.all" },
		"malformed":  func(*middleware.Tool) string { return "customers..read\n" },
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := shop(t, catalog.Options{Permission: permission})
			if got := listed(view(t, c, "*.read", "customers.all", "orders.*")); got != "" {
				t.Errorf("got %s", got)
			}
			if got := listed(view(t, c, "*.all")); got != everything {
				t.Errorf("got %s", got)
			}
			if permission != nil && permission(nil) != "" {
				if got := found(t, c, "customers/list_all: ", "Options.Permission", "*.all"); strings.Contains(got, "\n") {
					t.Errorf("got %q", got)
				}
			} else if got := notable(c); len(got) != 0 {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestScopeCarriesACeiling(t *testing.T) {
	c, ledgers := shop(t, catalog.Options{Permission: byServerAndClass})
	levels := map[string]annotation.SecurityLevel{"customers": annotation.Internal, "orders": annotation.Restricted}
	for id, level := range levels {
		if err := c.Override(id, "list_all", annotation.Annotations{SecurityLevel: level}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		scopes []catalog.Scope
		want   string
	}{
		{[]catalog.Scope{{Permission: "*.read"}}, ""},
		{[]catalog.Scope{{Permission: "*.all"}}, "customers/create_one customers/delete_one orders/create_one orders/delete_one"},
		{[]catalog.Scope{{Permission: "*.read", Ceiling: annotation.Public}}, ""},
		{[]catalog.Scope{{Permission: "*.read", Ceiling: annotation.Internal}}, "customers/list_all"},
		{[]catalog.Scope{{Permission: "*.read", Ceiling: annotation.Restricted}}, "customers/list_all orders/list_all"},
		{[]catalog.Scope{{Permission: "*.read"}, {Permission: "*.write", Ceiling: annotation.Restricted}}, "customers/create_one customers/delete_one orders/create_one orders/delete_one"},
	} {
		v, err := c.View(tt.scopes...)
		if err != nil {
			t.Fatal(err)
		}
		if got := listed(v); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.scopes, got, tt.want)
		}
		for id := range levels {
			kinder := *lookup(t, c, id, "list_all") // what the call carries buys nothing
			kinder.Annotations.SecurityLevel = annotation.Public
			before := ledgers[id].ran.Load()
			_, err := v.CallTool(mcptest.Context(t), middleware.Call{Tool: &kinder})
			covered := strings.Contains(tt.want, id+"/list_all")
			if (err == nil) != covered || (ledgers[id].ran.Load() > before) != covered {
				t.Errorf("%v: %s: got %v", tt.scopes, id, err)
			}
		}
	}
	t.Run("an untrusted server raises its level and never lowers it", func(t *testing.T) {
		declares := func(level string) string {
			return `{"name":"list_` + level + `","inputSchema":{"type":"object"},"_meta":{"` + annotation.MetaKey + `":{"securityLevel":"` + level + `"}}}`
		}
		c := raw(t, declares("public"), declares("restricted"))
		if err := c.Override("srv", "list_good", annotation.Annotations{SecurityLevel: annotation.Internal}); err != nil {
			t.Fatal(err)
		}
		if got := listed(view(t, c, "*.all")); got != "srv/list_public" {
			t.Errorf("got %s", got)
		}
	})
}

func TestMalformedScopeMakesNoView(t *testing.T) {
	c, _ := shop(t, catalog.Options{Permission: byServerAndClass})
	for _, s := range []catalog.Scope{{}, {Permission: "*"}, {Permission: "cust*.read"}, {Permission: "*.all "}, {Permission: "*.all", Ceiling: "top"}} {
		v, err := c.View(catalog.Scope{Permission: "*.read"}, s)
		if v != nil || err == nil || !strings.HasPrefix(err.Error(), "catalog: ") || !strings.Contains(err.Error(), fmt.Sprintf("%q", s.Permission)) {
			t.Errorf("%v: got %v and %v", s, v, err)
		}
	}
}

func TestViewIsOfTheLiveCatalog(t *testing.T) {
	l := newLedger(mcptest.Tool("list_a", ""))
	c := catalog.New(catalog.Options{Permission: byServerAndClass})
	v := view(t, c, "srv.read")
	add(t, c, "srv", mcptest.Connect(t, l.server, nil))
	old := lookup(t, c, "srv", "list_a")
	if got := listed(v); got != "srv/list_a" {
		t.Errorf("after Add: got %q", got)
	}
	l.set(mcptest.Tool("list_b", ""))
	if err := c.Refresh(mcptest.Context(t), "srv"); err != nil {
		t.Fatal(err)
	}
	if got := listed(v); got != "srv/list_a srv/list_b" {
		t.Errorf("after Refresh: got %q", got)
	}
	// The class decides which permission is needed: what was a read is a write now.
	if err := c.Override("srv", "list_a", annotation.Write()); err != nil {
		t.Fatal(err)
	}
	if got := listed(v); got != "srv/list_b" {
		t.Errorf("after Override: got %q", got)
	}
	if _, err := v.CallTool(mcptest.Context(t), middleware.Call{Tool: old}); !errors.Is(err, catalog.ErrUnknownTool) {
		t.Errorf("after Override: got %v", err)
	}
	l.want(t, 0)
}

func TestViewHasAGuard(t *testing.T) {
	c, ledgers := shop(t, catalog.Options{Permission: byServerAndClass})
	v := view(t, c, "*.all")
	if d := v.Describe(); !d.Guards || d.Kind != "guard" {
		t.Errorf("described as %+v", d)
	}
	guarded := v.Guard(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		ledgers["customers"].ran.Add(1)
		return mcptest.Text("done"), nil
	}))
	for i, caller := range []middleware.ToolCaller{v, chain.Standard{}.Then(v), guarded} {
		accepted := lookup(t, c, "customers", "delete_one")
		kinder := *accepted
		kinder.Annotations = annotation.ReadOnly()
		call := middleware.Call{Tool: &kinder}
		before := ledgers["customers"].ran.Load()
		if _, err := caller.CallTool(mcptest.Context(t), call); !errors.Is(err, guard.ErrRefused) {
			t.Errorf("caller %d: got %v, want a refusal", i, err)
		}
		ledgers["customers"].want(t, before)
		if _, err := caller.CallTool(agree(t, middleware.Call{Tool: accepted}), call); err != nil {
			t.Errorf("caller %d with an approval: %v", i, err)
		}
		ledgers["customers"].want(t, before+1)
	}
	hidden := view(t, c, "customers.read").Guard(v)
	if _, err := hidden.CallTool(mcptest.Context(t), middleware.Call{Tool: lookup(t, c, "orders", "list_all")}); !errors.Is(err, catalog.ErrUnknownTool) {
		t.Errorf("the guard of a view: got %v", err)
	}
}

// Two callers of one scope of identity and other permissions share a memory: what
// one has read, the other may not have from it.
func TestMemoryThatIsSharedLeaksNothingThroughAView(t *testing.T) {
	c, ledgers := shop(t, catalog.Options{Permission: byServerAndClass})
	reader, other := view(t, c, "customers.read"), view(t, c, "orders.read")
	call := middleware.Call{Scope: "tenant", Tool: lookup(t, c, "customers", "list_all")}
	remember := cache.New(cache.Options{Store: cache.NewStore(cache.StoreOptions{})})
	std := chain.Standard{Cache: remember}
	for name, hang := range map[string]func(*catalog.View) middleware.ToolCaller{
		"chain.Standard":    func(v *catalog.View) middleware.ToolCaller { return std.Then(v) },
		"one by hand":       func(v *catalog.View) middleware.ToolCaller { return chain.New(v.Admit, remember).Then(v) },
		"in two parts":      func(v *catalog.View) middleware.ToolCaller { return chain.New(v.Admit, std.Middleware()).Then(v) },
		"chain.Standard ()": func(v *catalog.View) middleware.ToolCaller { return std.Middleware()(v) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				if _, err := hang(reader).CallTool(mcptest.Context(t), call); err != nil {
					t.Fatal(err)
				}
			}
			ledgers["customers"].want(t, 1) // the second and all others came from the cache
			if res, err := hang(other).CallTool(mcptest.Context(t), call); !errors.Is(err, catalog.ErrUnknownTool) || !middleware.NotSent(err) {
				t.Errorf("got %v and %v", res, err)
			}
		})
	}
}

// Preflight may find that these arguments make more of a call than its tool is. Its finding lowers
// no requirement.
func TestScopesCoverTheCallAsItsArgumentsMakeIt(t *testing.T) {
	c, ledgers := shop(t, catalog.Options{Permission: byServerAndClass})
	found := func(a annotation.Annotations) middleware.Middleware { // as preflight found it
		return func(next middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				tool := *call.Tool
				tool.Annotations = a
				call.Tool = &tool
				return next.CallTool(callstate.WithAnswer(ctx, &call, &tool, func(annotation.Annotations) annotation.Annotations { return a }), call)
			})
		}
	}
	restricted := annotation.ReadOnly()
	restricted.SecurityLevel = annotation.Restricted
	notCovered := func(err error) bool {
		_, ok := errors.AsType[*catalog.NotCoveredError](err)
		return ok
	}
	unknown := func(err error) bool { return errors.Is(err, catalog.ErrUnknownTool) }
	for _, tt := range []struct {
		name, tool, scope string
		found             annotation.Annotations
		refused           func(error) bool // nil if it is not
	}{
		{"the same", "list_all", "customers.read", annotation.ReadOnly(), nil},
		{"a sterner class", "list_all", "customers.read", annotation.Write(), notCovered},
		{"a stricter class that is covered", "list_all", "customers.all", annotation.Write(), nil},
		{"a higher level", "list_all", "customers.all", restricted, notCovered},
		{"a less strict class that is covered", "create_one", "customers.all", annotation.ReadOnly(), nil},
		{"a less strict class opens nothing", "create_one", "customers.read", annotation.ReadOnly(), unknown},
		{"and closes nothing", "create_one", "customers.write", annotation.ReadOnly(), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := view(t, c, tt.scope)
			asked := 0
			std := chain.Standard{
				Preflight: found(tt.found),
				Confirm: func(next middleware.ToolCaller) middleware.ToolCaller {
					return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
						asked++
						return next.CallTool(ctx, call)
					})
				},
			}
			for i, caller := range []middleware.ToolCaller{found(tt.found)(v), std.Then(v)} {
				before := ledgers["customers"].ran.Load()
				_, err := caller.CallTool(mcptest.Context(t), middleware.Call{Tool: lookup(t, c, "customers", tt.tool)})
				if (err != nil) != (tt.refused != nil) || err != nil && !(tt.refused(err) && middleware.NotSent(err) && middleware.Permanent(err)) {
					t.Errorf("caller %d: got %v", i, err)
				}
				if ran := ledgers["customers"].ran.Load() > before; ran != (tt.refused == nil) {
					t.Errorf("caller %d: executed: %v", i, ran)
				}
			}
			if (asked > 0) != (tt.refused == nil) {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

func TestHostLogsACallThatNoScopeCovers(t *testing.T) {
	var log strings.Builder
	c, _ := shop(t, catalog.Options{Permission: byServerAndClass, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, _ = view(t, c, "orders.*").CallTool(t.Context(), middleware.Call{Tool: lookup(t, c, "customers", "list_all")})
	if got := log.String(); !strings.Contains(got, "no scope") || !strings.Contains(got, "server=customers tool=list_all") {
		t.Errorf("got %q", got)
	}
}

// Run with -race: many callers of two kinds on one catalog over real sessions,
// while it is refreshed.
func TestCallersOfOtherScopesNeverMeet(t *testing.T) {
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			c := catalog.New(catalog.Options{Permission: byServerAndClass})
			var ran [2]atomic.Int64 // by caller, as the arguments say
			ids := [2]string{"customers", "orders"}
			for i, id := range ids {
				s := mcptest.New()
				mcptest.Add(s, mcptest.Tool("list_notes", ""), func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
					var a struct{ Caller int }
					if err := json.Unmarshal(arguments, &a); err != nil || a.Caller != i {
						t.Errorf("%s executed a call of %s", id, arguments)
					}
					ran[a.Caller].Add(1)
					return mcptest.Text(id), nil
				})
				if i == 0 {
					add(t, c, id, mcptest.ConnectVersion(t, s, nil, version))
				} else {
					cs, _ := mcptest.ConnectHTTP(t, s, nil, version)
					add(t, c, id, cs)
				}
			}
			const callers, calls = 8, 20
			ctx := mcptest.Context(t) // of one deadline, so that all share one flight
			std := chain.Standard{Cache: cache.New(cache.Options{Store: cache.NewStore(cache.StoreOptions{})})}
			var wg sync.WaitGroup
			for n := range callers {
				who := n % 2
				wg.Go(func() {
					v, err := c.View(catalog.Scope{Permission: ids[who] + ".read"})
					if err != nil {
						t.Error(err)
						return
					}
					caller := std.Then(v)
					for i := range calls {
						if got := listed(v); got != ids[who]+"/list_notes" {
							t.Errorf("caller %d sees %q", who, got)
						}
						for at, id := range ids {
							tool, _ := c.Lookup(id, "list_notes")
							call := middleware.Call{Scope: "same", Tool: tool, Arguments: fmt.Appendf(nil, `{"caller":%d,"i":%d}`, at, i)}
							res, err := caller.CallTool(ctx, call)
							if at == who && (err != nil || res.Content[0].(*mcp.TextContent).Text != id) || at != who && !errors.Is(err, catalog.ErrUnknownTool) {
								t.Errorf("caller %d calls %s: got %v and %v", who, id, res, err)
							}
						}
						if i == calls/2 {
							if err := c.Refresh(mcptest.Context(t), ids[who]); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			wg.Wait()
			if ran[0].Load() != calls || ran[1].Load() != calls {
				t.Errorf("got %d and %d executions, want %d of each", ran[0].Load(), ran[1].Load(), calls)
			}
		})
	}
}

func ExampleCatalog_View() {
	crm := listing(
		mcptest.Tool("list_customers", "Lists customers."),
		mcptest.Tool("delete_customer", "Deletes a customer."),
	) // an *mcp.ClientSession is a Session too
	tools := catalog.New(catalog.Options{Permission: func(tool *middleware.Tool) string {
		if tool.Safety() == annotation.Safe {
			return tool.Server + ".read"
		}
		return tool.Server + ".write"
	}})
	ctx := context.Background()
	if err := tools.Add(ctx, "customers", crm); err != nil {
		panic(err)
	}
	alice, err := tools.View(catalog.Scope{Permission: "*.read"})
	if err != nil {
		panic(err)
	}
	fmt.Println(alice.List())
	hidden, _ := tools.Lookup("customers", "delete_customer")
	_, err = alice.CallTool(ctx, middleware.Call{Tool: hidden})
	fmt.Println(err)
	_, err = tools.View(catalog.Scope{Permission: "customer*.read"})
	fmt.Println(err)
	// Output:
	// [customers/list_customers]
	// catalog: there is no tool "delete_customer" of server "customers"; list the tools again
	// catalog: the scopes of a view: "customer*.read" is not a scope; write "resource.action", of letters, digits, '_', '-', ':', '/' and '.' between words, or '*' for the whole resource, or '*' or "all" for the whole action
}
