package mount

import "github.com/fairlead-go/fairlead/annotation"

// DecodeAnswer reads an answer in one of the three forms.
func DecodeAnswer(name, tool string, raw []byte) (annotation.Annotations, error) {
	f := map[string]form{"annotations": annotates, "resolve": resolves, "extension": extensions}[name]
	return decodeAnswer(f, tool, raw)
}

// Mark returns a result as the prepared transport passes it on.
var Mark = mark

// MaxAnswer is how long an answer may be.
const MaxAnswer = maxAnswer
