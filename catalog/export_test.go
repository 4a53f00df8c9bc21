package catalog

import (
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// Reviewed sets what is known of the tools of public servers.
func Reviewed(c *Catalog, of func(*middleware.Tool) annotation.Annotations) { c.reviewed = of }

// LimitEvents sets how many events may wait for the listener.
func LimitEvents(c *Catalog, most int) { c.events.most = most }
