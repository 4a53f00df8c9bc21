package reading_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/flow/internal/reading"
)

// A text is read once, when the first value is looked for in it that stands nowhere.
func BenchmarkRead(b *testing.B) {
	raw := strings.Repeat(`{"id":4711,"title":"Quarterly report for the board","note":"Please review the attached document before Friday"}`+"\n", 500)
	b.SetBytes(int64(len(raw)))
	now := time.Now()
	for b.Loop() {
		text := reading.New(raw)
		text.Numbers()
		text.Dates(now)
		text.Said()
	}
}
