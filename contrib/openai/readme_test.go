package openai_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/internal/docstest"
)

func TestReadme(t *testing.T) {
	t.Parallel()
	docstest.Tested(t, "README.md", "github.com/openai/openai-go/v3")
	docstest.Programs(t, func(string) bool { return false }, "README.md")
}
