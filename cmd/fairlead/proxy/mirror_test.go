package proxy_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

func TestHeaderOfAnArgument(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{
		`9007199254740993`: "9007199254740993", `-7`: "-7", `1e2`: "100", `2.0`: "2", `1.5`: "", `[1]`: "", `{}`: "",
		`true`: "true", `"<b>"`: "<b>", `" a"`: "=?base64?IGE=?=", `"é"`: "=?base64?w6k=?=",
	} {
		if got, ok := proxy.HeaderValue(argument); ok != (want != "") || ok && got != want {
			t.Errorf("the header of %s is %q, %t; want %q", argument, got, ok, want)
		}
	}
}
