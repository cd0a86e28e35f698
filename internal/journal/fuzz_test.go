package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const pageSize = 4096 // of the journals that the tests make

// smallJournal makes a journal with one open outage of n records, as short as a file can be.
func smallJournal(tb testing.TB, n int) []byte {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "journal.db")
	j, err := Open(path, Options{})
	require.NoError(tb, err)
	recs := outage(theOutage, n)
	require.NoError(tb, j.Append(recs[:n-1]...))
	require.NoError(tb, j.Append(recs[n-1]))
	require.NoError(tb, j.Close())
	b, err := os.ReadFile(path)
	require.NoError(tb, err)
	used := (len(bytes.TrimRight(b, "\x00")) + pageSize - 1) / pageSize * pageSize
	return b[:used]
}

// patched is a journal with damage from page 2 on: headers carry a checksum, which no fuzzer hits.
func patched(seed, patch []byte, at uint16, with byte) []byte {
	b := bytes.Clone(seed)
	copy(b[2*pageSize:], patch)
	b[2*pageSize+int(at)%(len(b)-2*pageSize)] ^= with
	return b
}

// FuzzInspect: the inspection of any pages ends, without a panic.
func FuzzInspect(f *testing.F) {
	seed := smallJournal(f, 3)
	f.Add(seed[2*pageSize:], uint16(0), byte(0))
	f.Fuzz(func(_ *testing.T, patch []byte, at uint16, with byte) {
		b := patched(seed, patch, at, with)
		in := inspection{file: bytes.NewReader(b), size: int64(len(b)), used: map[uint64]bool{}, meta: map[string]string{}}
		_ = in.run()
	})
}

// FuzzOpen: pages that the inspection has let pass are given to bbolt, which trusts them. Nothing panics; and what was
// read from the file before a commit is still there after it.
func FuzzOpen(f *testing.F) {
	seed := smallJournal(f, 3)
	f.Add(seed[2*pageSize:], uint16(0), byte(0))
	for i := range uint16(64) { // each header of a page, and what lies behind it
		f.Add(seed[2*pageSize:], i*256%16384+i, byte(1)<<(i%8))
	}
	path := filepath.Join(f.TempDir(), "journal.db")
	f.Fuzz(func(t *testing.T, patch []byte, at uint16, with byte) {
		require.NoError(t, os.WriteFile(path, patched(seed, patch, at, with), 0o600))
		_, err := Salvage(path)
		require.NoError(t, err)
		j, err := Open(path, Options{})
		if err != nil {
			return
		}
		defer func() { require.NoError(t, j.Close()) }()
		damage := j.Verify()
		list, _ := j.Outages()
		before, err := j.Records(theOutage)
		if damage == nil && len(list) == 1 {
			require.NoError(t, err)
			require.Len(t, before, list[0].Records)
		}
		_, _, _ = j.OpenOutage()
		if j.Append(step(uint64(len(before))+1)) != nil {
			return
		}
		after, _ := j.Records(theOutage)
		require.GreaterOrEqual(t, len(after), len(before))
		require.Equal(t, before, after[:len(before)])
	})
}

// FuzzDecode: a stored record of any content is read or refused, and what is read is stored and read again as it was.
func FuzzDecode(f *testing.F) {
	for i, r := range append(outage(theOutage, 6), closed(7)) {
		text, err := json.Marshal(r)
		require.NoError(f, err)
		f.Add(key(uint64(i)+1), byte(recordVersion), text, true)
	}
	f.Add([]byte("short"), byte(2), []byte(`{"seq":1,"verb":null,"members":{"":[{}]},"numbers":{"left":1e999}}`), false)
	f.Fuzz(func(t *testing.T, k []byte, version byte, text []byte, sound bool) {
		value := append([]byte{version, 0, 0, 0, 0}, text...)
		if sound && len(k) == 8 { // else no fuzzer gets past the checksum
			binary.BigEndian.PutUint32(value[1:], checksum(theOutage, binary.BigEndian.Uint64(k), version, text))
		}
		r, err := decode(theOutage, k, value)
		if err != nil {
			return
		}
		require.LessOrEqual(t, version, byte(recordVersion))
		again, err := encode(theOutage, r)
		require.NoError(t, err)
		r2, err := decode(theOutage, k, again)
		require.NoError(t, err)
		once, err := json.Marshal(r)
		require.NoError(t, err)
		twice, err := json.Marshal(r2)
		require.NoError(t, err)
		require.JSONEq(t, string(once), string(twice))
	})
}
