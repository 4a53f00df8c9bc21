module github.com/fairlead-go/fairlead/docs/recipes/genai

go 1.26.8

require (
	github.com/fairlead-go/fairlead v0.0.0
	google.golang.org/genai v1.77.0
)

replace github.com/fairlead-go/fairlead => ../../..
