package pins_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
)

func TestChangeShowsTheChangeOfClass(t *testing.T) {
	tool := func(annotations string) string {
		return `{"name":"list_a","inputSchema":{"type":"object"},"annotations":` + annotations + `}`
	}
	got := changed(t, tool(`{"readOnlyHint":true}`), tool(`{"readOnlyHint":true,"destructiveHint":true}`))
	if got.Was != annotation.Safe || got.Is != annotation.Dangerous {
		t.Errorf("got %s → %s", got.Was, got.Is)
	}
	const want = `srv/list_a: changed since it was accepted (annotations; safe → dangerous)
  class
    - safe
    + dangerous
      read-only     yes   inferred: "list" leads the name
      destructive   yes   declared by srv
      idempotent    no    declared by srv
  annotations.destructiveHint
    + true
`
	if diff := got.Diff(); diff != want {
		t.Errorf("got\n%s\nwant\n%s", diff, want)
	}
}
