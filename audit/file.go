package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/logfile"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// File is a sink in a file of JSON Lines, one record a line, each with the hash of the one before it. Beside
// it, NAME.head records how far it goes. [Verify] reads both.
//
// A durable record (the intent of a dangerous call or of one that is recorded in full, and their ends) is on
// the disk when Write returns; concurrent ones share one sync. Any other is with the operating system: it
// outlives the process, and perhaps not a loss of power, which the head then shows.
//
// The file only grows, and is read whole when it is opened; rotate it by starting a new one.
// Several processes may write to it: each record is appended under a lock, after those of the
// others. Write returns an error after the file or its head was removed or replaced.
type File struct {
	log         *logfile.File
	in          *os.File // the same, to read what others append
	interrupted []Record
	inDoubt     []Record

	syncing sync.Mutex // held for a sync; taken before mu

	mu    sync.Mutex
	heads *os.File // locked by every writer, shared, as long as it is at work
	head  disk     // through which it is written
	at    logfile.Head
	chain *replay
}

type disk interface {
	logfile.Disk
	io.WriterAt
}

// OpenFile opens the file, and makes it and its head if neither is there.
//
// It repairs the damage of a process that ended or of a power loss, and adds a record of that: a last line
// that was cut off stays in place, named with its hash. Intents without an end are closed as Unknown, and
// logged at level Warn (nil is silent), unless another process has the file open, which may still make those
// calls; see [File.Interrupted]. Other damage, such as a changed record, a missing end or a missing head, is
// an error: keep both files as they are, and start a new one.
func OpenFile(name string, logger *slog.Logger) (*File, error) {
	return openFile(name, logger, func(f *os.File) disk { return f })
}

func openFile(name string, logger *slog.Logger, through func(*os.File) disk) (*File, error) {
	log, in, err := logfile.Share(name, func(f *os.File) logfile.Disk { return through(f) })
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	f := &File{log: log, in: in}
	if err := f.open(logger, through); err != nil {
		if f.heads != nil {
			_ = f.heads.Close()
		}
		return nil, errors.Join(fmt.Errorf("audit: %s: %w", name, err), log.Close())
	}
	return f, nil
}

func (f *File) open(logger *slog.Logger, through func(*os.File) disk) error {
	release, err := f.log.Hold()
	if err != nil {
		return err
	}
	defer release()
	found, err := logfile.HeadOf(f.in)
	switch {
	case errors.Is(err, logfile.ErrHead) || errors.Is(err, logfile.ErrNoHead):
		return damaged(err.Error())
	case err != nil:
		return err
	}
	if f.heads, err = os.OpenFile(logfile.HeadName(f.in.Name()), os.O_RDWR, 0o600); err != nil {
		return err
	}
	f.head = through(f.heads)
	alone := logfile.TryLock(f.heads, true) == nil
	if err := f.resume(found, alone, logger); err != nil {
		return err
	}
	if alone {
		_ = logfile.Unlock(f.heads)
	}
	return logfile.TryLock(f.heads, false)
}

// Interrupted returns the intents that had no end when the file was opened and no other process
// had it open. It is unknown whether these calls happened.
func (f *File) Interrupted() []Record { return slices.Clone(f.interrupted) }

// InDoubt returns the intents of the calls with an unknown outcome that were not settled when the file was
// opened: those that ended as Unknown, and all that had no end. The latter may be in flight in another process
// that has the file open. They are for the ledger of package doubt.
func (f *File) InDoubt() []Record { return slices.Clone(f.inDoubt) }

