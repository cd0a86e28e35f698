package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
	"strconv"
)

// inspect reads every page of a file that bbolt would use, before bbolt uses it. bbolt trusts its pages: one that
// points to itself ends in a stack overflow, which no recover catches, and a free list that names a page in use loses
// data at the next commit. It returns what the meta bucket holds. Errors are *DamagedError and *VersionError.
//
// The layout (bbolt's file format 2, integers in the machine's own order): page 0 and 1 are headers, of which the
// valid one with the higher transaction number counts; it names the root page and the page of the free list. A branch
// page lists keys and child pages, a leaf page keys and values; a value may be a bucket: its own root page, or, where
// that is 0, its only page within the value.
func inspect(f *os.File, path string) (map[string]string, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	in := inspection{file: f, size: info.Size(), used: map[uint64]bool{}, meta: map[string]string{}}
	if err := in.run(); err != nil {
		return nil, &DamagedError{Path: path, What: err.Error(), Foreign: errors.Is(err, errNoHeader) && !in.mayBeOurs()}
	}
	if err := in.current(); err != nil {
		return nil, &DamagedError{Path: path, What: err.Error()}
	}
	format, ok := in.meta[formatKey]
	if !ok {
		return nil, &DamagedError{Path: path, What: "it is a bbolt file without an Ebbtide format", Foreign: true}
	}
	n, err := strconv.Atoi(format)
	if err != nil || n < 1 {
		return nil, &DamagedError{Path: path, What: fmt.Sprintf("its format is %q", format)}
	}
	if n > Format {
		return nil, &VersionError{Path: path, Thing: "format", Found: n, Known: Format, By: in.meta[createdByKey]}
	}
	return in.meta, nil
}

const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	branchPage = 0x01
	leafPage   = 0x02
	freePage   = 0x10

	pageHeaderSize = 16 // id, flags, count, overflow
	headerSize     = 64 // what a header page holds after its page header
	elementSize    = 16
	bucketSize     = 16 // root page, sequence
	bucketElement  = 0x01

	noFreelist = ^uint64(0)
	maxDepth   = 64
)

var native = binary.NativeEndian

type inspection struct {
	file     io.ReaderAt
	size     int64
	pageSize int64
	top      uint64 // the first page number that was never used
	commit   uint64 // by the header
	used     map[uint64]bool
	meta     map[string]string
}

func (in *inspection) run() error {
	if in.size == 0 {
		return errors.New("the file is empty")
	}
	h, err := in.header()
	if err != nil {
		return err
	}
	in.pageSize, in.top, in.commit = int64(h.pageSize), h.top, h.txid
	if h.top > uint64(in.size)/uint64(in.pageSize) {
		return fmt.Errorf("the file is cut short: it has %d bytes, its header says at least %d pages of %d", in.size, h.top, in.pageSize)
	}
	if err := in.tree(h.root, nil, nil, "", 0); err != nil {
		return err
	}
	if h.free == noFreelist {
		return nil
	}
	return in.freelist(h.free)
}

// current reports whether the pages are of the same commit as the header.
func (in *inspection) current() error {
	text, ok := in.meta[commitKey]
	if !ok {
		return nil
	}
	commit, _, err := parseStamp(text)
	if err == nil && commit != in.commit {
		err = fmt.Errorf("its header is of commit %d but its pages are of commit %d: the disk has lost writes that it had confirmed",
			in.commit, commit)
	}
	return err
}

var errNoHeader = errors.New("it has no valid header")

// mayBeOurs tells of a file without a valid header whether it may have been a journal: it begins like one, or it lost
// what it held and is all zeros, as some file systems leave a file after a power failure.
func (in *inspection) mayBeOurs() bool {
	var page [pageHeaderSize + 4]byte
	for _, at := range []int64{0, int64(os.Getpagesize())} {
		if _, err := in.file.ReadAt(page[:], at); err == nil && native.Uint32(page[pageHeaderSize:]) == boltMagic {
			return true
		}
	}
	start := make([]byte, min(in.size, 1<<16))
	n, _ := in.file.ReadAt(start, 0) // what can't be read speaks neither way
	return len(bytes.TrimLeft(start[:n], "\x00")) == 0
}

