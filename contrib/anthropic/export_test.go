package anthropic

import (
	"github.com/anthropics/anthropic-sdk-go"
	"github.com/fairlead-go/fairlead/chain/batch"
)

// ToolsFor returns the tools of a runner; last returns its last message.
func ToolsFor(host *batch.Host, last func() *anthropic.BetaMessage) ([]anthropic.BetaTool, error) {
	t, tools, err := turnsOf(host)
	if err == nil {
		t.last = last
	}
	return tools, err
}
