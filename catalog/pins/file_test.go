package pins_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lockOf returns the text of a lock that accepts what the session lists.
func lockOf(t testing.TB, s catalog.Session) string {
	t.Helper()
	c := locked()
	add(t, c, "crm", s)
	accept(t, c)
	return lockText(t, c.lock)
}

func lockText(t testing.TB, l *pins.Lock) string {
	t.Helper()
	text, err := l.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLockCanBeReadInAReview(t *testing.T) {
	got := lockOf(t, listing(
		&mcp.Tool{
			Name: "list_customers", Description: "Lists customers <all>.\nIn \\u000a pages.", InputSchema: json.RawMessage(`{"type":"object"}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		},
		mcptest.Tool("frobnicate", "Zażółć gęślą jaźń \u202e\u200b\U000e0041."),
	))
	const want = `{
  "version": 1,
  "tools": {
    "crm/frobnicate": {
      "class": "unknown",
      "digest": "%s",
      "definition": {
        "description": "Zażółć gęślą jaźń \u202e\u200b\udb40\udc41.",
        "inputSchema": {
          "type": "object"
        },
        "name": "frobnicate"
      }
    },
    "crm/list_customers": {
      "class": "safe",
      "digest": "%s",
      "definition": {
        "annotations": {
          "idempotentHint": false,
          "readOnlyHint": true
        },
        "description": "Lists customers <all>.\nIn \\u000a pages.",
        "inputSchema": {
          "type": "object"
        },
        "name": "list_customers"
      }
    }
  }
}
`
	if want := fmt.Sprintf(want, digestIn(t, got, "frobnicate"), digestIn(t, got, "list_customers")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	l, err := pins.Parse([]byte(got))
	if err != nil {
		t.Fatal(err)
	}
	if again := lockText(t, l); again != got {
		t.Errorf("read and written again:\n%s", again)
	}
}

// digestIn returns the digest of a tool's definition as the text has it.
func digestIn(t testing.TB, text, tool string) string {
	t.Helper()
	var lock struct {
		Tools map[string]struct{ Definition json.RawMessage }
	}
	if err := json.Unmarshal([]byte(text), &lock); err != nil {
		t.Fatal(err)
	}
	return digestOf(t, lock.Tools["crm/"+tool].Definition)
}

func digestOf(t testing.TB, definition []byte) string {
	t.Helper()
	form, err := canonical.Append(nil, definition)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(form))
}

// A lock holds the bytes that the tool's digest covers, also if Go's JSON would write a number
// differently.
func TestLockHoldsWhatTheDigestIsOver(t *testing.T) {
	tool := mcptest.Tool("list_a", "")
	tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"maximum":9007199254740993,"minimum":1.0,"default":1e3}}}`)
	tool.Meta = mcp.Meta{"n": json.Number("1E5"), "<&>": "\u2028"}
	c := locked()
	add(t, c, "crm", listing(tool))
	accept(t, c)
	text := lockText(t, c.lock)
	if want := lookup(t, c, "crm", "list_a").Digest.String(); !strings.Contains(text, want) || !strings.Contains(text, "9007199254740993") {
		t.Errorf("got\n%s\nwithout %s", text, want)
	}
	l, err := pins.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again := pinnedBy(l)
	add(t, again, "crm", listing(tool))
	if got := again.Changes(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// A deeply indented lock is longer than the limit of its contents, and is read all the same.
func TestLockOfADeepDefinitionIsReadAgain(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 100) + `{"enum":[` + strings.TrimSuffix(strings.Repeat("1,", 30_000), ",") + `]}` + strings.Repeat("}", 100)
	tool := mcptest.Tool("list_a", "")
	tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":` + deep + `}}`)
	text := lockOf(t, listing(tool))
	if len(text) < canonical.MaxBytes {
		t.Fatalf("got %d bytes: the test tests nothing", len(text))
	}
	if _, err := pins.Parse([]byte(text)); err != nil {
		t.Error(err)
	}
}

func TestLockThatIsNotUnderstoodIsRefusedWhole(t *testing.T) {
	good := lockOf(t, listing(mcptest.Tool("list_a", "Lists."), mcptest.Tool("list_b", "Lists.")))
	if _, err := pins.Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	digest := digestIn(t, good, "list_b")
	swap := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	blockB := good[strings.Index(good, `    "crm/list_b"`):strings.LastIndex(good, "\n  }\n}")]
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"line 1:", "unexpected EOF"}},
		{"cut off", good[:len(good)/2], []string{"line 1", "unexpected EOF"}},
		{"no JSON", "version = 1", []string{"line 1:", "not valid JSON"}},
		{"a byte order mark", "\ufeff" + good, []string{"line 1:", "not valid JSON"}},
		{"a list", "[]", []string{"line 1:", "must be an object"}},
		{"goes on", good + "{}", []string{"there is more after its end"}},
		{"an unknown key", swap("{\n", "{\n  \"allow\": \"*\",\n"), []string{"line 2:", `"allow"`, "version, tools"}},
		{"an unknown key in a tool", swap(`      "class"`, "      \"trusted\": true,\n      \"class\""), []string{"line 5:", "crm/list_a", `"trusted"`}},
		{"a key in another case", swap(`"class"`, `"Class"`), []string{"line 5:", `"Class"`}},
		{"a key twice", swap(`"version": 1,`, "\"version\": 1,\n\"version\": 1,"), []string{"line 3:", `"version": is given twice`}},
		{"a tool twice", swap("\n  }\n}", ",\n"+blockB+"\n  }\n}"), []string{"line 36:", `"crm/list_b": is given twice`}},
		{"a member twice", swap(`"class": "safe",`, "\"class\": \"safe\",\n\"class\": \"safe\","), []string{"line 6:", "crm/list_a", `"class": is given twice`}},
		{"a member of a definition twice", swap(`"description": "Lists.",`, "\"description\": \"Lists.\",\n\"description\": \"Lists.\","), []string{"line 14:", `"crm/list_a": "definition"`, `"description" is given twice`}},
		{"no version", swap("  \"version\": 1,\n", ""), []string{`has no "version"`}},
		{"no tools", `{"version":1}`, []string{`has no "tools"`}},
		{"no digest", swap(`      "digest": "`+digestIn(t, good, "list_a")+"\",\n", ""), []string{"crm/list_a", `has no "digest"`}},
		{"another version", swap(`"version": 1`, `"version": 2`), []string{"line 2:", `"version": is 2`}},
		{"a version of the wrong type", swap(`"version": 1`, `"version": "1"`), []string{"line 2:", "version", "wrong type"}},
		{"a version that is not a whole number", swap(`"version": 1`, `"version": 1.5`), []string{"line 2:", "version", "wrong type"}},
		{"a version that is null", swap(`"version": 1`, `"version": null`), []string{"line 2:", `"version": is null`}},
		{"tools of the wrong type", `{"version":1,"tools":[]}`, []string{"tools must be an object"}},
		{"a tool of the wrong type", `{"version":1,"tools":{"crm/a":null}}`, []string{"a tool must be an object"}},
		{"a class of the wrong type", swap(`"class": "safe"`, `"class": true`), []string{"line 5:", `"crm/list_a": "class"`, "wrong type"}},
		{"an unknown class", swap(`"class": "safe"`, `"class": "harmless"`), []string{"line 5:", "crm/list_a", `"harmless"`}},
		{"a malformed digest", swap(digest, digest[:62]), []string{"line 17:", "crm/list_b", "64"}},
		{"a digest in capitals", swap(digest, strings.ToUpper(digest)), []string{"line 17:", "crm/list_b", "lower-case"}},
		{"a digest of something else", swap(digest, strings.Repeat("0", 64)), []string{"crm/list_b", "is not that of the definition"}},
		{"a definition that was edited", swap(`"Lists."`, `"Lists all."`), []string{"crm/list_a", "is not that of the definition"}},
		{"a definition of the wrong type", swap(blockB, `"crm/list_b": {"class": "safe", "digest": "`+digestOf(t, []byte("[]"))+`", "definition": []}`), []string{`"definition": is not an object`}},
		{"a definition that is null", swap(blockB, `"crm/list_b": {"class": "safe", "digest": "`+digestOf(t, []byte("null"))+`", "definition": null}`), []string{`"definition": is not an object`}},
		{"a definition of another tool", swap(`"crm/list_b"`, `"crm/list_c"`), []string{"crm/list_c", "another tool"}},
		{"a name without a server", swap(`"crm/list_b"`, `"list_b"`), []string{"line 25:", "list_b", "server/tool"}},
		{"a name without a slash", swap(`"crm/list_b"`, `"crm"`), []string{"line 25:", "server/tool"}},
		{"a malformed server name", swap(`"crm/list_b"`, `"c__rm/list_b"`), []string{"line 25:", "server/tool"}},
		{"a name that is a pattern", swap(`"crm/list_b"`, `"crm/*"`), []string{"line 25:", "server/tool"}},
		{"a name that moves the cursor", swap(`"crm/list_b"`, `"crm/\u001b[2J\u202e"`), []string{"line 25:", `\x1b`, `\u202e`}},
		{"ill-formed UTF-8 in a definition", swap(`"Lists."`, "\"Lists.\xff\""), []string{"line 8:", "not valid UTF-8"}},
		{"a lone surrogate", swap(`"Lists."`, `"Lists.\ud800"`), []string{"line 13:", `"crm/list_a": "definition"`}},
		{"a comma too many", swap("\n  }\n}", ",\n  }\n}"), []string{"not valid JSON"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.text == good {
				t.Fatal("the text is the good one")
			}
			l, err := pins.Parse([]byte(tt.text))
			if l != nil || err == nil {
				t.Fatalf("got %v and %v", l, err)
			}
			if !strings.HasPrefix(err.Error(), "pins: ") || len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\n\x1b\u202e") {
				t.Errorf("got %q, want one short line", err)
			}
			if missing := slices.IndexFunc(tt.want, func(w string) bool { return !strings.Contains(err.Error(), w) }); missing >= 0 {
				t.Errorf("got %q without %q", err, tt.want[missing])
			}
		})
	}
	t.Run("larger than any", func(t *testing.T) {
		if _, err := pins.Parse(bytes.Repeat([]byte(" "), 64<<20+1)); err == nil || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the order of tools and members is free", func(t *testing.T) {
		l, err := pins.Parse([]byte(`{"tools":{` + blockB + `},"version":1}`))
		if err != nil || !strings.Contains(good, lockText(t, l)[40:200]) {
			t.Errorf("got %v, %v", l, err)
		}
	})
}

// A lock that is read is written, and read again, unchanged. Nothing panics.
func FuzzParseLock(f *testing.F) {
	good := lockOf(f, listing(mcptest.Tool("list_a", "Lists."), mcptest.Tool("delete_b", "Zażółć \u202e.")))
	f.Add([]byte(good))
	f.Add([]byte(`{"version":1,"tools":{}}`))
	f.Add([]byte(`{"version":1,"tools":{"a/b":{"class":"safe","digest":"","definition":{}}}}`))
	f.Add([]byte(`{"version":1,"tools":{"a/b":{"definition":{"name":"b","name":"b"}}}}`))
	f.Add([]byte("{\"version\":1,\n\"tools\":[\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := pins.Parse(text)
		if err != nil {
			if l != nil || len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("got %v and %q", l, err)
			}
			return
		}
		once := lockText(t, l)
		again, err := pins.Parse([]byte(once))
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, once)
		}
		if twice := lockText(t, again); twice != once {
			t.Fatalf("got\n%s\nand then\n%s", once, twice)
		}
		c := pinnedBy(l)
		for _, change := range c.Changes() {
			t.Errorf("of no server: %v", change)
		}
	})
}

