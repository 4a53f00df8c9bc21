package command

import _ "github.com/fairlead-go/fairlead/contrib/otel"
