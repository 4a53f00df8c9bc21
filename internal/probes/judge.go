package probes

import "github.com/fairlead-go/fairlead/annotation"

// Judge is the [annotation.Judge] of conditions for which the host has set nothing. A language that it does not know and
// a text that is not certain to read are not Safe.
//
// There is no "http": a server may act on any GET, PUT would count as moderate, and both reach any address.
func Judge(language, text string) (class annotation.Safety, why string) {
	if language != Known {
		return annotation.Unknown, ""
	}
	v := SQL(text)
	return v.Annotations.Safety(), v.Why
}

// Known is the language that Judge knows.
const Known = "sql"
