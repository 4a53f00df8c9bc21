package policy_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestB201UnreachableRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rules [][2]string
		want  []string // the lines
	}{
		{"an earlier deny", [][2]string{{"srv/*", "deny"}, {"srv/list_x", "allow"}}, []string{"p.json:3"}},
		{"a later one, since the order does not count", [][2]string{{"srv/list_x", "allow"}, {"srv/*", "deny"}}, []string{"p.json:2"}},
		{"a pattern within a pattern", [][2]string{{"*", "deny"}, {"srv/list_*", "ask"}}, []string{"p.json:3"}},
		{"the same twice", [][2]string{{"srv/a", "ask"}, {"srv/a", "ask"}}, []string{"p.json:3"}},
		{"a name beside a pattern", [][2]string{{"srv/*", "allow"}, {"srv/delete_x", "allow"}}, nil},
		{"part of it is left", [][2]string{{"srv/list_*", "deny"}, {"srv/*", "allow"}}, nil},
		{"another server", [][2]string{{"a/*", "deny"}, {"b/*", "allow"}}, nil},
		{"a question mark covers no star", [][2]string{{"srv/?", "deny"}, {"srv/*", "allow"}}, nil},
		{"a class that leaves one out covers no question mark", [][2]string{{"srv/[^x]", "deny"}, {"srv/?", "ask"}}, nil},
		{"nor does a range cover a star", [][2]string{{"srv/[^a-z]*", "deny"}, {"srv/?*", "ask"}}, nil},
		{"a class covers a name", [][2]string{{"srv/[^x]", "deny"}, {"srv/y", "ask"}}, []string{"p.json:3"}},
		{"a milder one covers nothing", [][2]string{{"*", "allow"}, {"srv/x", "deny"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := "{\"rules\": [\n"
			for _, r := range c.rules {
				text += fmt.Sprintf("{\"tool\": %q, \"decide\": %q},\n", r[0], r[1])
			}
			p := parse(t, text+"]}")
			if len(p.Warnings) != len(c.want) {
				t.Fatalf("got %q, want lines %v", p.Warnings, c.want)
			}
			for i, w := range p.Warnings {
				if !strings.HasPrefix(w, c.want[i]+": unreachable rule") {
					t.Errorf("got %q, want line %s", w, c.want[i])
				}
			}
		})
	}
}
