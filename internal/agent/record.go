package agent

import (
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/chain"
)

// record has every call written into a file, where --audit names one.
func (h *host) record(s *chain.Standard) error {
	if h.audit == "" {
		return nil
	}
	file, err := audit.OpenFile(h.audit, nil)
	if err != nil {
		return fmt.Errorf("--audit %s: %w; name a file in a folder that is there", h.audit, err)
	}
	trail := audit.New(file, audit.Options{})
	s.Audit = trail
	h.endRecord = func() error {
		if lost := trail.Lost(); lost > 0 {
			return errors.Join(fmt.Errorf("%d records are not in %s; see whether its disk is full", lost, h.audit), file.Close())
		}
		return file.Close()
	}
	for _, r := range file.Interrupted() {
		h.interrupted = append(h.interrupted, fmt.Sprintf("%s: a run before this one ended in the middle of %s/%s; look whether it happened", h.audit, r.Server, r.Tool))
	}
	return nil
}
