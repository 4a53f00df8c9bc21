package scope_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/scope"
)

func set(t *testing.T, scopes ...scope.Scope) scope.Set {
	t.Helper()
	s, err := scope.New(scopes...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScopeCoversExactlyItsPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope   string
		covers  []string
		nothing []string
	}{
		{"customers.read", []string{"customers.read"}, []string{
			"customer.read", "customers.reads", "customers.rea", "customers.write", "Customers.read", "customers.Read",
			"xcustomers.read", "crm.customers.read", "customers.read.all", "customers", "read", "", "customers.read ",
		}},
		{"*.read", []string{"customers.read", "crm.customers.read", "a.b.c.read"}, []string{
			"customers.write", "read", "customers.read2", "customers.read.write", "customers.xread", "",
		}},
		{"customers.*", []string{"customers.read", "customers.write"}, []string{
			"customer.read", "customers2.read", "crm.customers.read", "customers.orders.read", "customers", "",
		}},
		{"customers.all", []string{"customers.read", "customers.write"}, []string{"customer.read", "customers.orders.read", "orders.read", ""}},
		{"crm.customers.all", []string{"crm.customers.read"}, []string{"customers.read", "crm.orders.read", "crm.read"}},
		{"*.all", []string{"customers.read", "customers.write", "a.b.c", "openid", "", "not a permission", "customers.*"}, nil},
		{"*.*", []string{"customers.read", "openid", ""}, nil},
		{"openid", []string{"openid"}, []string{"openid.read", "a.openid", ""}},
		{"all.read", []string{"all.read"}, []string{"customers.read"}},
		{"customers:read", []string{"customers:read"}, []string{"customers.read", "customers:write"}},
		{"https://example.com/auth/calendar.readonly", []string{"https://example.com/auth/calendar.readonly"}, []string{"calendar.readonly"}},
	} {
		s := set(t, scope.Scope{Permission: c.scope})
		for _, permission := range c.covers {
			if !s.Covers(permission, "") {
				t.Errorf("%q does not cover %q", c.scope, permission)
			}
		}
		for _, permission := range c.nothing {
			if s.Covers(permission, "") {
				t.Errorf("%q covers %q", c.scope, permission)
			}
		}
	}
}

func TestNoScopeCoversNothing(t *testing.T) {
	t.Parallel()
	for _, s := range []scope.Set{{}, set(t)} {
		for _, permission := range []string{"", "customers.read", "*.all", "all", "*"} {
			if s.Covers(permission, "") {
				t.Errorf("covers %q", permission)
			}
		}
	}
}

func TestMalformedScopeIsAnErrorAndNoWildcard(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "*", "all", "**", "*.", ".*", ".", "..", ".read", "customers.", "customers..read", "*.*.read", "crm.*.read", "**.read", "*.**",
		"cust*.read", "customers.re*", "*customers.read", "customers.read*", "customers.read ", " customers.read", "customers.read\n", "customers read",
		"customers.read,orders.read", "kund\u0435n.read", "customers.read\u200b", "?.read", "[a-z].read", "customers.{read,write}", "%2a.all",
		strings.Repeat("a", 201), strings.Repeat("a", 200) + ".read", "*." + strings.Repeat("a", 199),
	} {
		s, err := scope.New(scope.Scope{Permission: "orders.read"}, scope.Scope{Permission: text})
		if err == nil {
			t.Errorf("%q was taken", text)
			continue
		}
		if len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\n\u200b") {
			t.Errorf("%q: got %q", text, err)
		}
		for _, permission := range []string{"", "customers.read", "orders.read", text} {
			if s.Covers(permission, "") {
				t.Errorf("%q beside an error covers %q", text, permission)
			}
		}
	}
}

func TestPermissionIsNotAWildcard(t *testing.T) {
	t.Parallel()
	for _, permission := range []string{"customers.read", "crm.customers.read", "openid", "all"} {
		if err := scope.Check(permission); err != nil {
			t.Error(err)
		}
	}
	for _, permission := range []string{"", "*", "*.read", "customers.*", "customers.all", "*.all", "a..b", ".a", "a.", "a b"} {
		if scope.Check(permission) == nil {
			t.Errorf("%q was taken", permission)
		}
		if set(t, scope.Scope{Permission: "*.read"}, scope.Scope{Permission: "customers.all"}).Covers(permission, "") {
			t.Errorf("%q is covered by less than everything", permission)
		}
	}
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	levels := []annotation.SecurityLevel{"", annotation.Public, annotation.Internal, annotation.Restricted, "secret"}
	for _, c := range []struct {
		ceiling annotation.SecurityLevel
		want    string // of each level
	}{
		{"", "yynnn"}, {annotation.Public, "yynnn"}, {annotation.Internal, "yyynn"}, {annotation.Restricted, "yyyyn"},
	} {
		for _, permission := range []string{"customers.read", "*.read", "*.all"} {
			s := set(t, scope.Scope{Permission: permission, Ceiling: c.ceiling})
			for i, level := range levels {
				if got, want := s.Covers("customers.read", level), c.want[i] == 'y'; got != want {
					t.Errorf("%s with the ceiling %q: level %q: got %v, want %v", permission, c.ceiling, level, got, want)
				}
			}
		}
	}
	t.Run("of one scope lifts no other", func(t *testing.T) {
		s := set(t, scope.Scope{Permission: "customers.read"}, scope.Scope{Permission: "orders.read", Ceiling: annotation.Restricted})
		if s.Covers("customers.read", annotation.Internal) || !s.Covers("orders.read", annotation.Restricted) {
			t.Error("each scope has its own ceiling")
		}
	})
	t.Run("that is invalid", func(t *testing.T) {
		if _, err := scope.New(scope.Scope{Permission: "a.read", Ceiling: "secret"}); err == nil || !strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v", err)
		}
	})
}

// A scope without a wildcard covers itself and nothing else.
func FuzzScope(f *testing.F) {
	for _, seed := range [][2]string{{"customers.read", "customers.write"}, {"*.read", "a.read"}, {"a.*", "a.b"}, {"*.all", ""}, {"*", "a"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, permission string) {
		s, err := scope.New(scope.Scope{Permission: text})
		if err != nil {
			if s.Covers(permission, "") {
				t.Fatalf("%q is not a scope and covers %q", text, permission)
			}
			return
		}
		wild := strings.Contains(text, "*") || strings.HasSuffix(text, ".all")
		switch covers := s.Covers(permission, ""); {
		case !wild && covers != (text == permission):
			t.Fatalf("%q covers %q: %v", text, permission, covers)
		case covers && scope.Check(permission) != nil && text != "*.all" && text != "*.*":
			t.Fatalf("%q covers %q, which is not a permission", text, permission)
		}
	})
}
