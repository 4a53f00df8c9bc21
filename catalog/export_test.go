package catalog

// LimitEvents sets how many events may wait for the listener.
func LimitEvents(c *Catalog, most int) { c.events.most = most }
