package replaytest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
)

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	file, _, _ := record(t, notes(), "", [2]string{"get_note", `{"id":1}`})
	whole := read(t, file)
	for name, c := range map[string]struct{ text, want string }{
		"cut":              {whole[:len(whole)/2], "not valid JSON: unexpected E"},
		"empty":            {"", "line 1: not valid JSON"},
		"no recording":     {`{"calls": []}`, `line 1: not a recording: its first member is not "format"`},
		"format not first": {strings.Replace(strings.Replace(whole, "\"format\": \"fairlead recording 1\",", "", 1), `"calls": [`, `"format": "fairlead recording 1", "calls": [`, 1), "its first member is not"},
		"another name":     {strings.Replace(whole, `"format":`, `"kind":`, 1), "its first member is not"},
		"another version":  {strings.Replace(whole, "recording 1", "recording 2", 1), `line 2: "format": is "fairlead recording 2", and this version of fairlead reads "fairlead recording 1"`},
		"unknown member":   {strings.Replace(whole, `"server":`, `"servers":`, 1), `"servers": is not a member of a recording`},
		"of a call":        {strings.Replace(whole, `"milliseconds":`, `"seconds":`, 1), `"calls": "0": json: unknown field "seconds"`},
		"twice":            {strings.Replace(whole, `"tools": [`, `"calls": [], "tools": [`, 1), `"calls": is given twice`},
		"two servers":      {whole + whole, "there is more after its end"},
		"two tools":        {strings.Replace(whole, `"name": "list_notes"`, `"name": "get_note"`, 1), `a second tool is called "get_note"`},
		"without calls":    {`{"format": "fairlead recording 1", "server": {}, "tools": []}`, `"calls" is missing`},
		"no answer":        {strings.Replace(whole, `"result": {`, `"error": null, "result": {`, 1), "one of result, error and missing"},
		"another kind":     {strings.Replace(whole, `"arguments": {`, `"arguments": 1, "x": {`, 1), `json: unknown field "x"`},
		"no arguments":     {strings.Replace(whole, "\"id\": 1", "\"id\": 1, \"ID\": 2", 1), "differ only in case"},
		"not of its kind":  {strings.Replace(whole, `"tool": "get_note"`, `"tool": 7`, 1), `json: cannot unmarshal number`},
		"a list of calls":  {strings.Replace(whole, `"calls": [`, `"calls": 7, "x": [`, 1), "the calls must be a list"},
		"text after it":    {whole + "x", "there is more after its end"},
		"not valid JSON":   {strings.Replace(whole, `"id": 1`, `"id": `, 1), "not valid JSON: invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "edited.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := replaytest.Load(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "edited.json: line ") ||
				!strings.HasSuffix(err.Error(), "; a file holds one session of one server: restore it, or record anew") {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}
