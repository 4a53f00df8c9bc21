// Package prompt writes the system prompt that goes with a chain: which tools the model has, how dangerous each is, and
// what the chain really does.
//
// Safety never rests on the prompt. It keeps the model from asking twice, from calling what will be refused, and from
// claiming what it did not do. Every sentence about the chain follows from its [middleware.Description]: what nothing
// enforces is not claimed, and where nothing asks the user, the model is told to ask.
//
// The parts have one order: identity, safety (tools, rules, examples), routing, formatting, platform. What changes from
// channel to channel comes last, so that the beginning stays the same for a provider's prompt cache.
//
// The texts of servers are quoted inside a fenced block, escaped and cut to 200 bytes for each tool; names are those by
// which the model calls the tools.
package prompt

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // for prompt.tmpl
	"encoding/hex"
	"fmt"
	"strings"
	"text/template"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// Options are the host's own texts and what the chain enforces. The texts go into the prompt without surrounding blanks;
// an empty one leaves its part out. The zero value is ready.
type Options struct {
	// Identity is who the model is and for whom it works. It comes first.
	Identity string
	// Routing is which tool or agent is for what.
	Routing string
	// Formatting is how answers look.
	Formatting string
	// Platform is what holds where the answer is shown. It comes last.
	Platform string
	// Enforced is what the assembled chain enforces. The zero value claims nothing: the model has to ask.
	Enforced middleware.Description
	// Name returns the model's name of a tool, such as its Name if one server's tools keep theirs. One that is not a
	// valid name is not used. Nil means Tool.ModelName.
	Name func(tool *middleware.Tool) string
	// MaxBytes is the length of the whole text. A longer one loses the descriptions of reads first, then reads, then the
	// descriptions of writes, then writes, each with a count; all else stays, so it may be longer. 0 means 32 KiB.
	MaxBytes int
}

// A Prompt writes system prompts for one host and one chain. It never changes and is safe for concurrent use.
type Prompt struct{ opts Options }

// New returns a prompt. It panics where MaxBytes is negative.
func New(opts Options) Prompt {
	if opts.MaxBytes < 0 {
		panic(fmt.Sprintf("prompt: Options.MaxBytes is %d; it must not be negative", opts.MaxBytes))
	}
	opts.MaxBytes = cmp.Or(opts.MaxBytes, 32<<10)
	for _, text := range []*string{&opts.Identity, &opts.Routing, &opts.Formatting, &opts.Platform} {
		*text = strings.TrimSpace(*text)
	}
	return Prompt{opts}
}

// A Text is a finished system prompt. The zero value is an empty one.
type Text struct{ text, version string }

// String returns the text, which ends in a newline.
func (t Text) String() string { return t.text }

// Version returns twelve hexadecimal digits that change whenever the text does.
func (t Text) Version() string { return t.version }

// For returns the prompt for these tools, whatever their order. A tool without a name is left out, and of several with one
// name the most dangerous counts.
func (p Prompt) For(tools []*middleware.Tool) Text {
	sections := byClass(tools, p.opts.Name)
	text := p.write(sections)
	// Mildest first; what asks or is refused stays.
	reads, writes := &sections[annotation.Safe], &sections[annotation.Moderate]
	for _, cut := range []func(excess int){reads.strip, reads.drop, writes.strip, writes.drop} {
		if len(text) <= p.opts.MaxBytes {
			break
		}
		cut(len(text) - p.opts.MaxBytes)
		text = p.write(sections)
	}
	sum := sha256.Sum256([]byte(text))
	return Text{text, hex.EncodeToString(sum[:6])}
}

//go:embed prompt.tmpl
var templateText string

var layout = template.Must(template.New("prompt").Parse(templateText))

// A page is what the template writes.
type page struct {
	Options
	*sections

	Safe, Moderate, Dangerous, Unknown *section

	rules int // that are numbered
}

// Number returns the number of the next rule.
func (p *page) Number() int {
	p.rules++
	return p.rules
}

// write returns the text of the prompt with these sections.
func (p Prompt) write(s *sections) string {
	var b strings.Builder
	err := layout.Execute(&b, &page{
		Options: p.opts, sections: s,
		Safe: &s[annotation.Safe], Moderate: &s[annotation.Moderate], Dangerous: &s[annotation.Dangerous], Unknown: &s[annotation.Unknown],
	})
	if err != nil {
		panic("prompt: " + err.Error()) // a fault of the template
	}
	return b.String()
}
