package runbook

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// Bounds on what is read as a runbook. They keep a broken or hostile file from eating the machine.
const (
	maxSource  = 16 << 20 // bytes
	maxNesting = 64       // levels within one another
	maxKeys    = 400_000  // keys
)

type valueKind uint8

const (
	nothing valueKind = iota
	scalar
	mapping
	sequence
	broken // a mistake that is reported already
)

// value is a piece of YAML with its position, its anchors and merge keys resolved. All of the program that is not
// this file sees YAML as values.
type value struct {
	kind      valueKind
	quoted    bool   // a scalar in quotes or a block: surely text
	text      string // of a scalar
	line, col int    // from 1, col in characters
	width     int    // in characters, of what a caret line should mark
	last      int    // the line that a scalar ends on
	pairs     []pair
	items     []*value
}

type pair struct{ key, val *value }

// get finds the value of a key, nil if it is not there.
func (v *value) get(key string) *value {
	if p := v.find(key); p != nil {
		return p.val
	}
	return nil
}

func (v *value) find(key string) *pair {
	for i := range v.pairs {
		if v.pairs[i].key.text == key {
			return &v.pairs[i]
		}
	}
	return nil
}

// what names the kind of a value for people. A scalar's text is in it: not for secrets.
func (v *value) what() string {
	switch {
	case v.kind != scalar:
		return v.kindName()
	case len(v.text) > 60:
		return fmt.Sprintf("%q…", v.text[:firstRunes(v.text, 57)])
	default:
		return fmt.Sprintf("%q", v.text)
	}
}

// kindName names the kind of a value and nothing of what is in it.
func (v *value) kindName() string {
	return [...]string{"nothing", "text", "a mapping", "a list", "nothing"}[v.kind]
}

// firstRunes gives the number of bytes of the first n characters.
func firstRunes(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// read turns source text into the value of its only document. Nil: there is nothing to go on with.
func (r *reporter) read(src []byte) *value {
	top := &value{line: 1, col: 1}
	if len(src) > maxSource {
		r.add(Error, top, "", fmt.Sprintf("the file has %d MiB, more than a runbook may have (%d MiB)", len(src)>>20, maxSource>>20),
			"check that this is the runbook")
		return nil
	}
	text := strings.TrimPrefix(string(src), "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if bad := invalidByte(text); bad >= 0 {
		line := 1 + strings.Count(text[:bad], "\n")
		r.add(Error, &value{line: line, col: 1}, "", "the file is not text in UTF-8", "save it as UTF-8, if it is the runbook")
		return nil
	}
	r.lines = strings.Split(text, "\n")
	file := r.parse(text)
	if file == nil {
		return nil
	}
	b := builder{reporter: r, anchors: map[string]*value{}}
	var doc *value
	for _, d := range file.Docs {
		if _, directive := d.Body.(*ast.DirectiveNode); directive || d.Body == nil {
			continue
		}
		if doc != nil {
			at := b.at(d.Body.GetToken())
			r.add(Error, at, "", "a second YAML document starts here",
				"a runbook is one document: remove the --- or put the rest into a file of its own")
			return nil
		}
		doc = b.convert(d.Body, 0)
	}
	switch {
	case doc == nil || doc.kind == nothing:
		r.add(Error, top, "", "the runbook is empty", "start with version: 1; runbooks/home-lab.yaml shows the rest")
		return nil
	case doc.kind != mapping:
		r.add(Error, doc, "", "a runbook is a mapping of keys to values, this is "+doc.what(),
			"start with version: 1; runbooks/home-lab.yaml shows the rest")
		return nil
	}
	return doc
}

// invalidByte gives the offset of the first byte that no text file has, -1 if there is none.
func invalidByte(s string) int {
	for i, c := range s {
		if c == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return i
		}
	}
	return -1
}

// parse runs the YAML library, whose panics on broken input become problems like its errors.
func (r *reporter) parse(text string) (file *ast.File) {
	defer func() {
		if p := recover(); p != nil {
			file = nil
			r.add(Error, &value{line: 1, col: 1}, "", "the file is not valid YAML, and it can't be determined where",
				"look for brackets and quotes that are not closed")
		}
	}()
	tokens := lexer.Tokenize(text)
	if t := tooMuch(tokens); t != nil {
		r.add(Error, position(t), "", "values are nested too deep, or the file has too many of them", "check that this is the runbook")
		return nil
	}
	file, err := parseYAML(text, tokens, chunkSize)
	if err != nil {
		r.syntax(err)
		return nil
	}
	return file
}

