package output

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	v, err := jsontree.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A cursor of ours asks for the tool's own page again, and leaves out of it what was
// seen.
func TestCursorComesBack(t *testing.T) {
	t.Parallel()
	p := newPager("s/t", Paging{Rows: "/rows", Next: "/next", More: "/more", Cursor: "cursor"})
	_, first, err := p.begin(middleware.Call{Arguments: json.RawMessage(`{"cursor":"theirs","q":1}`)})
	if err != nil || first.skips() {
		t.Fatalf("%v, %v", first, err)
	}
	ours, _ := first.after(2).(string)
	inner, second, err := p.begin(middleware.Call{Arguments: json.RawMessage(fmt.Sprintf(`{"cursor":%q,"q":1}`, ours))})
	if err != nil || string(inner.Arguments) != `{"cursor":"theirs","q":1}` || !second.skips() {
		t.Fatalf("sent %s, %v", inner.Arguments, err)
	}
	rest := second.leaveOut(decode(t, `{"rows":[1,2,3,4]}`))
	if got := jsontree.Encode(rest); got != `{"rows":[3,4]}` {
		t.Errorf("got %s", got)
	}
	inner, third, err := p.begin(middleware.Call{Arguments: json.RawMessage(fmt.Sprintf(`{"cursor":%q}`, second.after(1)))})
	if err != nil || string(inner.Arguments) != `{"cursor":"theirs"}` {
		t.Fatalf("sent %s, %v", inner.Arguments, err)
	}
	if got := jsontree.Encode(third.leaveOut(decode(t, `{"rows":[1,2,3,4]}`))); got != `{"rows":[4]}` {
		t.Errorf("of a page that was cut twice: got %s", got)
	}
}

// The paging text is not cut, has space for the longest one, and is true in the end.
func TestReserve(t *testing.T) {
	t.Parallel()
	p := newPager("s/t", Paging{Rows: "", Next: "/next", More: "/more", Cursor: "cursor"})
	_, page, err := p.begin(middleware.Call{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long", 100)
	for _, tt := range []struct{ text, on, end string }{
		{`{"more":false,"next":null}`, `{"more":true,"next":"n"}`, `{"more":false,"next":null}`},
		{`{}`, `{"next":"n"}`, `{}`},
		{`{"more":true,"next":"` + long + `"}`, `{"more":true,"next":"n"}`, `{"more":true,"next":"` + long + `"}`},
	} {
		for next, want := range map[any]string{"n": tt.on, nil: tt.end} {
			v := decode(t, tt.text)
			restore := page.reserve(v, 9)
			held, _ := v.(map[string]any)["next"].(trim.Whole)
			if least, _ := page.after(9).(string); len(held) < len(least) || strings.Contains(tt.text, long) && len(held) < len(long) {
				t.Errorf("%.40s: %d bytes are reserved", tt.text, len(held))
			}
			if restore(v, next); jsontree.Encode(v) != want {
				t.Errorf("%.40s and %v: got %.80s, want %.80s", tt.text, next, jsontree.Encode(v), want)
			}
		}
	}
}

func TestGoesOnOnlyForReads(t *testing.T) {
	t.Parallel()
	for _, places := range []Paging{{Cursor: "cursor"}, {Offset: "offset"}} {
		_, page, err := newPager("s/t", places).begin(middleware.Call{})
		if err != nil {
			t.Fatal(err)
		}
		for want, a := range map[bool]annotation.Annotations{true: annotation.ReadOnly(), false: annotation.Write()} {
			tool, err := middleware.NewTool("s", &mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}, a)
			if err != nil {
				t.Fatal(err)
			}
			if got := page.goesOn(tool); got != (want || places.Offset != "") {
				t.Errorf("%+v of a %s tool: got %v", places, tool.Safety(), got)
			}
		}
	}
}

func TestNothingIsKnownOfThePages(t *testing.T) {
	t.Parallel()
	var p *pager
	_, page, err := p.begin(middleware.Call{})
	if rows, ok := page.list([]any{1}); err != nil || page != nil || page.skips() || page.goesOn(nil) || rows != nil || ok {
		t.Errorf("got %v, %v", page, err)
	}
}
