package catalog

import (
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/internal/meter"
)

// Statistics are the numbers of a catalogue at one moment.
type Statistics struct {
	Total      int                       // tools
	ByServer   map[string]int            // tools of each server
	ByCategory map[string]int            // tools of each category; those without one are left out
	BySafety   map[annotation.Safety]int // tools of each class
	// Calls are those of all tools, and ByTool those of each that was called, also if it is gone, by "server/tool".
	Calls  Calls
	ByTool map[string]Calls
}

// Calls are the attempts that reached a server: a call that is made three times counts three times,
// and one that was refused, answered from a cache or not sent does not count.
type Calls = meter.Calls

// Statistics counts the tools of the catalogue and what it saw of their calls.
func (c *Catalog) Statistics() Statistics {
	list := c.current.Load().list
	s := Statistics{
		Total:      len(list),
		ByServer:   make(map[string]int),
		ByCategory: make(map[string]int),
		BySafety:   make(map[annotation.Safety]int),
		ByTool:     c.meter.Read(),
	}
	for _, t := range list {
		s.ByServer[t.Server]++
		s.ByCategory[t.Annotations.Category]++
		s.BySafety[t.Safety()]++
	}
	delete(s.ByCategory, "")
	for _, calls := range s.ByTool {
		s.Calls.Add(calls)
	}
	return s
}