// tooMuch finds the first token that is nested deeper, or one of more keys, than any runbook has; nil if there is none.
// The YAML library recurses over both.
func tooMuch(tokens token.Tokens) *token.Token {
	depth, line, entries, keys, odd := 0, 0, 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, entries = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType:
			entries++
		case token.MappingValueType:
			keys++
		case token.TagType, token.MappingKeyType:
			odd++
		default:
		}
		if depth > maxNesting || entries > maxNesting || keys > maxKeys || odd > maxKeys/100 {
			return t
		}
	}
	return nil
}

// syntaxError is an error of the YAML library.
type syntaxError interface {
	error
	GetToken() *token.Token
	GetMessage() string
}

// syntax reports an error of the YAML library.
func (r *reporter) syntax(err error) {
	at := &value{line: 1, col: 1}
	message := "the file is not valid YAML"
	if se, ok := errors.AsType[syntaxError](err); ok {
		message = se.GetMessage()
		if t := se.GetToken(); t != nil && t.Position != nil {
			at = position(t)
		}
	}
	message, hint := explain(message)
	if at.last > at.line { // a line that the library took for the rest of the one before
		above := at.line
		at = &value{line: at.last, col: 1, width: 1}
		line := strings.TrimRight(r.lines[min(at.line, len(r.lines))-1], " \r")
		at.col += len(line) - len(strings.TrimLeft(line, " "))
		message, hint = fmt.Sprintf("this line reads as the rest of line %d", above),
			"indent it like the keys beside it; look for a missing quote or : before it"
	}
	r.add(Error, at, "", message, hint)
}

// explanations put what the YAML library says in words of what is to be done. The first that matches counts.
var explanations = []struct{ has, message, hint string }{
	{"found character '\t'", "a tab can't be used for indentation", "indent with spaces"},
	{"tab character", "a tab can't be used here", "use spaces"},
	{"end token '}'", "this { is never closed", "add the missing }"},
	{"token ']' not found", "this [ is never closed", "add the missing ]"},
	{"'[' character corresponding", "this ] closes nothing", "remove it, or add the missing ["},
	{"'{' character corresponding", "this } closes nothing", "remove it, or add the missing {"},
	{"',' or '}' must be specified", "a , or } is missing before this", "separate entries with commas; look for an unclosed { before this"},
	{"',' or ']' must be specified", "a , or ] is missing before this", "separate items with commas; look for an unclosed [ before this"},
	{"end character of double-quoted", "this \" is never closed", "add the missing quote"},
	{"end character of single-quoted", "this ' is never closed", "add the missing quote; a ' within is written ''"},
	{
		"map key-value is pre-defined", "this line is indented deeper than the key before it, which already has its value",
		"indent it like the keys beside it",
	},
	{"mapping value is not allowed", "a second : on one line", "put text that has a colon in quotes"},
	{
		"non-map value is specified", "this is not a key: value pair, but its neighbours are",
		"write key: value, and indent it like the keys beside it",
	},
	{"unexpected key name", "a key must be on one line and be followed by a colon", "write key: value"},
	{"block sequence entries are not allowed", "a list can't begin on the line of its key", "put each - on a line of its own"},
	{"is a reserved character", "text can't begin with this character", "put the text in quotes"},
	{"escape character", "an unknown \\ escape", "write \\\\ for a backslash, or use single quotes"},
	{"could not find anchor", "this anchor (&) has no value", "write &name before a value"},
	{"could not find alias", "this alias (*) names no anchor", "write *name"},
	{"undefined alias", "this alias (*) has no name", "write *name, or put the text in quotes"},
	{"undefined anchor", "this anchor (&) has no name or value", "write &name before a value, or put the text in quotes"},
}

func explain(message string) (said, hint string) {
	for _, e := range explanations {
		if strings.Contains(message, e.has) {
			return e.message, e.hint
		}
	}
	return "the file is not valid YAML here: " + message,
		"compare the indentation with the lines before; text with : or # in it goes in quotes"
}

func position(t *token.Token) *value {
	text, _, _ := strings.Cut(t.Value, "\n")
	v := &value{line: max(t.Position.Line, 1), col: max(t.Position.Column, 1), width: max(1, utf8.RuneCountInString(text))}
	v.last = v.line
	switch t.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
		raw, _, _ := strings.Cut(strings.TrimSpace(t.Origin), "\n")
		v.width = max(v.width+2, utf8.RuneCountInString(raw))
		v.last += strings.Count(strings.TrimSpace(t.Origin), "\n")
	case token.StringType:
		v.last += strings.Count(strings.TrimSpace(t.Origin), "\n")
	case token.LiteralType, token.FoldedType:
		v.width = 1
	default:
	}
	return v
}
