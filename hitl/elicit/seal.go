package elicit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// A seal is when the question ends, in nanoseconds since 1970, and the MAC over that
// and everything that was asked. The encoding has one text for each value.
const sealBytes = 8 + sha256.Size

var encoding = base64.RawURLEncoding.Strict()

var (
	errSeal = errors.New("elicit: the answer does not belong to this question; it was altered, or is for another call")
	errLate = errors.New("elicit: the answer came too late")
)

func (c *confirmer) seal(request hitl.Request) string {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, sealBytes), uint64(request.Deadline.UnixNano()))
	return encoding.EncodeToString(c.mac(text, request))
}

// open says what is wrong with the seal that came back with an answer.
func (c *confirmer) open(request hitl.Request) error {
	text, err := encoding.DecodeString(request.Input.State)
	if err != nil || len(text) != sealBytes || !hmac.Equal(text, c.mac(text[:8:8], request)) {
		return errSeal
	}
	if until := time.Unix(0, int64(binary.BigEndian.Uint64(text))); !time.Now().Before(until) {
		return errLate
	}
	return nil
}

// mac appends to until the MAC over it and the question. Each part has its length
// before it, so that no two questions give the same text.
func (c *confirmer) mac(until []byte, request hitl.Request) []byte {
	h := hmac.New(sha256.New, c.key)
	binding := callstate.Bind(nil, &middleware.Call{Tool: request.Tool, Scope: request.Scope, Arguments: request.Arguments})
	part(h, "fairlead/hitl/elicit 1")
	part(h, string(until))
	part(h, request.ID)
	part(h, string(binding[:]))
	part(h, request.Tool.Safety().String())
	for _, o := range request.Offers {
		part(h, "offer")
		part(h, o.String())
		part(h, string([]byte{byte(o.Longest)}))
	}
	for _, d := range request.Drafts {
		part(h, "draft")
		part(h, d.ID)
		part(h, d.Digest)
	}
	return h.Sum(until)
}

func part(h hash.Hash, text string) {
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
	h.Write([]byte(text))
}
