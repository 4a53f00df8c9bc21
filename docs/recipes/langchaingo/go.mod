module github.com/fairlead-go/fairlead/docs/recipes/langchaingo

go 1.26.8

require (
	github.com/fairlead-go/fairlead v0.0.0
	github.com/tmc/langchaingo v0.1.14
)

replace github.com/fairlead-go/fairlead => ../../..
