package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the traces into the design note")

const begins, ends = "<!-- calltrace -->\n```text\n", "```\n<!-- /calltrace -->"

// The design note has the traces as they are, and each fact is computed once.
func TestTraces(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "computed: binding 1, form 1, lookup 2"); got != 2 {
		t.Errorf("%d of two calls compute each fact once:\n%s", got, &out)
	}
	path := filepath.Join("..", "..", "docs", "design", "0018-one-state-for-each-call.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begins)
	has, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		t.Fatal("the design note has no place for the traces")
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begins+strings.TrimSpace(out.String())+"\n"+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := strings.TrimSpace(out.String()) + "\n"; has != want {
		t.Errorf("the design note has other traces; go -C verify test ./calltrace -update writes these:\n%s", want)
	}
}
