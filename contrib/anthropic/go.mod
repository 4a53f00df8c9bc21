module github.com/fairlead-go/fairlead/contrib/anthropic

go 1.26.8

require (
	github.com/anthropics/anthropic-sdk-go v1.84.0
	github.com/fairlead-go/fairlead v0.0.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
)

replace github.com/fairlead-go/fairlead => ../..
