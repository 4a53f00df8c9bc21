package callstate_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func identity(t *testing.T, state *callstate.State, call middleware.Call) callstate.Identity {
	t.Helper()
	id, err := callstate.IdentityOf(state, &call)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The identity is the same however the arguments are written, with a form that was computed before and without, and
// follows every change of the call, also one of the bytes of its arguments.
func TestIdentityFollowsTheCall(t *testing.T) {
	t.Parallel()
	anew := func() *callstate.State { return callstate.Begin(context.Background()) }
	for size, pad := range map[string]string{"short": "x", "long": strings.Repeat("x", 2000)} {
		written := `{"path":"a", "pad":"` + pad + `", "by":1}`
		want := identity(t, anew(), callOf(`{"by":1,"pad":"`+pad+`","path":"a"}`))
		for _, formed := range []bool{false, true} {
			call, state := callOf(written), anew()
			if formed {
				if _, err := callstate.Form(state, &call); err != nil {
					t.Fatal(err)
				}
			}
			hash, err := callstate.FormHash(state, &call)
			if got := identity(t, state, call); err != nil || got != want {
				t.Fatalf("%s, formed %t: got %x, %v, want %x", size, formed, got, err, want)
			}
			other := callOf(`{"by":1,"path":"a","pad":"` + pad + `"}`)
			if got, err := callstate.FormHash(anew(), &other); err != nil || got != hash {
				t.Errorf("%s, formed %t: one form has the hashes %x and %x, %v", size, formed, got, hash, err)
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
				if got := identity(t, state, changed); got == want || got != identity(t, anew(), changed) {
					t.Errorf("%s, formed %t, %s: the identity does not follow", size, formed, what)
				}
				copy(call.Arguments, written)
			}
			if got := identity(t, state, call); got != want {
				t.Errorf("%s, formed %t: afterwards got %x, want %x", size, formed, got, want)
			}
			bad := callOf(`{"a":1,"a":2}`)
			for range 2 { // it is remembered
				if _, err := callstate.FormHash(state, &bad); !middleware.NotSent(err) {
					t.Errorf("%s, formed %t: got error %v", size, formed, err)
				}
			}
		}
	}
}

func TestHashIsOfTheBytes(t *testing.T) {
	t.Parallel()
	one := []byte(`{"a":1}`)
	if callstate.Hash(one) != callstate.Hash(bytes.Clone(one)) || callstate.Hash(one) == callstate.Hash([]byte(`{"a":2}`)) {
		t.Error("the same bytes have two hashes, or others have one")
	}
}
