package redis

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"strings"
	"sync"
)

// A sealer seals contents so that only replicas of the same host can read them, or refuses to.
type sealer struct {
	aead   cipher.AEAD   // nil without a key
	opens  []cipher.AEAD // of all keys whose contents are read
	plain  bool
	hashes *sync.Pool // of hash.Hash, with the secret in it
}

// The first byte of contents names their encoding; any other value is foreign.
const (
	plainContents  = 'p'
	sealedContents = 's'
)

// newSealer returns a sealer by the keys of the options; it cannot fail, since Open has checked their length.
func newSealer(o Options) sealer {
	s := sealer{plain: o.Plain, hashes: &sync.Pool{New: func() any { return sha256.New() }}}
	if len(o.Key) == 0 {
		return s
	}
	// One secret, two uses, two keys.
	derive := func(key []byte, use string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(use))
		return mac.Sum(nil)
	}
	for _, key := range append([][]byte{o.Key}, o.OtherKeys...) {
		block, _ := aes.NewCipher(derive(key, "fairlead contents 1")) // of 32 bytes, which never fails
		aead, _ := cipher.NewGCMWithRandomNonce(block)                // nor does this with a block of AES
		s.opens = append(s.opens, aead)
	}
	s.aead = s.opens[0]
	secret := o.NameKey
	if secret == nil {
		secret = o.Key
	}
	names := derive(secret, "fairlead names 1")
	s.hashes = &sync.Pool{New: func() any { return hmac.New(sha256.New, names) }}
	return s
}

// allowed reports whether contents may be stored.
func (s sealer) allowed() bool { return s.aead != nil || s.plain }

// seal appends contents that can only be opened at the same place.
func (s sealer) seal(dst []byte, place string, contents []byte) ([]byte, error) {
	switch {
	case s.aead != nil:
		return s.aead.Seal(append(dst, sealedContents), nil, contents, []byte(place)), nil //nolint:gosec // the nonce is random: NewGCMWithRandomNonce
	case s.plain:
		return append(append(dst, plainContents), contents...), nil
	}
	return nil, errNotAllowed
}

var errNotAllowed = errors.New("redis: contents are not stored without Options.Key or Options.Plain")

// open returns the contents, opened in place, and false if they are foreign or of another place.
func (s sealer) open(place string, contents []byte) ([]byte, bool) {
	switch {
	case len(contents) == 0:
	case s.aead != nil && contents[0] == sealedContents:
		for i, key := range s.opens {
			dst := contents[1:1] // in place, unless another key may have to try
			if i < len(s.opens)-1 {
				dst = nil
			}
			if text, err := key.Open(dst, nil, contents[1:], []byte(place)); err == nil {
				return text, true
			}
		}
	case s.aead == nil && s.plain && contents[0] == plainContents:
		return contents[1:], true
	}
	return nil, false
}

// current reports whether contents are sealed with the present key, or are not sealed.
func (s sealer) current(place string, contents []byte) bool {
	if s.aead == nil {
		return true
	}
	_, err := s.aead.Open(nil, nil, contents[1:], []byte(place))
	return err == nil
}

// name returns 22 characters for the parts of a key: without braces, and secret if there is a Key.
func (s sealer) name(parts ...string) string {
	h, _ := s.hashes.Get().(hash.Hash)
	defer s.hashes.Put(h)
	h.Reset()
	var buffer [256]byte
	text := buffer[:0]
	for _, part := range parts {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	h.Write(text)
	return base64.RawURLEncoding.EncodeToString(h.Sum(buffer[:0])[:16])
}

// key returns a key of a kind; all keys with the same about are in one slot of a cluster.
func (s *Store) key(kind, about string, rest ...string) string {
	return s.prefix + ":" + kind + ":{" + about + "}" + strings.Join(append([]string{""}, rest...), ":")
}
