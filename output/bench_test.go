package output_test

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// large is an answer of about that many megabytes, as structured content and as its
// text: rows, or one row.
func large(tb testing.TB, megabytes int, oneRow bool) *mcp.CallToolResult {
	tb.Helper()
	all := rows(megabytes*1000, 800)
	if oneRow {
		all = rows(1, megabytes*800_000)
	}
	return structured(tb, map[string]any{"data": all, "meta": map[string]any{"cursor": nil}})
}

const largeSchema = `{"type":"object","properties":{"data":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"},"notes":{"type":"string"}}}},"meta":{"type":"object"}}}`

func cutter(tb testing.TB) (func(next middleware.ToolCaller) middleware.ToolCaller, middleware.Call) {
	tb.Helper()
	m := output.New(output.Options{Paging: map[string]output.Paging{"crm/list": {Rows: "/data", Next: "/meta/cursor", Cursor: "cursor"}}})
	return m, middleware.Call{Tool: listing(tb, largeSchema, annotation.ReadOnly())}
}

func BenchmarkCut(b *testing.B) {
	for _, megabytes := range []int{1, 10} {
		for _, oneRow := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dMB/one row %v", megabytes, oneRow), func(b *testing.B) {
				res := large(b, megabytes, oneRow)
				m, call := cutter(b)
				caller := m(answering(res))
				b.SetBytes(int64(megabytes) << 20)
				b.ReportAllocs()
				for b.Loop() {
					ask(b, caller, call)
				}
			})
		}
	}
}

func BenchmarkUntouched(b *testing.B) {
	caller := output.New(output.Options{})(answering(&mcp.CallToolResult{Content: []mcp.Content{content("done")}}))
	call := middleware.Call{Tool: listing(b, "", annotation.ReadOnly())}
	b.ReportAllocs()
	for b.Loop() {
		ask(b, caller, call)
	}
}

func BenchmarkSanitize(b *testing.B) {
	caller := output.New(output.Options{})(answering(structured(b, map[string]any{"data": rows(10, 100), "meta": json.RawMessage(`{}`)})))
	call := middleware.Call{Tool: listing(b, largeSchema, annotation.ReadOnly())}
	b.ReportAllocs()
	for b.Loop() {
		ask(b, caller, call)
	}
}

// Ten times the answer costs about ten times as much: nothing is looked at again for
// each row that is cut.
func TestCostOfACutIsLinear(t *testing.T) {
	longtest.Skip(t) // it cuts 10 MB several times
	for _, oneRow := range []bool{false, true} {
		cost := func(megabytes int) (once func() (bytes, nanoseconds float64)) {
			res := large(t, megabytes, oneRow)
			m, call := cutter(t)
			caller := m(answering(res))
			return func() (bytes, nanoseconds float64) {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				start := time.Now()
				ask(t, caller, call)
				nanoseconds = float64(time.Since(start))
				runtime.ReadMemStats(&after)
				return float64(after.TotalAlloc - before.TotalAlloc), nanoseconds
			}
		}
		one, ten := cost(1), cost(10)
		nanoseconds, moreNanoseconds := math.Inf(1), math.Inf(1)
		var bytes, moreBytes float64
		// The least of three, or of more if the machine is busy.
		for try := 0; try < 3 || try < 30 && moreNanoseconds > 60*nanoseconds; try++ {
			var took, tookMore float64
			bytes, took = one()
			moreBytes, tookMore = ten()
			nanoseconds, moreNanoseconds = min(nanoseconds, took), min(moreNanoseconds, tookMore)
		}
		t.Logf("one row %v: 10 MB costs %.1f times the memory and %.1f times the time of 1 MB", oneRow, moreBytes/bytes, moreNanoseconds/nanoseconds)
		if moreBytes > 20*bytes {
			t.Errorf("one row %v: %.0f bytes for 1 MB, %.0f for 10 MB", oneRow, bytes, moreBytes)
		}
		if moreNanoseconds > 60*nanoseconds { // quadratic were 100, and other programs run too
			t.Errorf("one row %v: %.0f ns for 1 MB, %.0f for 10 MB", oneRow, nanoseconds, moreNanoseconds)
		}
	}
}
