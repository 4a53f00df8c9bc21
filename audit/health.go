package audit

import (
	"errors"

	"github.com/fairlead-go/fairlead/internal/logfile"
)

// Healthy returns the error that the next record would meet, nil if the file can take one: it reads the records that
// other processes have appended, and looks whether the file and its head are those that were opened. It writes nothing,
// so that it does not notice a full disk.
func (f *File) Healthy() error {
	return f.locked(func() error { return errors.Join(logfile.Present(f.in), logfile.Present(f.heads)) })
}
