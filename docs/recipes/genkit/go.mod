module github.com/fairlead-go/fairlead/docs/recipes/genkit

go 1.26.8

require (
	github.com/fairlead-go/fairlead v0.0.0
	github.com/firebase/genkit/go v1.4.0
)

replace github.com/fairlead-go/fairlead => ../../..
