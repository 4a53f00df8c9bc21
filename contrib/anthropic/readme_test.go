package anthropic_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/internal/docstest"
)

func TestReadme(t *testing.T) {
	t.Parallel()
	docstest.Tested(t, "README.md", "github.com/anthropics/anthropic-sdk-go")
	docstest.Programs(t, func(string) bool { return false }, "README.md")
}
