package windowssim

import (
	"context"
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // NTLM is made of it
	"encoding/base64"
	"encoding/binary"
	"net"
	"net/http"
	"strings"
	"sync"
	"unicode/utf16"

	"golang.org/x/crypto/md4" //nolint:staticcheck,gosec // NTLM is made of it
)

// domain is what the machine says that it is part of: not where a local account is.
const domain = "LAB"

// connection is what NTLM authenticates: all three messages of a login have to come over one (MS-NTHT).
type connection struct {
	mu        sync.Mutex
	challenge []byte // given, and not answered yet
	loggedIn  bool
}

type connectionKey struct{}

// connected gives each connection of its own.
func connected(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{})
}

// lets reports whether a request may pass, by Basic or by NTLM, and answers it if not.
func (w *Machine) lets(rw http.ResponseWriter, r *http.Request) bool {
	if user, password, ok := r.BasicAuth(); ok && user == User && password == Password {
		return true
	}
	c := r.Context().Value(connectionKey{}).(*connection)
	c.mu.Lock()
	defer c.mu.Unlock()
	said, hasToken := strings.CutPrefix(r.Header.Get("Authorization"), "Negotiate ")
	token, err := base64.StdEncoding.DecodeString(said)
	offer := "Negotiate"
	switch {
	case !hasToken && c.loggedIn:
		return true
	case hasToken && err == nil && len(token) >= 12 && token[8] == 1:
		c.challenge = []byte("8 octets")
		offer += " " + base64.StdEncoding.EncodeToString(challengeMessage(c.challenge))
	case hasToken && err == nil && len(token) >= 64 && token[8] == 3 && c.challenge != nil:
		if c.loggedIn = proves(token, c.challenge); c.loggedIn {
			return true
		}
		w.with(func() { w.failed++ })
	case hasToken:
		w.with(func() { w.failed++ })
	}
	rw.Header().Set("WWW-Authenticate", offer)
	rw.WriteHeader(http.StatusUnauthorized)
	_, _ = rw.Write([]byte("<html>401 - Unauthorized</html>")) // a client has to read it to have its connection back
	return false
}

// FailedLogins is how many logins by NTLM were refused, as a domain counts them before it locks an account.
func (w *Machine) FailedLogins() (n int) { w.with(func() { n = w.failed }); return n }

// challengeMessage is CHALLENGE_MESSAGE (MS-NLMP 2.2.1.2), for NTLMv2 and Unicode, without target info.
func challengeMessage(challenge []byte) []byte {
	target := wide(domain)
	m := append([]byte("NTLMSSP\x00"), 2, 0, 0, 0)
	m = binary.LittleEndian.AppendUint16(m, uint16(len(target)))
	m = binary.LittleEndian.AppendUint16(m, uint16(len(target)))
	m = binary.LittleEndian.AppendUint32(m, 48)
	m = binary.LittleEndian.AppendUint32(m, 0x00000001|0x00000004|0x00000200|0x00080000) // Unicode, target, NTLM, extended security
	m = append(m, challenge...)
	m = append(m, make([]byte, 16)...) // reserved, and no target info
	return append(m, target...)
}

// proves reports whether an AUTHENTICATE_MESSAGE (MS-NLMP 2.2.1.3) shows the password of the account that it names (3.3.2).
func proves(message, challenge []byte) bool {
	field := func(at int) []byte {
		size, offset := int(binary.LittleEndian.Uint16(message[at:])), int(binary.LittleEndian.Uint32(message[at+4:]))
		if offset+size > len(message) {
			return nil
		}
		return message[offset : offset+size]
	}
	response, in, user := field(20), field(28), field(36)
	if text(in)+`\`+text(user) != User || len(response) < 16 {
		return false
	}
	hash := md4.New()
	hash.Write(wide(Password))
	key := sum(hash.Sum(nil), append(wide(strings.ToUpper(text(user))), in...))
	return hmac.Equal(response[:16], sum(key, append(append([]byte{}, challenge...), response[16:]...)))
}

func sum(key, data []byte) []byte {
	mac := hmac.New(md5.New, key)
	mac.Write(data)
	return mac.Sum(nil)
}

// wide is a text in UTF-16, as Windows has it.
func wide(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func text(b []byte) string {
	u := make([]uint16, len(b)/2)
	for i := range u {
		u[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(u))
}