type header struct {
	pageSize              uint32
	root, free, top, txid uint64
}

// header finds the header that counts. Its second copy lies one page further, whose size only the first copy tells
// for sure.
func (in *inspection) header() (header, error) {
	best, found := header{}, false
	try := func(at int64) {
		if h, ok := in.headerAt(at); ok && (!found || h.txid > best.txid) {
			best, found = h, true
		}
	}
	try(0)
	if found {
		try(int64(best.pageSize))
	} else {
		for size := int64(1 << 10); size <= 1<<16 && !found; size <<= 1 {
			try(size)
		}
	}
	if !found {
		return best, errNoHeader
	}
	if best.pageSize < 1<<10 || best.pageSize > 1<<16 || best.pageSize&(best.pageSize-1) != 0 {
		return best, fmt.Errorf("its header says pages of %d bytes", best.pageSize)
	}
	return best, nil
}

func (in *inspection) headerAt(at int64) (header, bool) {
	var page [pageHeaderSize + headerSize]byte
	if _, err := in.file.ReadAt(page[:], at); err != nil {
		return header{}, false
	}
	b := page[pageHeaderSize:]
	sum := fnv.New64a()
	sum.Write(b[:56])
	if native.Uint32(b) != boltMagic || native.Uint32(b[4:]) != boltVersion || native.Uint64(b[56:]) != sum.Sum64() {
		return header{}, false
	}
	return header{
		pageSize: native.Uint32(b[8:]),
		root:     native.Uint64(b[16:]),
		free:     native.Uint64(b[32:]),
		top:      native.Uint64(b[40:]),
		txid:     native.Uint64(b[48:]),
	}, true
}

// page reads page id with its overflow and marks it as used. A page that is used twice is damage: so no walk is endless.
func (in *inspection) page(id uint64) ([]byte, error) {
	if id < 2 || id >= in.top {
		return nil, fmt.Errorf("page %d is out of range", id)
	}
	var head [pageHeaderSize]byte
	at := int64(id) * in.pageSize
	if _, err := in.file.ReadAt(head[:], at); err != nil {
		return nil, fmt.Errorf("cannot read page %d: %w", id, err)
	}
	if own := native.Uint64(head[:]); own != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, own)
	}
	n := uint64(native.Uint32(head[12:])) + 1
	if n > in.top-id {
		return nil, fmt.Errorf("page %d extends beyond the end", id)
	}
	for i := range n {
		if in.used[id+i] {
			return nil, fmt.Errorf("page %d is used twice", id+i)
		}
		in.used[id+i] = true
	}
	b := make([]byte, int64(n)*in.pageSize)
	if _, err := in.file.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("cannot read page %d: %w", id, err)
	}
	return b, nil
}

// tree inspects the pages from id downwards, whose keys must lie in [low, high). bucket is the name of the bucket
// whose pages they are, as far as it matters: that of meta.
func (in *inspection) tree(id uint64, low, high []byte, bucket string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d is nested too deep", id)
	}
	b, err := in.page(id)
	if err != nil {
		return err
	}
	if err := in.elements(b, low, high, bucket, depth); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// elements inspects one page's elements, and what lies below them.
