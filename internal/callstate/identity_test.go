package callstate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func identity(ctx context.Context, t *testing.T, call middleware.Call) callstate.Identity {
	t.Helper()
	id, err := callstate.IdentityOf(ctx, &call)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The identity is the same however the arguments are written, with a record and without, and follows every change of
// the call, also one of the bytes of its arguments, with anything computed before.
func TestIdentityFollowsTheCall(t *testing.T) {
	t.Parallel()
	background := context.Background()
	for size, pad := range map[string]string{"short": "x", "long": strings.Repeat("x", 2000)} {
		written := `{"path":"a", "pad":"` + pad + `", "by":1}`
		want := identity(background, t, callOf(`{"by":1,"pad":"`+pad+`","path":"a"}`))
		for name, outer := range map[string]context.Context{"record": callstate.Begin(background), "no record": background} {
			call := callOf(written)
			ctx, hash, err := callstate.FormHash(outer, &call, callstate.SpellingOf(call.Arguments))
			if got := identity(ctx, t, call); err != nil || got != want {
				t.Fatalf("%s, %s: got %x, %v, want %x", size, name, got, err, want)
			}
			other := callOf(`{"by":1,"path":"a","pad":"` + pad + `"}`)
			if _, got, err := callstate.FormHash(background, &other, callstate.SpellingOf(other.Arguments)); err != nil || got != hash {
				t.Errorf("%s, %s: one form has the hashes %x and %x, %v", size, name, got, hash, err)
			}
			for what, change := range map[string]func(*middleware.Call){
				"scope":  func(c *middleware.Call) { c.Scope = "bob" },
				"server": func(c *middleware.Call) { c.Tool = &middleware.Tool{Server: "else", Definition: c.Tool.Definition} },
				"name": func(c *middleware.Call) {
					c.Tool = &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: "purge"}}
				},
				"digest":    func(c *middleware.Call) { other := *c.Tool; other.Digest[0]++; c.Tool = &other },
				"arguments": func(c *middleware.Call) { c.Arguments = callOf(`{"path":"b","pad":"` + pad + `","by":1}`).Arguments },
				"a byte":    func(c *middleware.Call) { c.Arguments[9] = 'b' },
			} {
				changed := call
				change(&changed)
				if got := identity(ctx, t, changed); got == want || got != identity(background, t, changed) {
					t.Errorf("%s, %s, %s: the identity does not follow", size, name, what)
				}
				copy(call.Arguments, written)
			}
			if got := identity(ctx, t, call); got != want {
				t.Errorf("%s, %s: afterwards got %x, want %x", size, name, got, want)
			}
			bad := callOf(`{"a":1,"a":2}`)
			if same, _, err := callstate.FormHash(outer, &bad, callstate.SpellingOf(bad.Arguments)); same != outer || !middleware.NotSent(err) {
				t.Errorf("%s, %s: got error %v", size, name, err)
			}
		}
	}
}

func TestSpellingIsOfTheBytes(t *testing.T) {
	t.Parallel()
	one, other := []byte(`{"a":1}`), []byte(`{"a":1}`)
	if callstate.SpellingOf(one) == callstate.SpellingOf(other) || callstate.SpellingOf(one).Hash() != callstate.SpellingOf(other).Hash() {
		t.Error("the same bytes in two places are one spelling, or have two hashes")
	}
	if callstate.SpellingOf(one[:0]) != callstate.SpellingOf(nil) {
		t.Error("no arguments have two spellings")
	}
}
