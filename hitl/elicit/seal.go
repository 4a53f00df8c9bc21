package elicit

// A second leg comes from the client, which may have altered, swapped or kept what it brings. So the state that
// travels with the question is a seal: it proves that this server asked exactly this question, and when it ends. It
// has no secret and is not stored; any replica with the key can open it.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
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

// open checks the seal of a request's second leg.
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

// mac appends to until the MAC over it and the question, without what another leg, or
// another replica, may have in other words.
func (c *confirmer) mac(until []byte, request hitl.Request) []byte {
	request.CallID, request.Client, request.Why, request.Undo, request.Suggestion = "", "", "", "", ""
	request.Turn, request.Turns = 0, 0
	h := hmac.New(sha256.New, c.key)
	_, _ = io.WriteString(h, "fairlead/hitl/elicit 2"+string(until)+request.Digest()) // both have one length
	return h.Sum(until)
}
