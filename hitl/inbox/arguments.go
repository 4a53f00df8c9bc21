package inbox

import (
	"bytes"
	"encoding/json"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// editable is the arguments as JSON in which everything can be seen: what would be
// invisible is written as JSON writes it, so that the meaning stays.
func editable(arguments json.RawMessage) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, bytes.TrimSpace(arguments), "", "  ") != nil { // it keeps white space at the end
		return "{}"
	}
	return safetext.JSON(pretty.String())
}