func (in *inspection) elements(b, low, high []byte, bucket string, depth int) error {
	keys, rest, err := elementKeys(b, low, high)
	if err != nil {
		return err
	}
	isBranch := native.Uint16(b[8:]) == branchPage
	for i, k := range keys {
		at := pageHeaderSize + i*elementSize
		if isBranch {
			below := high
			if i+1 < len(keys) {
				below = keys[i+1]
			}
			if err := in.tree(native.Uint64(b[at+8:]), k, below, bucket, depth+1); err != nil {
				return err
			}
			continue
		}
		size := native.Uint32(b[at+12:])
		if uint64(size) > uint64(len(rest[i])) {
			return fmt.Errorf("element %d lies outside the page", i)
		}
		if err := in.element(k, rest[i][:size], native.Uint32(b[at:]), bucket, depth); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// elementKeys gives the keys of one page's elements, which must lie in the page, in order and in [low, high), and of each
// the rest of the page from where it ends.
func elementKeys(b, low, high []byte) (keys, rest [][]byte, err error) {
	flags, count := native.Uint16(b[8:]), int(native.Uint16(b[10:]))
	if flags != branchPage && flags != leafPage {
		return nil, nil, fmt.Errorf("unexpected kind %#x", flags)
	}
	if pageHeaderSize+count*elementSize > len(b) || flags == branchPage && count == 0 {
		return nil, nil, fmt.Errorf("%d elements", count)
	}
	keys, rest = make([][]byte, count), make([][]byte, count)
	for i := range count {
		at := pageHeaderSize + i*elementSize
		pos, size := native.Uint32(b[at:]), native.Uint32(b[at+4:])
		if flags == leafPage {
			pos, size = native.Uint32(b[at+4:]), native.Uint32(b[at+8:])
		}
		start := uint64(at) + uint64(pos)
		end := start + uint64(size)
		if size == 0 || start < uint64(pageHeaderSize+count*elementSize) || end > uint64(len(b)) {
			return nil, nil, fmt.Errorf("element %d lies outside the page", i)
		}
		keys[i], rest[i] = b[start:end], b[end:]
		if i == 0 && low != nil && bytes.Compare(keys[i], low) < 0 ||
			i > 0 && bytes.Compare(keys[i], keys[i-1]) <= 0 ||
			high != nil && bytes.Compare(keys[i], high) >= 0 {
			return nil, nil, fmt.Errorf("element %d is out of order", i)
		}
	}
	return keys, rest, nil
}

// element inspects one key and value of a leaf page.
func (in *inspection) element(k, v []byte, flags uint32, bucket string, depth int) error {
	switch {
	case flags == 0:
		if bucket == string(metaBucket) {
			in.meta[string(k)] = string(v)
		}
		return nil
	case flags != bucketElement:
		return fmt.Errorf("unexpected kind %#x", flags)
	case len(v) < bucketSize:
		return errors.New("a bucket without a header")
	}
	name := string(k)
	if depth > 0 && bucket != "" || name != string(metaBucket) {
		name = "\x00" // not meta, whatever its name
	}
	if root := native.Uint64(v); root != 0 {
		return in.tree(root, nil, nil, name, depth+1)
	}
	if len(v) < bucketSize+pageHeaderSize {
		return errors.New("a bucket without a page")
	}
	if depth > maxDepth {
		return errors.New("nested too deep")
	}
	return in.elements(slices.Clone(v[bucketSize:]), nil, nil, name, depth+1)
}

// freelist inspects the pages that are free to be overwritten.
func (in *inspection) freelist(id uint64) error {
	b, err := in.page(id)
	if err != nil {
		return fmt.Errorf("free list: %w", err)
	}
	if flags := native.Uint16(b[8:]); flags != freePage {
		return fmt.Errorf("free list: page %d: unexpected kind %#x", id, flags)
	}
	count, at := uint64(native.Uint16(b[10:])), uint64(pageHeaderSize)
	if count == 0xFFFF { // too many for the field: the first entry is the number
		count, at = native.Uint64(b[at:]), at+8
	}
	if count > (uint64(len(b))-at)/8 {
		return fmt.Errorf("free list: %d entries do not fit", count)
	}
	for i := range count {
		free := native.Uint64(b[at+8*i:])
		if free < 2 || free >= in.top {
			return fmt.Errorf("free list: page %d is out of range", free)
		}
		if in.used[free] {
			return fmt.Errorf("free list: page %d is in use or named twice", free)
		}
		in.used[free] = true
	}
	return nil
}