// A catalog sees what was accepted through another one once it is asked to look.
func TestLockOfTwoCatalogs(t *testing.T) {
	one := locked()
	other := pinnedBy(one.lock)
	for _, c := range []pinned{one, other} {
		add(t, c, "crm", listing(mcptest.Tool("list_a", "")))
	}
	accept(t, one)
	if got := other.List(); len(got) != 0 {
		t.Errorf("got %v before it was asked to look", got)
	}
	other.Recheck()
	lookup(t, other, "crm", "list_a")
}

func TestSaveReplacesTheWholeFileOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fairlead.lock")
	if _, err := pins.Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := pins.Load(path); err == nil || !strings.Contains(err.Error(), "fairlead.lock") || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("no lock: got %v", err)
	}
	if err := new(pins.Lock).Save(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got %v, %v: the mode is the owner's", info.Mode(), err)
	}
	if _, err := pins.Load(path); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	target := filepath.Join(dir, "directory")
	if err := os.MkdirAll(filepath.Join(target, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{target, filepath.Join(dir, "none", "fairlead.lock")} {
		if err := new(pins.Lock).Save(bad); err == nil || !strings.HasPrefix(err.Error(), "pins: the lock was not saved") {
			t.Errorf("got %v", err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind after a failure: %v, %v", entries, err)
	}
}

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "lock")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "fairlead.lock")
	_, err = pins.Load(path)
	fmt.Println(errors.Is(err, os.ErrNotExist))
	if err := new(pins.Lock).Save(path); err != nil {
		panic(err)
	}
	lock, err := pins.Load(path)
	fmt.Println(lock.Accepted("crm"), err)
	// Output:
	// true
	// [] <nil>
}

