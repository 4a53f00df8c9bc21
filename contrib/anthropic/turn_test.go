package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
)

// The runner makes the calls of a turn at once; the chain makes them in their order,
// under the ids of the model.
func TestCallsOfATurnKeepTheirOrderAndTheirIDs(t *testing.T) {
	t.Parallel()
	for range 20 {
		desk := batchtest.New(t)
		var first, second []call
		for i := range 6 {
			first = append(first, call{fmt.Sprint("a", i), "notes__create_note", fmt.Sprintf(`{"id":"%d"}`, i/2)})
			second = append(second, call{fmt.Sprint("b", i), "notes__create_note", fmt.Sprintf(`{"id":"%d"}`, i)})
		}
		talk(t, desk, first, second)
		var ids []string
		for _, c := range desk.Calls() {
			ids = append(ids, c.ID)
		}
		if got, want := strings.Join(ids, " "), "a0 a1 a2 a3 a4 a5 b0 b1 b2 b3 b4 b5"; got != want {
			t.Fatalf("executed %s, want %s", got, want)
		}
	}
}

// A call that the runner does not make is not made: of an unknown tool, or from before a fallback.
func TestOnlyCallsOfTheRunnerAreMade(t *testing.T) {
	t.Parallel()
	desk := batchtest.New(t)
	told := talk(t, desk, []call{
		{"gone", "notes__create_note", `{"id":"1"}`}, {"", "fallback", ""},
		{"a", "notes__fly", `{}`}, {"b", "notes__create_note", `{"id":"1"}`}, {"c", "notes__get_note", `[]`},
	})
	if calls := desk.Calls(); len(calls) != 1 || calls[0].ID != "b" {
		t.Errorf("executed %v", calls)
	}
	for id, want := range map[string]string{"a": "not found", "c": "are refused"} {
		if r := told[id]; !r.IsError || !strings.Contains(r.text(), want) {
			t.Errorf("%s: the model reads %+v", id, r)
		}
	}
}

// Numbers reach the tool, and the person who is asked, with all digits that the model wrote.
func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"9007199254740993", "9007199254740991", "-9007199254740993", "18446744073709551616", "-0", "1.10", "0.1", "12345678901234567890.5"} {
		desk := batchtest.New(t)
		desk.Yes = true
		input := `{"id":"1","n":` + number + `,"deep":[{"n":` + number + `}]}`
		talk(t, desk, []call{{"a", "notes__delete_note", input}, {"b", "notes__get_note", input}})
		asked, calls := desk.Asked(), desk.Calls()
		if len(asked) != 1 || string(asked[0].Arguments) != input || len(calls) != 2 {
			t.Fatalf("%s: asked %v, executed %v", number, asked, calls)
		}
		for _, c := range calls {
			if string(c.Arguments) != input || c.ID == "" {
				t.Errorf("%s: executed %s %s", number, c.ID, c.Arguments)
			}
		}
	}
}
