package anthropic

import (
	"github.com/anthropics/anthropic-sdk-go"
	"github.com/fairlead-go/fairlead/batch"
)

// ToolsFor returns the tools of a runner whose last message is what last returns.
func ToolsFor(host *batch.Host, last func() *anthropic.BetaMessage) ([]anthropic.BetaTool, error) {
	return (&turns{host: host, last: last}).tools()
}
