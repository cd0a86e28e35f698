package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// planted are secrets that stand nowhere but where they belong, by what they are.
type planted map[string]string

// key plants each line of a key's body, of which no two keys have the same.
func (p planted) key(what, pem string) {
	for line := range strings.Lines(pem) {
		line = strings.TrimSpace(line)
		// The first line of an OpenSSH key names the format, and is no secret.
		if len(line) >= 40 && !strings.HasPrefix(line, "-----") && !strings.HasPrefix(line, "b3BlbnNzaC1rZXktdjE") {
			p[what+", the line "+strconv.Itoa(len(p))] = line
		}
	}
}

// forms are the ways in which a secret may be written.
func forms(t *testing.T, secret string) map[string]string {
	t.Helper()
	document, err := json.Marshal(secret)
	require.NoError(t, err)
	var markup bytes.Buffer
	require.NoError(t, xml.EscapeText(&markup, []byte(secret)))
	all := map[string]string{
		"as it is": secret, "in a URL's query": url.QueryEscape(secret), "in a URL's path": url.PathEscape(secret),
		"in a URL's user": url.UserPassword("", secret).String()[1:],
		"in JSON":         strings.Trim(string(document), `"`), "as Go quotes it": strings.Trim(strconv.Quote(secret), `"`),
		"in XML": markup.String(),
		"in hex": hex.EncodeToString([]byte(secret)), "in capital hex": strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	// Inside a longer text base64 comes in three shapes, of which the ends depend on what stands around.
	for shift := range 3 {
		for name, enc := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "URL's base64": base64.RawURLEncoding} {
			text := enc.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
			first := (shift*8 + 5) / 6 // the first digit that is of the secret alone
			all[name+", shifted by "+strconv.Itoa(shift)] = text[first : len(text)-1]
		}
	}
	return all
}

// in lists which secrets stand in a text, and how they are written there.
func (p planted) in(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	for what, secret := range p {
		for how, form := range forms(t, secret) {
			if strings.Contains(text, form) {
				found = append(found, what+" "+how)
			}
		}
	}
	return found
}

// TestPlantedSecretsAreFound: the search finds what it is for.
func TestPlantedSecretsAreFound(t *testing.T) {
	t.Parallel()
	p := planted{"password": `s3cret "pass" \ #1`}
	for _, text := range []string{
		`level=info error="got s3cret "pass" \ #1 back"`, `{"detail":"s3cret \"pass\" \\ #1"}`,
		"https://root:s3cret%20%22pass%22%20%5C%20%231@host", "q=s3cret+%22pass%22+%5C+%231",
		"<password>s3cret &#34;pass&#34; \\ #1</password>", base64.StdEncoding.EncodeToString([]byte(p["password"])),
		"Basic " + base64.StdEncoding.EncodeToString([]byte("ebbtide:"+p["password"])),
		base64.URLEncoding.EncodeToString([]byte("a:" + p["password"] + "more")),
		hex.EncodeToString([]byte(p["password"])),
	} {
		require.NotEmpty(t, p.in(t, text), text)
	}
	require.Empty(t, p.in(t, "s3cret"+" pass"))
	p = planted{}
	p.key("key", "-----BEGIN X-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"+strings.Repeat("q", 70)+
		"\nshort\n-----END X-----\n")
	require.Len(t, p, 1)
}
