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
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/filelock"
	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
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

// A Store keeps credentials in a folder, each sealed in a file that its owner alone can read. Processes may share it.
// Make one with [OpenStore]. It is safe for concurrent use.
type Store struct {
	dir  string
	keys [][]byte // none for the folder's own

	mu    sync.Mutex
	opens []cipher.AEAD // the first one seals too; nil before the folder is used
}

const (
	extension = ".credential"
	keyFile   = "key"
	keySize   = 32
)

// OpenStore opens a folder, which is made when there is something to keep. The first key seals, the others are read too;
// without any, the folder has a key of its own, so that a copy of the credentials without it reads nothing. A folder that
// others than its owner may enter is an error.
func OpenStore(dir string, keys ...[]byte) (*Store, error) {
	for _, key := range keys {
		if len(key) != keySize {
			return nil, fmt.Errorf("credentials: a key has %d bytes, want %d", len(key), keySize)
		}
	}
	s := &Store{dir: dir, keys: keys}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		if _, err := s.sealers(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// sealers returns what seals and opens credentials. It makes the folder, and its key, if they are not there.
func (s *Store) sealers() ([]cipher.AEAD, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opens != nil {
		return s.opens, nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if err := owned.Private(s.dir); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	keys := s.keys
	if len(keys) == 0 {
		key, err := ownKey(filepath.Join(s.dir, keyFile))
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		if len(key) != keySize {
			return nil, fmt.Errorf("credentials: the key in %s has %d bytes, want %d; remove the folder, and sign in again", s.dir, len(key), keySize)
		}
		keys = [][]byte{key}
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
func (s *Store) lock(ctx context.Context, user, server string) (io.Closer, error) {
	if _, err := s.sealers(); err != nil {
		return nil, err
	}
	return filelock.Wait(ctx, filepath.Join(s.dir, nameOf(user, server)+".lock"))
}

// ownKey reads the key of a folder, or makes it. A link puts it in its place whole, and only one of several processes.
func ownKey(name string) ([]byte, error) {
	key, err := readPrivate(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	fresh := make([]byte, keySize)
	random(fresh)
	f, err := os.CreateTemp(filepath.Dir(name), ".key-*") // of mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(fresh)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readPrivate(name)
}

// readPrivate reads a file, unless others than its owner may read or write it.
func readPrivate(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // in the store's own folder
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = owned.PrivateInfo(name, info)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxCredential))
}

// maxCredential is how many bytes the file of a credential may have.
const maxCredential = 1 << 20

// nameOf returns the name of the file of a user's credential at a server, which seals it to its place.
func nameOf(user, server string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q at %q", user, server))
	return hex.EncodeToString(sum[:16]) + extension
}

// A mark is what a file looks like from outside, to see whether it has changed.
type mark struct {
	info os.FileInfo // nil if it is not there
}

func (m mark) same(now mark) bool {
	if m.info == nil || now.info == nil {
		return m.info == now.info
	}
	return os.SameFile(m.info, now.info) && m.info.ModTime().Equal(now.info.ModTime()) && m.info.Size() == now.info.Size()
}

func (s *Store) mark(user, server string) (mark, error) {
	info, err := os.Stat(filepath.Join(s.dir, nameOf(user, server)))
	if errors.Is(err, fs.ErrNotExist) {
		return mark{}, nil
	}
	return mark{info}, err
}

// load returns the credential of a user at a server, nil if there is none.
func (s *Store) load(user, server string) (*Credential, error) {
	c, err := s.read(nameOf(user, server))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none, and that is not a failure
	}
	return c, err
}

func (s *Store) read(name string) (*Credential, error) {
	sealed, err := readPrivate(filepath.Join(s.dir, name))
	if err != nil {
		return nil, err
	}
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
	return nil, fmt.Errorf("credentials: %s was sealed by another key, or has been changed; remove it, and sign in again", filepath.Join(s.dir, name))
}

// save keeps a credential in the place of an earlier one, which a reader sees whole.
func (s *Store) save(c *Credential) error {
	text, err := json.Marshal(c) //nolint:gosec,musttag // it is sealed, and read by this package alone
	if err != nil {
		return err
	}
	opens, err := s.sealers()
	if err != nil {
		return err
	}
	name := nameOf(c.User, c.Server)
	f, err := os.CreateTemp(s.dir, ".credential-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())                                     // which is there after an error only
	_, err = f.Write(opens[0].Seal(nil, nil, text, []byte(name))) //nolint:gosec // the nonce is random: NewGCMWithRandomNonce
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(s.dir, name))
}

// remove removes a credential.
func (s *Store) remove(user, server string) error {
	err := os.Remove(filepath.Join(s.dir, nameOf(user, server)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List returns all credentials that the store's keys open, by user and server, and an error about the others.
func (s *Store) List() (all []Credential, err error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != extension {
			continue
		}
		c, fault := s.read(e.Name())
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
