package terminal

// A line is an answer only to the question that was on the screen when it was typed. A read from a terminal cannot be
// interrupted, so the read for a question that has expired is still under way when the next one is shown: reading has
// its line, which is discarded. What else was typed ahead comes within an instant (oneBreath) of that line or of the
// question, and is discarded too.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// A reader reads answers. It has one user at a time; see take.
type reader struct {
	in      *bufio.Reader
	out     io.Writer
	person  bool          // in is a terminal
	turn    chan struct{} // held by the question that is on the screen
	reading chan line     // a read that has not returned yet
	hold    *Hold         // of what others write to the terminal; nil holds nothing
}

type line struct {
	text string
	err  error
}

// newReader returns a reader of in, which asks on out for what does not count once more.
func newReader(in io.Reader, out io.Writer) *reader {
	r := &reader{in: bufio.NewReader(in), out: out, turn: make(chan struct{}, 1)}
	if f, ok := in.(interface{ Stat() (fs.FileInfo, error) }); ok { // what is piped comes all at once
		info, err := f.Stat()
		r.person = err == nil && info.Mode()&fs.ModeCharDevice != 0
	}
	return r
}

// take waits for the screen, and keeps it until Release.
func (r *reader) take(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		r.hold.begin()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *reader) release() {
	r.hold.end()
	<-r.turn
}

// oneBreath is less than a person takes to read a question and answer it. What comes
// sooner was typed with an earlier line, or before the question.
const oneBreath = 200 * time.Millisecond

// line returns the next line that was typed for the question on the screen, without the white space around it.
func (r *reader) line(ctx context.Context) (string, error) {
	late := r.reading != nil
	var breath time.Time
	if r.person {
		breath = time.Now().Add(oneBreath)
	}
	for {
		if r.reading == nil {
			r.reading = make(chan line, 1)
			go func(to chan<- line) {
				text, err := r.in.ReadString('\n')
				to <- line{strings.TrimSpace(text), err}
			}(r.reading)
		}
		select {
		case got := <-r.reading:
			r.reading = nil
			switch {
			case errors.Is(got.err, io.EOF) && got.text == "":
				return "", errors.New("the input has ended")
			case got.err != nil && !errors.Is(got.err, io.EOF):
				return "", got.err // half a line does not count
			case late || time.Now().Before(breath):
				late, breath = false, time.Now().Add(oneBreath)
				fmt.Fprint(r.out, "\n  That line may have been typed before this question was shown, so it is not taken as the answer. Once more: ")
				continue
			}
			return got.text, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// answer reads the answer to the question on the screen: the text, and the same in lower
// case without the punctuation after it.
func (r *reader) answer(ctx context.Context) (text, word string, err error) {
	if text, err = r.line(ctx); err != nil {
		fmt.Fprintln(r.out, "\n  no answer here; without one elsewhere it is denied")
	}
	return text, strings.TrimRight(strings.ToLower(text), ".!"), err
}
