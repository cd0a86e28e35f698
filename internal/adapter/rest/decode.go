package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Decode reads an answer into a value. It gives io.ErrUnexpectedEOF for one that is cut short, as by a system that goes down: that is no
// answer, while one that is whole and not as expected is one.
func Decode(answer []byte, into any) error {
	err := json.Unmarshal(answer, into)
	if err == nil {
		return nil
	}
	short := json.NewDecoder(bytes.NewReader(answer)).Decode(new(json.RawMessage))
	if errors.Is(short, io.EOF) || errors.Is(short, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