func (f *File) Write(_ context.Context, r Record) error {
	if r.Kind != Intent && r.Kind != End {
		return fmt.Errorf("audit: a sink does not accept records of kind %q", r.Kind)
	}
	var seq int64
	err := f.locked(func() (err error) {
		seq, err = f.put("", line{Record: r})
		return err
	})
	if err == nil && r.Durable {
		err = f.sync(seq)
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// locked calls do under the lock of all writers, after reading the records of others.
func (f *File) locked(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.log.Err(); err != nil {
		return err
	}
	release, err := f.log.Hold()
	if err != nil {
		return err
	}
	defer release()
	if err := f.catchUp(); err != nil {
		return err
	}
	return do()
}

func (f *File) catchUp() error {
	info, err := f.in.Stat()
	if err != nil {
		return err
	}
	from := f.chain.size()
	switch {
	case info.Size() == from:
		return nil
	case info.Size() < from:
		return f.log.Break(damaged("its end is missing"))
	}
	if err := f.chain.read(io.NewSectionReader(f.in, from, info.Size()-from)); err != nil {
		return err
	}
	if f.chain.fault != "" {
		return f.log.Break(damaged(f.chain.fault))
	}
	h, err := logfile.ReadHead(f.in.Name())
	if err != nil {
		return err
	}
	if h != nil && h.Synced.Records > f.at.Synced.Records {
		f.at.Synced = h.Synced
	}
	f.at.Written = f.chain.point()
	if err := f.log.Resume(f.chain.size(), false); err != nil {
		return err
	}
	return f.mark(0, 0)
}

// put writes one line, after ending a torn one, and then the head. The caller holds the lock of all writers.
func (f *File) put(before string, l line) (int64, error) {
	l.Time = l.Time.UTC()
	l.Seq, l.Prev = f.chain.records+1, string(f.chain.hash)
	text, err := json.Marshal(l)
	if err == nil {
		err = logfile.Present(f.heads)
	}
	if err == nil {
		err = f.log.Append(append(append([]byte(before), text...), '\n'))
	}
	if err != nil {
		return 0, err
	}
	f.chain.accept(text, &l)
	f.at.Written = f.chain.point()
	return l.Seq, f.writeHead()
}

func (f *File) writeHead() error {
	_, err := f.head.WriteAt(f.at.Bytes(), 0)
	return f.headFailed(err)
}

func (f *File) headFailed(err error) error {
	if err == nil {
		return nil
	}
	return f.log.Break(fmt.Errorf("the head cannot be written; open the file again: %w", err))
}

// all is more records than any file has.
const all = math.MaxInt64

// sync returns when the record and all before it are on the disk, the records before the
// head. A caller that has waited for another's sync mostly finds its record synced.
func (f *File) sync(seq int64) error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	f.mu.Lock()
	to, done := f.at.Written, f.at.Synced.Records >= seq
	f.mu.Unlock()
	if done && f.log.Err() == nil {
		return nil
	}
	if err := f.log.Sync(); err != nil {
		return err
	}
	err := f.locked(func() error {
		if f.at.Synced.Records < to.Records {
			f.at.Synced = to
		}
		return f.writeHead()
	})
	if err != nil {
		return err
	}
	return f.headFailed(f.head.Sync())
}

// Close syncs what was written.
func (f *File) Close() error {
	closed := errors.Is(f.log.Err(), logfile.ErrClosed)
	var err error
	if f.log.Err() == nil {
		err = f.sync(all)
	}
	if err = errors.Join(err, f.log.Close()); !closed {
		err = errors.Join(err, f.heads.Close())
	}
	return err
}

// resume continues after the last writer. If no other has the file open, it ends the open intents.
func (f *File) resume(h *logfile.Head, alone bool, logger *slog.Logger) error {
	r, err := replayed(f.in, h.Synced.Records, h.Written.Records)
	if err != nil {
		return err
	}
	fault, lost := disagrees(h, r)
	if fault != "" {
		return damaged(fault)
	}
	if err := f.log.Resume(r.size(), false); err != nil {
		return err
	}
	f.chain, f.at = r, logfile.Head{Written: r.point(), Synced: h.Synced}
	open := r.interrupted()
	if alone {
		f.interrupted = open
	}
	f.inDoubt = slices.Concat(r.inDoubt, open)
	r.open, r.spare, r.inDoubt = nil, nil, nil
	if err := f.mark(lost, max(0, r.records-h.Written.Records)); err != nil {
		return err
	}
	if err := f.endWhatWasOpen(logger); err != nil {
		return err
	}
	if err := f.log.Sync(); err != nil {
		return err
	}
	f.at.Synced = f.at.Written
	return errors.Join(f.writeHead(), f.headFailed(f.head.Sync()))
}

func (f *File) mark(lost, unattested int64) error {
	r := f.chain
	if r.junk.Len() == 0 && lost == 0 && unattested == 0 {
		return nil
	}
	before, left := "", &found{Lost: lost, Unattested: unattested}
	if n := r.junk.Len(); n > 0 {
		before = torn
		r.junk.WriteString(torn)
		left.Bytes, left.SHA256 = int64(r.junk.Len()), hashOf(r.junk.Bytes())
		defer func() {
			if r.junk.Len() > 0 { // it was not written
				r.junk.Truncate(n)
			}
		}()
	}
	_, err := f.put(before, line{Record: Record{Time: time.Now(), Kind: Recovered}, Found: left})
	return err
}

func (f *File) endWhatWasOpen(logger *slog.Logger) error {
	for _, intent := range f.interrupted {
		end := intent
		end.Time, end.Kind, end.Outcome = time.Now(), End, Unknown
		end.Arguments, end.ArgumentsDigest, end.Decisions, end.Evidence = nil, "", nil, nil
		end.Error = "audit: the process ended before the call did"
		if _, err := f.put("", line{Record: end}); err != nil {
			return err
		}
		if logger != nil {
			logger.Warn("audit: the outcome of a call is unknown, since the process ended before it", slog.String("call", intent.Call),
				slog.String("tool", intent.Server+"/"+intent.Tool), slog.String("scope", intent.Scope), slog.String("class", intent.Class),
				slog.Time("at", intent.Time), slog.String("so", "look whether it happened before it is done again"))
		}
	}
	return nil
}

// ErrDamaged is in the tree of the error about a file that differs from what was written.
var ErrDamaged = errors.New("it was changed or is incomplete")

func damaged(how string) error {
	return fmt.Errorf("%w: %s; keep it and its head as they are, and start a new file", ErrDamaged, how)
}

// A line is one record in a file: with its number, and with the hash of the line before it, so
// that none can be changed, moved or removed unnoticed.
type line struct {
	Seq  int64  `json:"seq"`
	Prev string `json:"prev"`
	Record

	Found *found `json:"found,omitempty"` // of a recovered record
}

type found struct {
	Bytes      int64  `json:"bytes"`                // right before this line, that are not a record
	SHA256     string `json:"sha256,omitempty"`     // of these
	Lost       int64  `json:"lost,omitempty"`       // records that had not reached the disk
	Unattested int64  `json:"unattested,omitempty"` // records that were not in the head yet
}

// torn ends a line that was cut off, and makes no record of it.
const torn = " torn\n"

func hashOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

type callID struct {
	run string
	n   int64
}

// A begun is an intent, in its line, and its number.
type begun struct {
	record int64
	line   []byte
}

// A replay is the state of a file, read from its beginning.
type replay struct {
	records   int64
	hash      []byte           // of the last one, in the form that the next has it
	bytes     int64            // up to the end of the last record
	junk      bytes.Buffer     // bytes after the last record
	open      map[callID]begun // intents without an end; nil once it is not needed
	spare     []byte           // the line of an intent that has ended, to be used again
	inDoubt   []Record         // the intents of calls that ended as Unknown, and that nothing has settled
	start     []byte           // of the next record
	short     line             // the skimmed part of a line
	skimmed   []byte           // the last line, unless it was decoded
	recovered int64
	passed    map[int64]string // the hashes at the counts that were asked for
	fault     string           // damage that a crash cannot cause
}

// replayed reads a file, and keeps the hashes after the given numbers of records.
func replayed(in io.Reader, counts ...int64) (*replay, error) {
	r := &replay{open: make(map[callID]begun), passed: make(map[int64]string)}
	for _, n := range counts {
		r.passed[n] = ""
	}
	return r, r.read(in)
}

func (r *replay) read(in io.Reader) error {
	for text, err := range logfile.Lines(in) {
		if err != nil {
			return err
		}
		if r.fault == "" {
			r.take(text)
		}
	}
	if len(r.skimmed) > 0 && !json.Valid(r.skimmed) { // no later record has its hash
		r.fault = fmt.Sprintf("record %d is not JSON: it was changed", r.records)
	}
	r.skimmed = r.skimmed[:0]
	return nil
}

// take reads one line, with its end if it has one.
func (r *replay) take(text []byte) {
	body, whole := bytes.CutSuffix(text, []byte("\n"))
	r.skimmed = r.skimmed[:0]
	if whole && r.skim(body) {
		r.skimmed = append(r.skimmed, body...)
		r.accept(body, &r.short)
		return
	}
	var l line
	if whole && json.Unmarshal(body, &l) == nil && l.Seq == r.records+1 && l.Prev == string(r.hash) && r.explains(&l) {
		r.accept(body, &l)
		return
	}
	if whole && !bytes.HasSuffix(text, []byte(torn)) {
		r.fault = fmt.Sprintf("what follows record %d does not belong there: a record was changed, taken out or put in", r.records)
		return
	}
	r.junk.Write(text)
}

// skim reads the kind and the call of a line that is written as [File] writes it, follows the
// last record and needs no more. It reports false for every other line, which is decoded:
// decoding takes twenty times as long. The next hash covers the unread rest.
func (r *replay) skim(body []byte) bool {
	r.start = append(strconv.AppendInt(append(r.start[:0], `{"seq":`...), r.records+1, 10), `,"prev":"`...)
	r.start = append(append(r.start, r.hash...), `","time":"`...)
	body, follows := bytes.CutPrefix(body, r.start)
	if !follows || r.junk.Len() > 0 || !bytes.HasSuffix(body, []byte("}")) {
		return false
	}
	_, body, _ = bytes.Cut(body, []byte(`"`)) // the time
	kind, body := member(body, `,"kind":"`, '"')
	run, body := member(body, `,"run":"`, '"')
	n, body := member(body, `,"n":`, ',')
	if string(run) != r.short.Run {
		r.short.Run = string(run) // most lines have that of the line before
	}
	r.short.N, _ = strconv.ParseInt(string(n), 10, 64)
	if r.short.N <= 0 || bytes.IndexByte(run, '\\') >= 0 || bytes.HasSuffix(body, []byte("}}")) && bytes.Contains(body, []byte(`"found":`)) {
		return false
	}
	switch string(kind) {
	case string(Intent):
		r.short.Kind = Intent
		return true
	case string(End):
		r.short.Kind = End
		_, body, ended := bytes.Cut(body, []byte(`outcome":"`))
		return ended && !bytes.HasPrefix(body, []byte(Unknown)) && !bytes.Contains(body, []byte(`doubt"`))
	}
	return false
}

// member returns the value that follows, up to its end, and what comes after it; nil if something else follows.
func member(body []byte, name string, end byte) (value, rest []byte) {
	if at := bytes.IndexByte(body[min(len(name), len(body)):], end); at >= 0 && string(body[:len(name)]) == name {
		return body[len(name) : len(name)+at], body[len(name)+at+1:]
	}
	return nil, nil
}

func (r *replay) explains(l *line) bool {
	if (l.Kind == Recovered) != (l.Found != nil) {
		return false
	}
	if l.Found == nil {
		return r.junk.Len() == 0
	}
	return l.Found.Bytes == int64(r.junk.Len()) && (r.junk.Len() == 0 || l.Found.SHA256 == hashOf(r.junk.Bytes()))
}

func (r *replay) point() logfile.Point {
	return logfile.Point{Records: r.records, Hash: string(r.hash)}
}

func (r *replay) size() int64 { return r.bytes + int64(r.junk.Len()) }

func (r *replay) accept(body []byte, l *line) {
	r.bytes = r.size() + int64(len(body)) + 1
	r.junk.Reset()
	sum := sha256.Sum256(body)
	r.records, r.hash = r.records+1, hex.AppendEncode(r.hash[:0], sum[:])
	if _, asked := r.passed[r.records]; asked {
		r.passed[r.records] = string(r.hash)
	}
	if r.open == nil {
		return
	}
	id := callID{l.Run, l.N}
	switch l.Kind {
	case Intent:
		r.open[id] = begun{r.records, append(r.spare[:0], body...)}
		r.spare = nil
	case End:
		b, open := r.open[id]
		if l.Outcome != "" { // decoded
			intent := l.Record
			if open {
				intent = r.decode(b)
			}
			r.settle(&l.Record, intent.Arguments)
			if l.Outcome == Unknown {
				r.inDoubt = append(r.inDoubt, intent)
			}
		}
		if open {
			r.spare = b.line
			delete(r.open, id)
		}
	case Recovered:
		r.recovered++
	}
}

func (r *replay) decode(b begun) Record {
	var l line
	if err := json.Unmarshal(b.line, &l); err != nil {
		r.fault = fmt.Sprintf("record %d is not JSON: it was changed", b.record)
	}
	return l.Record
}

// settle removes the calls that package doubt's decisions in a record have settled: those of
// the same tool with the same arguments.
func (r *replay) settle(end *Record, arguments []byte) {
	if slices.ContainsFunc(end.Decisions, func(d Decision) bool { return d.Stage == "doubt" && strings.HasPrefix(d.What, "settled") }) {
		r.inDoubt = slices.DeleteFunc(r.inDoubt, func(c Record) bool {
			return c.Scope == end.Scope && c.Server == end.Server && c.Tool == end.Tool && bytes.Equal(c.Arguments, arguments)
		})
	}
}

func (r *replay) interrupted() (all []Record) {
	for _, b := range slices.SortedFunc(maps.Values(r.open), func(a, b begun) int { return cmp.Compare(a.record, b.record) }) {
		all = append(all, r.decode(b))
	}
	return all
}

// A State is the state of a file. The zero value is Damaged.
type State uint8

// The states of a file.
const (
	Damaged     State = iota // something was changed or is missing
	NotAttested              // the records are one chain, but without a head the end may be missing
	Interrupted              // a writer was interrupted, or is at work; opening the file repairs and marks it
	Whole                    // every record is there, up to the head's
)

// String returns the state in words.
func (s State) String() string {
	return [...]string{"damaged", "valid prefix, end not attested", "interrupted", "whole"}[min(s, Whole)]
}

// A Report is what [Verify] found.
type Report struct {
	State   State
	Problem string // what is wrong, and where; "" for Whole
	Records int64  // that are one chain, from the beginning
	// Hash is that of the last of these. A copy of it and the number, kept elsewhere, also
	// shows whether file and head were both replaced.
	Hash string
	// Open are the intents without an end: it is unknown whether the calls happened.
	Open []Record
	// Recovered is how often a start found that the writer before it had been interrupted.
	Recovered int64
}

// Verify reads the file of a [File] and its head and reports whether records were changed,
// removed or cut off. It changes nothing. The error is that of reading.
//
// The hashes have no key: a program that can write both file and head can replace both.
// Keep [Report.Hash] out of its reach.
func Verify(name string) (Report, error) {
	h, headErr := logfile.ReadHead(name) // before the records: a writer goes the other way
	if headErr != nil && !errors.Is(headErr, logfile.ErrHead) {
		return Report{}, fmt.Errorf("audit: %w", headErr)
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	var counts []int64
	if h != nil {
		counts = []int64{h.Synced.Records, h.Written.Records}
	}
	r, err := replayed(f, counts...)
	if err != nil {
		return Report{}, fmt.Errorf("audit: %w", err)
	}
	report := Report{Records: r.records, Hash: string(r.hash), Recovered: r.recovered, Open: r.interrupted()}
	report.State, report.Problem = judge(h, headErr, r)
	return report, nil
}

func judge(h *logfile.Head, headErr error, r *replay) (State, string) {
	switch {
	case r.fault != "":
		return Damaged, r.fault
	case headErr != nil:
		return Damaged, headErr.Error()
	case h == nil && r.junk.Len() > 0:
		return NotAttested, fmt.Sprintf("there is no head, and the last %d bytes are a record that was cut off", r.junk.Len())
	case h == nil:
		return NotAttested, "there is no head: records may be missing at the end"
	}
	fault, lost := disagrees(h, r)
	switch {
	case fault != "":
		return Damaged, fault
	case lost > 0:
		return Damaged, fmt.Sprintf("%d records are missing at the end; they had not been synced, so a loss of power may have taken them", lost)
	case r.junk.Len() > 0:
		return Interrupted, fmt.Sprintf("the last %d bytes are a record that was cut off", r.junk.Len())
	case r.records > h.Written.Records:
		return Interrupted, fmt.Sprintf("the head does not know the last %d records yet", r.records-h.Written.Records)
	}
	return Whole, ""
}

// disagrees reports how the records contradict the head, and how many records are missing
// that the head does not promise to keep.
func disagrees(h *logfile.Head, r *replay) (fault string, lost int64) {
	switch {
	case r.fault != "":
		return r.fault, 0
	case r.records < h.Synced.Records:
		return fmt.Sprintf("%d records are there and there were %d: the end is missing or was changed", r.records, h.Written.Records), 0
	case r.passed[h.Synced.Records] != h.Synced.Hash:
		return fmt.Sprintf("record %d is not the one that the head speaks of", h.Synced.Records), 0
	case r.records < h.Written.Records:
		return "", h.Written.Records - r.records
	case r.passed[h.Written.Records] != h.Written.Hash:
		return fmt.Sprintf("record %d is not the one that the head speaks of", h.Written.Records), 0
	}
	return "", 0
}

// A passage is one call between the two middlewares. It is the context that carries itself
// and the state of the call, so that both cost one allocation.
type passage struct {
	callstate.Root

	trail *Trail
	n     int64
	began time.Time
	kept  uncancelled // part of it, to save an allocation

	mu     sync.Mutex
	level  level
	intent bool // one is written
	shown  bool // the arguments are in a record
	over   bool
	last   *writing // the intent, if one was begun
	first  writing  // parts of it, to save allocations
	final  writing
	redact redact.Redactor
}

// uncancelled is a context that outlives its call, for its last record.
type uncancelled struct{ context.Context }

func (*uncancelled) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*uncancelled) Done() <-chan struct{}       { return nil }
func (*uncancelled) Err() error                  { return nil }

func (t *Trail) begin(ctx context.Context) *passage {
	p := &passage{trail: t, n: t.calls.Add(1), began: time.Now()}
	p.Pass(ctx, "record", p)
	p.kept.Context = ctx //nolint:fatcontext // the one that it was begun in
	return p
}

func (t *Trail) passageOf(ctx context.Context) *passage {
	p, _ := callstate.Kept(ctx, func(p *passage) bool { return p.trail == t })
	return p
}

func (p *passage) record(kind Kind, call *middleware.Call, tool *middleware.Tool) Record {
	r := Record{
		Time: time.Now(), Kind: kind, Run: p.trail.run, N: p.n, Call: short(call.ID), Scope: short(call.Scope),
		Tool: short(tool.Name()), Class: tool.Safety().String(),
	}
	if tool != nil {
		r.Server = short(tool.Server)
	}
	return r
}

type recorder struct {
	next  middleware.ToolCaller
	trail *Trail
}

func (r *recorder) Describe() middleware.Description {
	return middleware.Description{Kind: "record", Next: r.next}
}

func (r *recorder) CallTool(ctx context.Context, call middleware.Call) (res *mcp.CallToolResult, err error) {
	p := r.trail.begin(ctx)
	returned := false
	defer func() { //nolint:contextcheck // the last record outlives the call
		if !returned { // a panic on its way out, or the end of the goroutine
			res, err = nil, middleware.OutcomeUnknown(call, errPanicked)
		}
		p.end(&call, res, err)
	}()
	res, err = r.next.CallTool(p, call) //nolint:contextcheck // p is ctx, and more
	returned = true
	return res, err
}

func (p *passage) end(call *middleware.Call, res *mcp.CallToolResult, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	said := p.Record()
	tool := call.Tool
	if said.Tool != nil {
		tool = said.Tool
	}
	outcome := outcomeOf(p, res, err, &said)
	p.trail.count(tool.Safety(), outcome)
	if p.level = max(p.level, asked(call.Tool), levelOf(tool), decided(&said)); p.level == counted {
		return
	}
	r := p.record(End, call, tool)
	r.Outcome, r.Took, r.Waited = outcome, r.Time.Sub(p.began), said.Waited
	r.Approval, r.Attempts, r.From = said.Approval.ID, said.Attempts, source(outcome, said.Decisions)
	r.By, r.Via, r.Sources = short(said.By), said.Via, callstate.References(said.Sources)
	r.Durable = p.intent && durable(p.level, tool)
	if !p.intent && durable(p.level, tool) {
		reasons(&r, tool) // which an intent has already
	}
	p.values(&r, call, tool, &said)
	p.decide(&r, &said)
	if p.level == full {
		p.ending(&r, tool, res, err)
	} else if outcome == Refused {
		r.Decisions = append(r.Decisions, Decision{Stage: refusedBy(err), What: "refused"})
	}
	p.final.trail, p.final.record, p.final.before = p.trail, r, p.last
	p.final.ctx = &p.kept              //nolint:fatcontext // it is part of the call's
	_ = p.final.write(p.trail.brief()) // the trail has logged and counted it
}

type intender struct {
	next  middleware.ToolCaller
	trail *Trail
}

func (i *intender) Describe() middleware.Description {
	return middleware.Description{Kind: "intent", Next: i.next}
}

func (i *intender) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	p := i.trail.passageOf(ctx)
	level, err := p.intend(ctx, &call)
	switch {
	case err != nil && durable(level, call.Tool):
		return nil, &RefusedError{Tool: call.Tool, Err: err}
	case level == full:
		ctx = callstate.WithMark(ctx, &call)
	}
	return i.next.CallTool(ctx, call)
}

var (
	errNoRecord = errors.New("it would have no end: the same trail's Record is not outside Intent")
	errOver     = errors.New("the call has ended already")
)

func (p *passage) intend(ctx context.Context, call *middleware.Call) (level, error) {
	level := levelOf(call.Tool)
	if p == nil {
		return level, errNoRecord
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return level, errOver
	}
	said := p.Record()
	p.level = max(p.level, level, decided(&said))
	if !intended(p.level, call.Tool) {
		return p.level, nil
	}
	r := p.record(Intent, call, call.Tool)
	r.Approval, r.By, r.Via, r.Durable = said.Approval.ID, short(said.By), said.Via, durable(p.level, call.Tool)
	if r.Durable {
		reasons(&r, call.Tool)
	}
	p.values(&r, call, call.Tool, &said)
	if p.level == full {
		p.decide(&r, &said)
	}
	wait := p.trail.brief()
	if r.Durable {
		wait = p.trail.o.Timeout
	}
	w := &p.first
	if p.last != nil {
		w = new(writing)
	}
	w.ctx, w.trail, w.record, w.before = ctx, p.trail, r, p.last
	p.last = w
	err := w.write(wait)
	if err == nil {
		p.intent = true
	} else {
		p.shown = false
	}
	return p.level, err
}
