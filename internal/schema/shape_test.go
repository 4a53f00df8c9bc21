package schema_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/internal/schema"
)

func TestNoShapeAllowsAll(t *testing.T) {
	t.Parallel()
	var s *schema.Shape
	if m, named := s.Lookup("a"); m != nil || !named || s.Item(0) != nil || s.Requires("a") || s.IsFixed() || !s.NeedsNothingBut("a") {
		t.Error("a nil shape has contents")
	}
	if got := s.Strip(map[string]any{"a": 1}, func([]string) {}); got != 0 {
		t.Errorf("%d members were stripped", got)
	}
}
