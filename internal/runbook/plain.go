package runbook

import "strings"

// Bounds on what is read as plain. They are far below those of a runbook (source.go), so that none of those is passed.
const (
	plainSource  = 1 << 20 // bytes
	plainNesting = 16
	plainKeys    = 500 // of one mapping
)

// plain reads the YAML that programs write: blocks of keys and of lists, {} and [] within a line, text after a |, and else
// bare words and double quotes. It says what the library says, positions and all, in a twentieth of the time. What is
// anything else, or may be a mistake, it leaves to the library, and gives nil.
func plain(text string) *value {
	odd := func(c rune) bool { return c != '\n' && (c < ' ' || c > '~') }
	if len(text) > plainSource || !strings.HasSuffix(text, "\n") || strings.ContainsFunc(text, odd) {
		return nil
	}
	p := &plainReader{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	if p.indent() != 0 {
		return nil
	}
	doc := p.block(0, 0)
	if doc == nil || doc.kind != mapping || p.at < len(p.lines) {
		return nil
	}
	return doc
}

// plainReader stands at a character of a line. What reads a value goes past it, or gives nil.
type plainReader struct {
	lines []string
	at    int // the line, from 0
	col   int // the character, from 0
}

// rest is what is left of the line.
func (p *plainReader) rest() string { return p.lines[p.at][p.col:] }

// skip goes past what the rest of the line begins with.
func (p *plainReader) skip(what string) bool {
	found := strings.HasPrefix(p.rest(), what)
	if found {
		p.col += len(what)
	}
	return found
}

// here is a value that begins where the reader is.
func (p *plainReader) here(kind valueKind) *value {
	v := &value{kind: kind, line: p.at + 1, col: p.col + 1, width: 1, last: p.at + 1}
	switch kind {
	case mapping:
		v.pairs = make([]pair, 0, 4)
	case sequence:
		v.items = make([]*value, 0, 4)
	default:
	}
	return v
}

// indent is how far a line is indented; -1: there is none, or nothing in it.
func (p *plainReader) indent() int {
	if p.at >= len(p.lines) {
		return -1
	}
	line := p.lines[p.at]
	text := strings.TrimLeft(line, " ")
	if text == "" {
		return -1
	}
	return len(line) - len(text)
}

// block reads the lines of one indentation and those below them.
func (p *plainReader) block(indent, depth int) *value {
	p.col = indent
	kind := mapping
	if strings.HasPrefix(p.rest(), "- ") {
		kind = sequence
	}
	v := p.here(kind)
	for p.indent() == indent {
		p.col = indent
		whole := false
		if v.kind == sequence {
			whole = p.skip("- ") && p.item(v, depth) && p.rest() == ""
			p.at++
		} else {
			whole = p.pair(v, func() *value { return p.below(indent, depth) })
		}
		if !whole {
			return nil
		}
	}
	if p.indent() > indent {
		return nil
	}
	if v.kind == mapping { // it is where its first key is
		key := v.pairs[0].key
		v.line, v.col, v.width = key.line, key.col, key.width
	}
	return v
}

// below reads what stands behind the key of a block and its colon: to the end of its line, or on the lines below it.
func (p *plainReader) below(indent, depth int) *value {
	literal := p.rest() == " |"
	if !literal && p.rest() != "" {
		v := p.after(depth)
		if v == nil || p.rest() != "" {
			return nil
		}
		p.at++
		return v
	}
	p.skip(" ")
	v := p.here(scalar)
	p.at++
	within := p.indent()
	switch {
	case within <= indent || depth > plainNesting:
		return nil
	case literal:
		return p.literal(v, within)
	default:
		return p.block(within, depth+1)
	}
}

// literal reads the text after a |, whose lines are indented by so many blanks or more. None may be empty.
func (p *plainReader) literal(v *value, indent int) *value {
	v.quoted = true
	var text strings.Builder
	for ; p.indent() >= indent; p.at++ {
		line := p.lines[p.at][indent:]
		if strings.HasSuffix(line, " ") {
			return nil
		}
		text.WriteString(line)
		text.WriteByte('\n')
	}
	v.text, v.last = text.String(), p.at
	return v
}

// flow reads a value within the line.
func (p *plainReader) flow(depth int) *value {
	if depth > plainNesting {
		return nil
	}
	switch {
	case strings.HasPrefix(p.rest(), "{"):
		v := p.here(mapping)
		return p.entries(v, "{", "}", func() bool { return p.pair(v, func() *value { return p.after(depth) }) })
	case strings.HasPrefix(p.rest(), "["):
		v := p.here(sequence)
		return p.entries(v, "[", "]", func() bool { return p.item(v, depth) })
	default:
		return p.text()
	}
}

// after reads what stands behind a key and its colon within the line.
func (p *plainReader) after(depth int) *value {
	if !p.skip(" ") {
		return nil
	}
	return p.flow(depth + 1)
}

// entries reads what is between two brackets.
func (p *plainReader) entries(v *value, from, to string, entry func() bool) *value {
	p.skip(from)
	if p.skip(to) {
		return v
	}
	for {
		switch {
		case !entry():
			return nil
		case p.skip(to):
			return v
		case !p.skip(", "):
			return nil
		}
	}
}

// pair reads a key, its colon and its value into a mapping.
func (p *plainReader) pair(v *value, read func() *value) bool {
	key := p.text()
	if key == nil || !p.skip(":") || v.find(key.text) != nil || len(v.pairs) == plainKeys {
		return false
	}
	val := read()
	v.pairs = append(v.pairs, pair{key, val})
	return val != nil
}

// item reads one value into a list.
func (p *plainReader) item(v *value, depth int) bool {
	item := p.flow(depth + 1)
	v.items = append(v.items, item)
	return item != nil
}

// text reads a text in quotes or a bare word.
func (p *plainReader) text() *value {
	v, rest := p.here(scalar), p.rest()
	if inner, ok := strings.CutPrefix(rest, `"`); ok {
		end := strings.IndexByte(inner, '"')
		if end < 0 || strings.Contains(inner[:end], `\`) {
			return nil
		}
		v.quoted, v.text, v.width = true, inner[:end], max(end, 1)+2
		p.col += end + 2
		return v
	}
	v.width = 0
	for v.width < len(rest) && inWord(rest, v.width) {
		v.width++
	}
	v.text = rest[:v.width]
	p.col += v.width
	if v.text == "" || strings.EqualFold(v.text, "null") {
		return nil
	}
	return v
}

// inWord reports whether a character of a line may be in a bare word: a letter or a digit anywhere, some others in its
// middle, and a minus also before a digit.
func inWord(line string, i int) bool {
	c := line[i]
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	case i > 0:
		return strings.IndexByte("-_./%", c) >= 0
	default:
		return c == '-' && len(line) > 1 && '0' <= line[1] && line[1] <= '9'
	}
}
