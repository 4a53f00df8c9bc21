package sqlprobe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/contrib/sqlprobe"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/preflight/probe"
)

// The reader of any dialect and the grammar of the database agree on the texts of its manual, or the stricter counts: a
// text that only one of them calls a read is one, and none that does more passes either.
func TestAgreesWithTheReaderOfAnyDialect(t *testing.T) {
	t.Parallel()
	for file, grammar := range map[string]preflight.Probe{"postgresql": sqlprobe.PostgreSQL, "mysql": sqlprobe.MySQL} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join("..", "..", "internal", "probes", "testdata", "sql", file+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			both, reads, neither, writes := 0, 0, 0, 0
			for line := range strings.Lines(string(raw)) {
				label, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
				text = strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(text)
				general, own := probe.SQL(text), grammar(text)
				generalReads, ownReads := general.Annotations.Safety() == annotation.Safe, own.Annotations.Safety() == annotation.Safe
				switch label {
				case "r":
					reads++
					if generalReads && ownReads {
						both++
					} else if generalReads != ownReads {
						t.Logf("%s: any dialect: %s, its own: %s", text, general.Why, own.Why)
					}
				case "w":
					writes++
					if generalReads || ownReads {
						t.Errorf("%s: any dialect reads %v (%s), its own %v (%s)", text, generalReads, general.Why, ownReads, own.Why)
					} else {
						neither++
					}
				}
			}
			t.Logf("both call %d of %d reads one, and neither %d of %d writes", both, reads, neither, writes)
			if 10*both < 6*reads || writes == 0 {
				t.Errorf("they agree on %d of %d reads", both, reads)
			}
		})
	}
}
