module github.com/fairlead-go/fairlead/docs/adapters

go 1.26.8

require github.com/fairlead-go/fairlead v0.0.0

replace github.com/fairlead-go/fairlead => ../..
