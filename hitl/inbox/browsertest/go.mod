module github.com/fairlead-go/fairlead/hitl/inbox/browsertest

go 1.26.8

replace github.com/fairlead-go/fairlead => ../../..

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/fairlead-go/fairlead v0.0.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
)

require (
	github.com/fairlead-go/fairlead/cmd/fairlead v0.0.0
	github.com/go-json-experiment/json v0.0.0-20260214004413-d219187c3433 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/fairlead-go/fairlead/cmd/fairlead => ../../../cmd/fairlead

replace github.com/fairlead-go/fairlead/contrib/otel => ../../../contrib/otel

replace github.com/fairlead-go/fairlead/contrib/redis => ../../../contrib/redis
