package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/forward"
	"github.com/fairlead-go/fairlead/cmd/fairlead/health"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdk "go.opentelemetry.io/otel/sdk/log"
)

// The places beside the audit file that get a copy of each record, as /readyz, the log and the metrics name them.
const (
	depSyslog = "syslog"
	depLogs   = "otlp-logs"

	withoutCopies = "nothing is refused; copies of records wait in memory, and those beyond 16 MB are lost; the file has them"
)

// logsVariable turns the export of records on. An endpoint for all signals does not, since records have the arguments of
// calls.
const logsVariable = "OTEL_LOGS_EXPORTER"

// lastCopies is how long copies are sent at the end.
const lastCopies = 5 * time.Second

// forwardRecords has copies of the records sent to the places that the flags and the environment name. It comes after the
// file, which decides.
func (r *proxyRun) forwardRecords(ctx context.Context) error {
	r.ends = append(r.ends, r.endForwarding)
	logs, err := logExporter(ctx, r.listen == "")
	switch {
	case err != nil:
		return err
	case r.recorded == nil && r.syslog != "":
		return errors.New("--syslog gets copies of the record; name its file by --audit FILE")
	case r.recorded == nil && logs != nil:
		r.log.WarnContext(ctx, logsVariable+" exports copies of the record, and there is none; name its file by --audit FILE")
		return nil
	}
	if logs != nil {
		about, err := exported(ctx)
		if err != nil {
			return err
		}
		r.forwardTo(depLogs, forward.OTLP(logs, about))
	}
	if r.syslog != "" {
		place, err := forward.Syslog(r.syslog)
		if err != nil {
			return fmt.Errorf("--syslog: %w", err)
		}
		r.forwardTo(depSyslog, place)
	}
	if len(r.forwarded) > 0 {
		r.options.Audit = copying{r.options.Audit, r.forwarded}
	}
	return nil
}

func (r *proxyRun) forwardTo(name string, place forward.Place) {
	r.health.Add(health.Dependency{Name: name, Refused: withoutCopies})
	q := forward.New(name, place, r.log, func(ctx context.Context, err error) { r.health.Report(ctx, name, err) })
	r.forwarded = append(r.forwarded, q)
}

// endForwarding sends what waits, for a while.
func (r *proxyRun) endForwarding() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastCopies)
	defer cancel()
	var ending sync.WaitGroup
	for _, q := range r.forwarded {
		ending.Go(func() { _ = q.Close(ctx) }) // what it could not send is in the log
	}
	ending.Wait()
	return nil
}

// logExporter returns the exporter of records, nil unless the environment names one.
func logExporter(ctx context.Context, stdio bool) (sdk.Exporter, error) {
	switch name := os.Getenv(logsVariable); {
	case name == "" || name == "none":
		return nil, nil //nolint:nilnil // none is an answer
	default:
		return exporter(ctx, "LOGS", stdio, autoexport.NewLogExporter)
	}
}

// A copying sink adds each record to queues. The call does not depend on the copies.
type copying struct {
	audit.Sink

	to []*forward.Queue
}

func (s copying) Write(ctx context.Context, one audit.Record) error {
	for _, q := range s.to {
		q.Add(one)
	}
	return s.Sink.Write(ctx, one)
}
