package canonical_test

import (
	"encoding/json"
	"testing"

	"github.com/fairlead-go/fairlead/internal/canonical"
)

const arguments = `{"path":"/home/user/notes.txt","query":"caf\u00e9","limit":100,"filters":{"status":"active","since":"2026-01-01","tags":["a","b"]},"cursor":null,"recursive":true,"depth":3,"order":"name","format":"json"}`

func TestAppendAllocatesNothing(t *testing.T) { // not parallel: it counts allocations
	src := []byte(arguments)
	dst := make([]byte, 0, 4*len(src))
	if _, err := canonical.AppendObject(dst, src); err != nil {
		t.Fatal(err)
	}
	if raced {
		t.Skip("under the race detector a pool drops what it is given")
	}
	if n := testing.AllocsPerRun(200, func() { _, _ = canonical.AppendObject(dst, src) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	src := []byte(arguments)
	dst := make([]byte, 0, 4*len(src))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canonical.AppendObject(dst, src); err != nil {
			b.Fatal(err)
		}
	}
}

// For comparison: the standard library's look at the same text.
func BenchmarkValid(b *testing.B) {
	src := []byte(arguments)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if !json.Valid(src) {
			b.Fatal("not valid")
		}
	}
}
