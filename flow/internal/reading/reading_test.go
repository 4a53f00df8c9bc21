package reading_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/flow/internal/reading"
)

func TestSaid(t *testing.T) {
	for text, want := range map[string]string{
		"Use D E zero two, one double two please.":       "DE02122",
		"it is Lima Tango - two - eight.":                "lt-2-8",
		"write to ann dot lee at example dash pay dot c": "ann.lee@example-pay.c",
		"plus four nine one seven":                       "+4917",
		"https colon slash slash a dot org slash in":     "https://a.org/in",
		"twenty one eleven four five":                    "211145",
		"null eins zwei drei":                            "0123",
		"ann (at) example [dot] org":                     "ann@example.org",
		"m dot lee at the domain example dot org":        "m.lee@example.org",
		"ann, a dot, four four, at example dot org":      "ann.44@example.org",
		"plus four three, then five double-five, oh one": "+435-5501",
	} {
		var got []string
		for _, part := range reading.New(text).Said() {
			got = append(got, part.Text)
		}
		if !slices.ContainsFunc(got, func(s string) bool { return strings.EqualFold(s, want) }) {
			t.Errorf("%s: got %q, want %q among it", text, got, want)
		}
	}
	if got := reading.New("We met at noon. The one of us who was late had two cakes.").Said(); len(got) > 1 {
		t.Errorf("of prose: got %v", got)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string][]float64{
		"nine hundred and fifty euros":              {950},
		"twelve thousand six hundred, or 7":         {12600, 7},
		"four thousand five; 1.240,50 and 1,240.50": {4005, 1240.5, 1240.5},
		"seventy-five": {75},
		"1'200 and 3.5 and 1,200 and three times four": {1200, 3.5, 1200, 3, 4},
		"none": nil,
	} {
		var got []float64
		for _, n := range reading.New(text).Numbers() {
			got = append(got, n.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestDates(t *testing.T) {
	today := time.Date(2026, 11, 27, 6, 0, 0, 0, time.UTC) // a Friday
	for text, want := range map[string]string{
		"tomorrow": "2026-11-28", "the day after tomorrow": "2026-11-29", "in three weeks": "2026-12-18", "next Tuesday": "2026-12-01",
		"on Friday": "2026-12-04", "a week from today": "2026-12-04", "next month": "2026-12-27", "the 3rd of March": "2027-03-03",
		"May 14, 2000": "2000-05-14", "17.06.2000": "2000-06-17", "9 Sept 2000": "2000-09-09", "the twenty-first of April": "2027-04-21",
		"08/12/2000": "2000-12-08", "le 5 février 2000": "2000-02-05", "Christmas Eve": "2026-12-24", "July the fourth": "2027-07-04",
		"2026-12-01T10:00": "2026-12-01", "the end of the month": "2026-11-30", "in a fortnight": "2026-12-11", "übermorgen": "2026-11-29",
	} {
		var got []string
		for _, date := range reading.New(text).Dates(today) {
			got = append(got, date.Day)
		}
		if !slices.Contains(got, want) {
			t.Errorf("%s: got %v, want %s among them", text, got, want)
		}
	}
	if got := reading.New("the 31st of February, 2026-13-01, and 5 of 7").Dates(today); len(got) > 0 {
		t.Errorf("of no dates: got %v", got)
	}
}

func ExampleTranslations() {
	fmt.Println(slices.Contains(reading.Translations("Invoice"), "rechnung"), reading.Translations("xyzzy"))
	// Output: true []
}