func ExampleParse() {
	_, err := pins.Parse([]byte("{\n  \"version\": 1,\n  \"trusted\": true\n}"))
	fmt.Println(err)
	// Output:
	// pins: the lock, line 3: "trusted": is an unknown key; the lock has version, tools; restore the file, or accept the tool again
}

func TestLockHoldsAcrossARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fairlead.lock")
	l := newLedger(mcptest.Tool("list_a", "Lists."), mcptest.Tool("delete_a", ""))
	first := locked()
	add(t, first, "srv", mcptest.Connect(t, l.server, nil))
	accept(t, first)
	if err := first.lock.Save(path); err != nil {
		t.Fatal(err)
	}
	start := func() pinned {
		lock, err := pins.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		c := pinnedBy(lock)
		add(t, c, "srv", mcptest.Connect(t, l.server, nil))
		return c
	}
	if got := start().Changes(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	l.set(mcptest.Tool("list_a", "Lists, while you sleep."))
	second := start()
	if got := change(t, second).String(); got != "srv/list_a: changed since it was accepted (description)" {
		t.Errorf("got %q", got)
	}
	accept(t, second)
	if got := len(start().Changes()); got != 1 {
		t.Errorf("what was accepted and not saved: got %d changes, want 1", got)
	}
	if err := second.lock.Save(path); err != nil {
		t.Fatal(err)
	}
	if got := start().Changes(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
