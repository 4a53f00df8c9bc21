// Package childenv is the environment of servers that are started here: this process's, without the keys that are
// Fairlead's own. Whoever has them seals approvals, signs notifications, or pays for a model.
package childenv

import (
	"os"
	"slices"
	"strings"
)

// own are the variables with Fairlead's keys.
var own = []string{"FAIRLEAD_STORE_KEY", "FAIRLEAD_STORE_NAME_KEY", "FAIRLEAD_WEBHOOK_KEY", "FAIRLEAD_JUDGE_KEY"}

// Own reports whether a variable is Fairlead's own, which no server gets.
func Own(name string) bool { return slices.Contains(own, strings.ToUpper(name)) }

// Environ returns the environment for a server, each variable as "NAME=value".
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return Own(name)
	})
}
