// Package credentials keeps what each user was given by the servers behind the proxy: OAuth tokens, for one user at one
// server. A [Keeper] signs the user in with the SDK's handlers, refreshes the tokens, and adds them to requests to that
// server alone.
package credentials

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// A Credential is what a user has for a server, as it is kept.
type Credential struct {
	User   string // "" for the only user of this machine
	Server string // the URL of the server
	Since  time.Time

	ClientID     string
	ClientSecret string
	Issuer       string // the authorization server; "" if it is not known
	TokenURL     string // where it is refreshed
	AuthStyle    oauth2.AuthStyle
	Scopes       []string
	Token        oauth2.Token
}

// A Store keeps credentials, each sealed to its user and server, in a folder or in a store that replicas share. Make one
// with [OpenStore] or [NewStore]. It is safe for concurrent use.
type Store struct {
	place  Place
	folder folder   // "" for a shared place
	keys   [][]byte // none for the folder's own

	mu    sync.Mutex
	opens []cipher.AEAD // the first one seals too; nil before the folder is used
}

const keySize = 32

// OpenStore opens a folder, which is made when there is something to keep. The first key seals, the others are read too;
// without any, the folder has a key of its own, so that a copy of the credentials without it reads nothing. A folder that
// others than its owner may enter is an error.
func OpenStore(dir string, keys ...[]byte) (*Store, error) {
	s := &Store{place: folder(dir), folder: folder(dir), keys: keys}
	if err := s.check(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		if _, err := s.sealers(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// NewStore returns a store in a place that replicas share. The first key seals, the others are read too; one is required.
func NewStore(place Place, keys ...[]byte) (*Store, error) {
	if len(keys) == 0 {
		return nil, errors.New("credentials: a shared store needs a key, the same in every replica")
	}
	s := &Store{place: place, keys: keys}
	return s, s.check()
}

func (s *Store) check() error {
	for _, key := range s.keys {
		if len(key) != keySize {
			return fmt.Errorf("credentials: a key has %d bytes, want %d", len(key), keySize)
		}
	}
	return nil
}

// sealers returns what seals and opens credentials. It makes the folder, and its key, if they are not there.
func (s *Store) sealers() ([]cipher.AEAD, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opens != nil {
		return s.opens, nil
	}
	keys := s.keys
	if s.folder != "" {
		if err := s.folder.make(); err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		if len(keys) == 0 {
			key, err := s.folder.ownKey()
			if err != nil {
				return nil, fmt.Errorf("credentials: %w", err)
			}
			if len(key) != keySize {
				return nil, fmt.Errorf("credentials: the key in %s has %d bytes, want %d; remove the folder, and sign in again", s.folder, len(key), keySize)
			}
			keys = [][]byte{key}
		}
	}
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("fairlead credentials 1"))
		block, _ := aes.NewCipher(mac.Sum(nil))        // of 32 bytes, which never fails
		aead, _ := cipher.NewGCMWithRandomNonce(block) // nor does this with a block of AES
		s.opens = append(s.opens, aead)
	}
	return s.opens, nil
}

// lock keeps other processes from changing a user's credential at a server, until it is closed or the process ends.
func (s *Store) lock(ctx context.Context, user, server string) (Lock, error) {
	return s.place.Lock(ctx, nameOf(user, server))
}

// sealed returns the credential of a user at a server as it is kept, nil if there is none.
func (s *Store) sealed(ctx context.Context, user, server string) ([]byte, error) {
	return s.place.Get(ctx, nameOf(user, server))
}

// load returns the credential of a user at a server, nil if there is none.
func (s *Store) load(ctx context.Context, user, server string) (*Credential, error) {
	sealed, err := s.sealed(ctx, user, server)
	if err != nil || sealed == nil {
		return nil, err
	}
	return s.open(nameOf(user, server), sealed)
}

func (s *Store) open(name string, sealed []byte) (*Credential, error) {
	opens, err := s.sealers()
	if err != nil {
		return nil, err
	}
	for _, key := range opens {
		text, err := key.Open(nil, nil, sealed, []byte(name))
		if err != nil {
			continue
		}
		c := new(Credential)
		if err := json.Unmarshal(text, c); err != nil || nameOf(c.User, c.Server) != name { //nolint:musttag // as it was written
			break
		}
		return c, nil
	}
	return nil, fmt.Errorf("credentials: %s was sealed by another key, or has been changed; remove it, and sign in again", filepath.Join(string(s.folder), name))
}

// save keeps a credential in the place of an earlier one, by its lock.
func (s *Store) save(ctx context.Context, lock Lock, c *Credential) error {
	text, err := json.Marshal(c) //nolint:gosec,musttag // it is sealed, and read by this package alone
	if err != nil {
		return err
	}
	opens, err := s.sealers()
	if err != nil {
		return err
	}
	return lock.Put(ctx, opens[0].Seal(nil, nil, text, []byte(nameOf(c.User, c.Server)))) //nolint:gosec // the nonce is random: NewGCMWithRandomNonce
}

// List returns all credentials that the store's keys open, by user and server, and an error about the others.
func (s *Store) List(ctx context.Context) (all []Credential, err error) {
	values, err := s.place.All(ctx)
	if err != nil {
		err = fmt.Errorf("credentials: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c, fault := s.open(name, values[name])
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Credential) int {
		return strings.Compare(a.User+"\x00"+a.Server, b.User+"\x00"+b.Server)
	})
	return all, err
}
