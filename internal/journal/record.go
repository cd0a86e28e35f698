package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"ebbtide/internal/ledger"
)

// recordVersion is the version of a stored record: one byte of version, four of CRC-32C, then the record as JSON. The
// checksum covers the outage's id, the sequence number, the version and the JSON, so that a record in the wrong place is
// found too.
const recordVersion = 1

const recordHeader = 5

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// key is a record's key in its outage's bucket.
func key(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

func encode(outage string, r ledger.Record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("cannot encode record %d: %w", r.Seq, err)
	}
	value := make([]byte, recordHeader, recordHeader+len(text))
	value[0] = recordVersion
	binary.BigEndian.PutUint32(value[1:], checksum(outage, r.Seq, recordVersion, text))
	return append(value, text...), nil
}

var errNewerRecord = errors.New("newer record version")

// decode reads a stored record. An error other than errNewerRecord is damage.
func decode(outage string, k, value []byte) (ledger.Record, error) {
	var r ledger.Record
	if len(k) != 8 {
		return r, fmt.Errorf("key of %d bytes", len(k))
	}
	seq := binary.BigEndian.Uint64(k)
	if len(value) < recordHeader {
		return r, fmt.Errorf("only %d bytes long", len(value))
	}
	text := value[recordHeader:]
	if binary.BigEndian.Uint32(value[1:]) != checksum(outage, seq, value[0], text) {
		return r, errors.New("checksum does not match")
	}
	if value[0] > recordVersion {
		return r, errNewerRecord
	}
	if value[0] < 1 {
		return r, fmt.Errorf("its version is %d", value[0])
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("not a record: %w", err)
	}
	if r.Seq != seq {
		return r, fmt.Errorf("says that it is record %d", r.Seq)
	}
	return r, nil
}

func checksum(outage string, seq uint64, version byte, text []byte) uint32 {
	sum := crc32.Update(0, castagnoli, []byte(outage))
	sum = crc32.Update(sum, castagnoli, append(key(seq), version))
	return crc32.Update(sum, castagnoli, text)
}
