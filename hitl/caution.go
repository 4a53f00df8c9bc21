package hitl

import (
	"fmt"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/safetext"
)

// Caution says why the arguments may not run as they read, on one line that is safe to
// show, and "" where nothing is known against it: two members of one object whose names
// differ only in case are one to some servers, and a person reads the wrong one.
func (r Request) Caution() string {
	form, err := canonical.AppendObject(nil, r.Arguments)
	if err != nil {
		return "" // such arguments are not sent
	}
	one, other, found := canonical.Alike(form)
	if !found {
		return ""
	}
	const most = 80
	return fmt.Sprintf(`"%s" and "%s" differ only in case: the server may take one for the other`,
		safetext.Cut(safetext.Line(one), most), safetext.Cut(safetext.Line(other), most))
}
