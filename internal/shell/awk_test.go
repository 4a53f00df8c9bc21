package shell

import "testing"

func TestSlashesInAwk(t *testing.T) {
	t.Parallel()
	for program, asks := range map[string]bool{
		`{ print ($1 + $2) / 2 }`:                      false,
		`{ x++ / 2 }`:                                  false,
		`$1 ~ /a\/b/ { print }`:                        false,
		`{ if (1) /"/; print > "x"; y = /"/ }`:         true,
		`{ x++ / 2; print > "y"; z = 1 / 3 }`:          true,
		`{ a[1] / 2; print > "y"; z = 1 / 3 }`:         true,
		`{ "a" / 2; print > "y"; z = 1 / 3 }`:          true,
		`/a/ / 2 { print > "y" } 1 / 3`:                true,
		`{ for (;;) /"/; print | "sh"; y = /"/ }`:      true,
		"{ print $1, \\\n > \"x\" }":                   true,
		"{ print $1,\n $2 > \"x\" }":                   true,
		`$1 > 5`:                                       false,
		`{ if ($1 > 5) print; else print $2 > $1 }`:    true,
		`{ print ($1 > 5) }`:                           false,
		`{ print($1) > "x" }`:                          true,
		`BEGIN { while (("ls" | getline l) > 0) n++ }`: true,
		`{ print $1 || $2 }`:                           false,
		"{ # > \"x\"\n print }":                        false,
		`{ print "a > b | c" }`:                        false,
		`{ print ENVIRON["X"] }`:                       true,
		`[`:                                            false,
		`)))`:                                          false,
		`"`:                                            true,
		`/`:                                            true,
		`{ printf "%s\n", $1 }`:                        false,
		`{ printf("%s\n", $1) >> "x" }`:                true,
		`@include "x"`:                                 true,
		`function f(a) { return a / 2 } { print f($1) }`:           false,
		`function f(a) { return /"/ } { print > "x" } END { /"/ }`: true,
	} {
		if why := awkFault(word{text: program}); (why != "") != asks {
			t.Errorf("%s: %q, asks is %v", program, why, asks)
		}
	}
}
